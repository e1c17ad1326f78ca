"""Digests by which runs are told alike: of what went in, and of what came out. All are SHA-256, in hex.

They look at content alone: two runs of the same data in two folders have the same digests, whatever paths, dates and
command lines the tools wrote beside it.
"""

import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpd.errors import GpdError
from gpd.pipelines import PIPELINES
from gpd.records.run import OutputRecord

MIB = 1024**2
SAMPLED_BLOCKS = 18  # of 1 MiB, evenly spaced, the first and the last MiB among them; smaller files are read whole
CHUNK_BYTES = 4 * MIB
GZIP_MAGIC = b"\x1f\x8b"

COHORT = "cohort"
VCF_COLUMNS = 9  # fixed ones, before those of the samples
QD = re.compile(rb"([\t;])QD=[^;\t\n]*;?")

# What Cuffdiff found in the end, and what it counted in each sample. Cuffquant's binary files hold addresses of memory
# and differ in every run, also where all that is read out of them is the same.
EXPRESSION_TABLES = ("gene_exp.diff", "genes.read_group_tracking")
DIGITS = 6  # significant ones; sums over threads may differ in the last of a double's 15

_COUNTS = re.compile(
    r"^SN\t(raw total sequences|total length|reads mapped|mismatches|bases mapped \(cigar\)):\t(\d+)", re.MULTILINE
)
_NUMBERED = re.compile(r'"CUFF\.\d+(?:\.\d+)?"')
_DECIMAL = re.compile(r'(?<=")\d+\.\d+(?=")')


class DigestError(GpdError):
    """A file that is not what its name says; the message names it."""


# ---- what went in --------------------------------------------------------------------------------------


def input_digest(units: Iterable[Mapping[str, Path]], sheets: Iterable[str] = ()) -> str:
    """Digest a sample's input: for each unit, in order, its files by role (fq1, fq2, bam); and what `sheets` say of it.

    Names of files and units do not count; roles, and the order of units, do. Of a file above 18 MiB the size and 18
    blocks of 1 MiB are read, not the whole: cheap for 100 GB, and sure to tell other samples, other lanes and files cut
    short, but not a single base changed since. The bytes on disk count: the same reads compressed anew are another
    input.
    """
    digest = hashlib.sha256()
    for number, unit in enumerate(units, 1):
        for role, path in sorted(unit.items()):
            digest.update(f"{number} {role} {sampled_digest(path)}\n".encode())
    for line in sheets:
        digest.update(f"{line}\n".encode())
    return digest.hexdigest()


def sampled_digest(path: Path) -> str:
    """Digest a file's size and the blocks that are read of it."""
    size = path.stat().st_size
    digest = hashlib.sha256(f"{size}\n".encode())
    with path.open("rb") as file:
        for start, length in blocks(size):
            file.seek(start)
            digest.update(file.read(length))
    return digest.hexdigest()


def blocks(size: int) -> list[tuple[int, int]]:
    """Return start and length, in bytes, of what is read of a file of this size."""
    if size <= SAMPLED_BLOCKS * MIB:
        return [(0, size)]
    last = SAMPLED_BLOCKS - 1
    return [(number * (size - MIB) // last, MIB) for number in range(SAMPLED_BLOCKS)]


def reference_digest(dictionary: Path) -> str:
    """Digest a reference by its sequence dictionary: names, lengths and MD5 sums of its contigs, in their order."""
    lines = [line for line in dictionary.read_text(encoding="utf-8").splitlines() if line.startswith("@SQ")]
    contigs = [dict(field.split(":", 1) for field in line.split("\t")[1:] if ":" in field) for line in lines]
    if not contigs or not all("M5" in contig for contig in contigs):
        raise DigestError(f"{dictionary}: no sequence dictionary with MD5 sums: make it with 'samtools dict'")
    return _digest_lines(f"{contig['SN']}\t{contig['LN']}\t{contig['M5']}" for contig in contigs)


# ---- what came out -------------------------------------------------------------------------------------


def vcf_body_digest(path: Path) -> str:
    """Digest a VCF or GVCF file, plain or compressed, from its #CHROM line on: what is above holds dates and paths.

    QD is left out: it follows from QUAL and depths, and where it would be above 35 GATK draws it at random, in a shard
    not as in the whole.
    """
    return _vcf(path)[1]


def _vcf(path: Path) -> tuple[tuple[str, ...], str]:
    """A VCF's samples and the digest of its body."""
    with path.open("rb") as file:
        compressed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    try:
        with gzip.open(path, "rb") if compressed else path.open("rb") as stream:
            header = next((line for line in stream if not line.startswith(b"##")), b"")
            if not header.startswith(b"#CHROM\t"):
                raise DigestError(f"{path}: no VCF: it has no #CHROM line")
            digest = hashlib.sha256(header)
            while lines := stream.readlines(CHUNK_BYTES):
                digest.update(QD.sub(rb"\1", b"".join(lines)))
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DigestError(f"{path}: damaged or cut short: {error}") from error
    return tuple(header.decode().split()[VCF_COLUMNS:]), digest.hexdigest()


def file_digest(path: Path) -> str:
    """Digest the whole of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def outputs(pipeline: str, results: Path, samples: Sequence[str]) -> list[OutputRecord]:
    """Digest what a finished run has left of the samples that succeeded."""
    spec = PIPELINES[pipeline]
    found = [
        OutputRecord(kind=each.kind, samples=(sample,), digest=FORMS[each.form](path))
        for each in spec.outputs
        for sample in samples
        if (path := results / each.path.format(sample=sample)).exists()
    ]
    for kind, folders in spec.cohort_outputs.items():
        places = [results / folder for folder in folders]
        made = COHORT_FORMS[kind](places, samples)
        found += [OutputRecord(kind=kind, samples=members, digest=digest) for members, digest in made]
    return found


def calls(places: Iterable[Path], samples: Sequence[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each call set of the first of the folders that has any; the VCF itself tells whose calls it has."""
    found = ([path for name in (COHORT, *samples) if (path := folder / f"{name}.vcf.gz").exists()] for folder in places)
    for path in next(filter(None, found), []):
        members, digest = _vcf(path)
        if set(members) <= set(samples):
            yield members, digest


def expression(places: Iterable[Path], samples: Sequence[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The tables of all samples together.

    What is counted of a sample depends on the others: on transcripts merged from all. So the tables stand for the
    cohort that they were made from, and only where every sample of it succeeded.
    """
    for tables in places:
        if all((tables / name).exists() for name in EXPRESSION_TABLES) and _replicates(tables) == len(samples):
            yield tuple(samples), expression_digest(tables)


def statistics_digest(path: Path) -> str:
    """Digest what samtools stats says of an alignment, without the comments, which hold the command line.

    The aligner writes reads as its threads end, so files of the same alignments differ in the order of equals; their
    statistics, with check sums of names, bases and qualities, do not.
    """
    return _digest_lines(line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))


def assembly_digest(path: Path) -> str:
    """Digest a sample's transcripts as Cufflinks writes them, whatever their order and their numbers.

    Threads take loci as they come, and the loci are written, and new genes numbered, in the order of their ends.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    unnumbered = (_NUMBERED.sub('"CUFF"', line) for line in lines)
    return _digest_lines(
        sorted(_DECIMAL.sub(lambda found: f"{float(found[0]):.{DIGITS}g}", line) for line in unnumbered)
    )


def expression_digest(folder: Path) -> str:
    """Digest Cuffdiff's tables, whose numbers have six digits."""
    return _digest_lines(file_digest(folder / name) for name in EXPRESSION_TABLES)


def _replicates(folder: Path) -> int:
    """How many samples Cuffdiff was given: a row each, after a heading."""
    groups = folder / "read_groups.info"
    return len(groups.read_text(encoding="utf-8").splitlines()) - 1 if groups.exists() else 0


def _digest_lines(lines: Iterable[str]) -> str:
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


FORMS = {"vcf": vcf_body_digest, "statistics": statistics_digest, "assembly": assembly_digest}
COHORT_FORMS = {"calls": calls, "expression": expression}


# ---- how much went in ----------------------------------------------------------------------------------


def read_counts(pipeline: str, results: Path, sample: str) -> dict[str, Any]:
    """A sample's reads (mates are two), bases, and the shares that mapped and mismatched, as InputRecord has them.

    As samtools stats counted; empty where it did not. It counts each read once: not its secondary and supplementary
    alignments, but duplicates, reads that did not pass the sequencer's filter, and unmapped ones. TopHat leaves the
    unmapped out of its alignments: so tuxedo's own count of FASTQ records is taken, and unmapped reads to be as long as
    the others on average, which is right to the base where all reads have one length.
    """
    path = results / "samtools_stats" / f"{sample}.txt"
    if not path.exists():
        return {}
    counts = {name: int(value) for name, value in _COUNTS.findall(path.read_text(encoding="utf-8"))}
    reads, bases = counts.get("raw total sequences"), counts.get("total length")
    if reads is None or bases is None:
        raise DigestError(f"{path}: no statistics of samtools: 'raw total sequences' or 'total length' is missing")
    mapped: int | None = counts.get("reads mapped")
    if counted := PIPELINES[pipeline].read_count:
        own = json.loads((results / counted.format(sample=sample)).read_text(encoding="utf-8"))
        bases = round(bases * own["reads"] / reads) if reads else None
        reads, mapped = own["reads"], own.get("mapped")
    mismatches = _share(counts.get("mismatches"), counts.get("bases mapped (cigar)"))
    return {"reads": reads, "bases": bases, "mapped": _share(mapped, reads), "mismatches": mismatches}


def _share(part: int | None, whole: int | None) -> float | None:
    return None if part is None or not whole else min(1.0, part / whole)
