"""Gene annotations: checked before any job starts, and brought into the one form that the Tuxedo tools read.

    annotation.py genes --fai GENOME.fai [--gff3 GFF3] < GTF > GENES.gtf   keep what the tools use
    annotation.py masked BIOTYPE ... < GENES.gtf > MASK.gtf                     the exons of some genes
    annotation.py splice-sites < GENES.gtf > SPLICE_SITES.tsv              its introns, as HISAT2 wants them

What the tools use is exons and coding sequences, on contigs that the reference has. Where a line has no gene_name,
which Cufflinks shows beside its own identifiers, the gene's symbol or else its gene_id becomes that; of a GTF that was
made from GFF3, the Name that the gene has there. A transcript on several contigs or strands is one transcript on
each: the first keeps its name, and the others are called as UCSC does, NAME_dup1.
Standard library only; the workflow loads this file by its path as well.
"""

import gzip
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

COLUMNS = 9
FEATURES = ("exon", "CDS")
MIN_INTRON = 5  # bases; a smaller gap between exons is no intron to an aligner
SHOWN = 3
INTERRUPTED = 0.1  # share of the transcripts whose exons lie apart in the file; above it, that is the file's order
LOOKED_AT = re.compile(r'(?:^|;)\s*(?:(gene_id|transcript_id|tss_id)\s+"([^"]*)"|(exon_number)\s+"?(\d{1,8})\b)')
BIOTYPES = ("gene_biotype", "gene_type", "gbkey")


class AnnotationError(Exception):
    """The file is no annotation that can be used; the message is a phrase that follows its path."""


class Annotation(NamedTuple):
    """What a file holds: `exons` a contig, in the order of the file; `format` is GTF or GFF3.

    `has_starts`: its transcripts have a tss_id, by which cuffdiff compares start sites, promoters and splicing.
    `scattered` transcripts have exons on several contigs or strands, which it has, `repeated` ones twice on one.
    """

    format: str
    exons: dict[str, int]
    has_starts: bool = False
    scattered: Mapping[str, set[tuple[str, str]]] = {}
    repeated: tuple[str, ...] = ()


def attribute(name: str, attributes: str) -> str:
    """The value of a GTF attribute, empty where it is missing."""
    found = re.search(rf'(?:^|;)\s*{name}\s+"([^"]*)"', attributes)
    return found[1] if found else ""


def read(path: str) -> Annotation:
    """Look through a GTF or GFF3 file, plain or gzip compressed.

    Raises:
        AnnotationError: it cannot be read, is neither format, or has exons of no transcript or no gene.
    """
    try:
        with Path(path).open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
        with (gzip.open if packed else open)(path, "rt", encoding="utf-8") as lines:
            return _scan(lines)
    except UnicodeDecodeError:
        raise AnnotationError("is not a text file in UTF-8") from None
    except EOFError:
        raise AnnotationError("is cut off: its compressed data ends too early; copy or create it again") from None
    except OSError as error:
        raise AnnotationError(f"cannot be read: {error.strerror or error}") from None


def _scan(lines: Iterable[str]) -> Annotation:
    exons: Counter[str] = Counter()
    style, has_starts, copies = "GTF", False, Copies()
    without: dict[str, list[int]] = {"transcript_id": [], "gene_id": []}  # lines
    for number, line in enumerate(lines, 1):
        if line.startswith("##FASTA"):
            break
        if line.startswith("##gff-version 3"):
            style = "GFF3"
        if line.startswith("#") or not line.strip():
            continue
        fields = line.rstrip("\n").split("\t")
        if len(fields) != COLUMNS:
            raise AnnotationError(f"is neither GTF nor GFF3: line {number} has {len(fields)} columns, not {COLUMNS}")
        if not exons and re.match(r"(ID|Parent|Name)=", fields[8]):
            style = "GFF3"
        if fields[2] != "exon":
            continue
        exons[fields[0]] += 1
        values = {name or other: value or digits for name, value, other, digits in LOOKED_AT.findall(fields[8])}
        has_starts = has_starts or bool(values.get("tss_id"))
        if style == "GTF":
            for name, missing in without.items():
                if not values.get(name):
                    missing.append(number)
            copies.add(fields[0], fields[6], values)
    if not exons:
        raise AnnotationError("has no exons (third column): Cufflinks builds its transcripts from them")
    for name, whole in (("transcript_id", "exons to transcripts"), ("gene_id", "transcripts to genes")):
        if missing := without[name]:
            raise AnnotationError(
                f"has no {name} in {len(missing)} of its {exons.total()} exons, first in line {missing[0]}: "
                f"Cufflinks joins {whole} by it; use an annotation that has them"
            )
    return Annotation(style, dict(exons), has_starts, *copies.found())


class Copies:
    """Finds transcripts that an annotation has in several places under one name, exon by exon.

    On one contig and strand, only the order tells a second place from a long intron: an exon's number comes again, or
    the transcript does after others, in a file where that is rare.
    """

    def __init__(self) -> None:
        self.places: dict[str, set[tuple[str, str]]] = defaultdict(set)
        self.numbers: dict[tuple[str, ...], int] = defaultdict(int)  # of its exons, as bits
        self.again: dict[str, None] = {}
        self.interrupted: dict[str, None] = {}
        self.last = ""

    def add(self, contig: str, strand: str, values: Mapping[str, str]) -> None:
        transcript, number = values.get("transcript_id", ""), values.get("exon_number")
        if transcript != self.last and (contig, strand) in self.places[transcript]:
            self.interrupted[transcript] = None
        self.places[transcript].add((contig, strand))
        self.last = transcript
        if number:
            bit, key = 1 << min(int(number), 10_000), (transcript, contig, strand)
            if self.numbers[key] & bit:
                self.again[transcript] = None
            self.numbers[key] |= bit

    def found(self) -> tuple[dict[str, set[tuple[str, str]]], tuple[str, ...]]:
        scattered = {name: places for name, places in self.places.items() if len(places) > 1}
        in_blocks = len(self.interrupted) <= INTERRUPTED * len(self.places)
        return scattered, tuple(self.again | (self.interrupted if in_blocks else {}))


def compare(annotation: Annotation, contigs: Iterable[str], fasta: str) -> tuple[list[str], list[str]]:
    """Errors and warnings, as phrases that follow the annotation's path."""
    known = dict.fromkeys(contigs)
    lacking = [name for name in annotation.exons if name not in known]
    warnings = []
    if annotation.format == "GFF3":
        warnings.append("is GFF3, where the Tuxedo tools want GTF: gffread converts it to results/reference/genes.gtf")
    if len(lacking) == len(annotation.exons):
        has = f"is on contigs {_few(lacking)}, none of which the reference {fasta} has (it has {_few(list(known))})"
        return [f"{has}: use files of one genome build"], warnings
    if lacking:
        lost = sum(annotation.exons[name] for name in lacking)
        warnings.append(
            f"has {lost} of its {sum(annotation.exons.values())} exons on contigs that the reference lacks "
            f"({_few(lacking)}): they are left out"
        )
    places = {name: [contig for contig, _ in found if contig in known] for name, found in annotation.scattered.items()}
    if found := [name for name, contigs in places.items() if len(contigs) > 1]:
        warnings.append(
            f"has {len(found)} transcripts on several contigs or strands under one name ({_few(found)}): each but "
            "the first gets a name of its own, as NAME_dup1"
        )
    if found := annotation.repeated:
        warnings.append(
            f"has {len(found)} transcripts in two places of one contig under one name ({_few([*found])}): Cufflinks "
            "takes both for one transcript; give the second another transcript_id"
        )
    return [], warnings


def _few(names: list[str]) -> str:
    return ", ".join(names[:SHOWN] + ["..."] * (len(names) > SHOWN))


def gene_names(lines: Iterable[str]) -> dict[str, str]:
    """The Name of each gene of a GFF3 file by its ID, where it has one."""
    names = {}
    for line in lines:
        fields = line.rstrip("\n").split("\t")
        if len(fields) == COLUMNS and not line.startswith("#"):
            values = dict(part.split("=", 1) for part in fields[8].split(";") if "=" in part)
            if "Parent" not in values and {"ID", "Name"} <= values.keys():
                names[values["ID"]] = unquote(values["Name"])
    return names


def usable(lines: Iterable[str], contigs: set[str], names: Mapping[str, str]) -> Iterator[str]:
    """The lines of a GTF that the tools use, each with a gene_name; `names` has some by gene_id."""
    places: dict[str, list[tuple[str, str]]] = defaultdict(list)  # of each transcript
    for line in lines:
        fields = line.rstrip("\n").rstrip().split("\t")
        if len(fields) != COLUMNS or fields[2] not in FEATURES or fields[0] not in contigs:
            continue
        if not attribute("gene_name", fields[8]):
            gene = attribute("gene_id", fields[8])
            name = names.get(gene) or attribute("gene_symbol", fields[8]) or gene
            fields[8] = f'{fields[8].rstrip("; ")}; gene_name "{name}";'
        transcript, place = attribute("transcript_id", fields[8]), (fields[0], fields[6])
        if place not in (seen := places[transcript]):
            seen.append(place)
        if copy := seen.index(place):
            named = f'transcript_id "{transcript}'
            fields[8] = fields[8].replace(f'{named}"', f'{named}_dup{copy}"')
        yield "\t".join(fields) + "\n"


def masked(lines: Iterable[str], biotypes: set[str]) -> Iterator[str]:
    """The exons of genes of some biotypes."""
    for line in lines:
        fields = line.split("\t")
        if fields[2] == "exon" and not biotypes.isdisjoint(attribute(name, fields[8]) for name in BIOTYPES):
            yield line


def splice_sites(lines: Iterable[str]) -> list[tuple[str, int, int, str]]:
    """The introns of all transcripts, each once: contig, last base before it and first after it (from 0), strand."""
    exons: dict[tuple[str, str, str], list[tuple[int, int]]] = defaultdict(list)
    for line in lines:
        contig, _, feature, start, end, _, strand, _, attributes = line.rstrip("\n").split("\t")
        if feature == "exon" and strand in "+-":
            exons[contig, strand, attribute("transcript_id", attributes)].append((int(start), int(end)))
    sites = set()
    for (contig, strand, _), parts in exons.items():
        for (_, left), (right, _) in pairwise(sorted(parts)):
            if right - left > MIN_INTRON:
                sites.add((contig, left - 1, right - 1, strand))
    return sorted(sites)


def main(argv: list[str]) -> int:
    if argv == ["splice-sites"]:
        sys.stdout.writelines("\t".join(map(str, site)) + "\n" for site in splice_sites(sys.stdin))
        return 0
    if argv[0] == "masked":
        exons = list(masked(sys.stdin, {*argv[1:]}))
        sys.stdout.writelines(exons)
        if not exons:
            types = ", ".join(argv[1:])
            print(
                f"error: mask_biotypes: no gene of the annotation is {types} ({', '.join(BIOTYPES)})", file=sys.stderr
            )
        return 0 if exons else 1
    _, _, fai, *gff3 = argv
    contigs = {line.split("\t", 1)[0] for line in Path(fai).read_text(encoding="utf-8").splitlines()}
    names: dict[str, str] = {}
    if gff3:
        with Path(gff3[1]).open(encoding="utf-8") as lines:
            names = gene_names(lines)
    found = usable(sys.stdin, contigs, names)
    if (first := next(found, None)) is None:
        print("error: no exon of the annotation lies on a contig of the reference", file=sys.stderr)
        return 1
    sys.stdout.writelines(chain([first], found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
