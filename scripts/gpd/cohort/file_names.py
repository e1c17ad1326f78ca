"""What the names of read files tell: sample, lane, mate. Pure."""

import re
from dataclasses import dataclass

READS = (".fastq.gz", ".fq.gz", ".fastq", ".fq")
ALIGNMENTS = (".bam", ".cram")
UNREADABLE = {  # endings of reads that the workflow does not take, and what makes them such as it takes
    ".bz2": "bzip2 (bzcat FILE | gzip)",
    ".xz": "xz (xzcat FILE | gzip)",
    ".zst": "Zstandard (zstdcat FILE | gzip)",
    ".ora": "ORA (orad FILE)",
    ".zip": "zip (unzip -p FILE | gzip)",
    ".sra": "SRA (fasterq-dump FILE)",
}
LANE = r"(?:[._-](?P<lane>L\d{3}))?"
# the first that fits a name without its ending tells its parts
CONVENTIONS = {
    "Illumina": (
        r"(?P<sample>.+)_(?P<tag>S\d+)(?:_(?P<lane>L\d{3}))?_(?P<mate>[RI][123])_(?P<part>\d{3})",
        r"(?P<sample>.+)_(?P<tag>[ACGTN]{6,}(?:-[ACGTN]{6,})?|NoIndex)_(?P<lane>L\d{3})"
        r"_(?P<mate>[RI][123])_(?P<part>\d{3})",
    ),
    "MGI": (
        r"(?:(?P<sample>.+)_)?(?P<flowcell>(?:CL|DP|FP|FT|[EFSTV])\d{8,10}[A-Z]{0,2})_(?P<lane>L\d{2})"
        r"(?:_(?P<tag>[A-Za-z]*\d+(?:-\d+)?))?_(?:read_?)?(?P<mate>[12])",
    ),
    "Novogene": (
        r"(?P<sample>.+)_(?P<library>[A-Z]{4}\d{6,}[\w-]*)_(?P<flowcell>[A-Z0-9]{9,10})_(?P<lane>L\d)_(?P<mate>[12])",
    ),
    "R1 and R2": (rf"(?P<sample>.*?){LANE}(?:^|[._-])(?P<mate>[RI][123]|[Rr]ead_?[12])(?:_(?P<part>\d{{3}}))?",),
    "numbers": (rf"(?P<sample>.+?){LANE}[._](?P<mate>r?[1-9]\d?)",),  # mates, or replicates
    "no mates": (rf"(?P<sample>.+?){LANE}",),
}
PATTERNS = [(name, re.compile(pattern)) for name, patterns in CONVENTIONS.items() for pattern in patterns]


@dataclass(frozen=True)
class Named:
    """What a name tells; what it leaves open is empty. `tag`: the sample's number, index or barcode."""

    convention: str
    stem: str
    sample: str = ""
    lane: str = ""
    mate: str = ""  # 1, 2 or 3; I1 or I2 of index reads
    tag: str = ""
    part: str = ""
    flowcell: str = ""
    library: str = ""

    @property
    def is_index(self) -> bool:
        return self.mate.startswith("I")

    @property
    def platform(self) -> str:
        """As the unit sheet has it, where it is not Illumina's."""
        return "DNBSEQ" if self.convention == "MGI" else ""


def kind(name: str) -> str:
    """What a file is by its ending: reads, alignment, the ending of reads that are not taken, or "" of any other."""
    lower = name.lower()
    if lower.endswith(READS):
        return "reads"
    if lower.endswith(ALIGNMENTS):
        return "alignment"
    inner, dot, ending = lower.rpartition(".")
    packed = f"{dot}{ending}"
    is_reads = packed in (".ora", ".sra") or inner.endswith((".fastq", ".fq"))
    return packed if packed in UNREADABLE and is_reads else ""


def stem_of(name: str) -> str:
    """A name without the ending that says what it is."""
    ending = next((end for end in (*READS, *ALIGNMENTS) if name.lower().endswith(end)), "")
    return name[: len(name) - len(ending)]


def named(name: str) -> Named:
    """What the name of a file of reads tells."""
    stem = stem_of(name)
    for convention, pattern in PATTERNS:
        if found := pattern.fullmatch(stem):
            parts = {key: value or "" for key, value in found.groupdict().items()}
            parts["mate"] = _mate(parts.get("mate", ""))
            if convention == "MGI" and not parts["sample"]:
                parts["sample"] = "_".join(filter(None, (parts["flowcell"], parts["tag"])))
            return Named(convention, stem, **parts)
    return Named("no mates", stem, stem)


def _mate(token: str) -> str:
    """The number in a token such as R1, read_1, 1 or r12; of index reads, with the letter."""
    return token if token.startswith("I") else re.sub(r"\D", "", token)
