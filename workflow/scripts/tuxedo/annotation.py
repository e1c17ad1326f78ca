"""Gene annotations: checked before any job starts, and brought into the one form that the Tuxedo tools read.

    annotation.py genes --fai GENOME.fai [--gff3 GFF3] < GTF > GENES.gtf   keep what the tools use
    annotation.py splice-sites < GENES.gtf > SPLICE_SITES.tsv              its introns, as HISAT2 wants them

What the tools use is exons and coding sequences, on contigs that the reference has. Where a line has no gene_name,
which Cufflinks shows beside its own identifiers, the gene's symbol or else its gene_id becomes that; of a GTF that was
made from GFF3, the Name that the gene has there.
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


class AnnotationError(Exception):
    """The file is no annotation that can be used; the message is a phrase that follows its path."""


class Annotation(NamedTuple):
    """What a file holds: `exons` a contig, in the order of the file; `format` is GTF or GFF3.

    `has_starts`: its transcripts have a tss_id, by which cuffdiff compares start sites, promoters and splicing.
    """

    format: str
    exons: dict[str, int]
    has_starts: bool = False


def attribute(name: str, attributes: str) -> str:
    """The value of a GTF attribute, empty where it is missing."""
    found = re.search(rf'(?:^|;)\s*{name}\s+"([^"]*)"', attributes)
    return found[1] if found else ""


def read(path: str) -> Annotation:
    """Look through a GTF or GFF3 file, plain or gzip compressed.

    Raises:
        AnnotationError: it cannot be read, is neither format, or has exons that no transcript claims.
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
    style, without, first, has_starts = "GTF", 0, 0, False
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
        has_starts = has_starts or bool(attribute("tss_id", fields[8]))
        if style == "GTF" and not attribute("transcript_id", fields[8]):
            without, first = without + 1, first or number
    if not exons:
        raise AnnotationError("has no exons (third column): Cufflinks builds its transcripts from them")
    if without:
        raise AnnotationError(
            f"has no transcript_id in {without} of its {exons.total()} exons, first in line {first}: "
            "Cufflinks joins exons to transcripts by it; use an annotation that has them"
        )
    return Annotation(style, dict(exons), has_starts)


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
    for line in lines:
        fields = line.rstrip("\n").rstrip().split("\t")
        if len(fields) != COLUMNS or fields[2] not in FEATURES or fields[0] not in contigs:
            continue
        if not attribute("gene_name", fields[8]):
            gene = attribute("gene_id", fields[8])
            name = names.get(gene) or attribute("gene_symbol", fields[8]) or gene
            fields[8] = f'{fields[8].rstrip("; ")}; gene_name "{name}";'
        yield "\t".join(fields) + "\n"


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
