"""Expression by gene: matrices for what compares samples, of the counts of featureCounts.

    expression.py exons < GENES.gtf > EXONS.saf    as featureCounts takes them
    expression.py table --exons EXONS.saf [--counts COUNTS] > TABLE.tsv    of its output, or without reads
    expression.py matrices --annotation GENES.gtf --files FILES --counts COUNTS.tsv --tpm TPM.tsv --genes GENES.tsv

FILES names a table of each sample, one a line. TPM are counts by base of exons, over their sum. GENES has name, place
and length of each gene. An exon without a gene_id is of a gene that has the name of its transcript. Standard library
only.
"""

import argparse
import re
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

ATTRIBUTE = re.compile(r'(?:^|;)\s*(gene_id|transcript_id|gene_name)\s+"([^"]*)"')
OF_GENES = ("gene_id", "gene_name", "locus", "length")


@dataclass
class Gene:
    """Its name and its exons by contig."""

    name: str
    exons: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    @property
    def locus(self) -> str:
        """Of some annotations a gene is on several contigs."""
        return ",".join(
            f"{contig}:{min(start for start, _ in exons)}-{max(end for _, end in exons)}"
            for contig, exons in self.exons.items()
        )

    @property
    def length(self) -> int:
        """Bases that are in one exon or more."""
        bases = 0
        for exons in self.exons.values():
            last = 0
            for start, end in sorted(exons):
                bases += max(0, end - max(start - 1, last))
                last = max(last, end)
        return bases


def read_exons(lines: Iterable[str]) -> Iterator[tuple[str, str, str, int, int, str]]:
    """Gene, its name, contig, first and last base, strand."""
    for line in lines:
        contig, _, feature, start, end, _, strand, _, attributes = line.split("\t")
        if feature == "exon":
            found = dict(ATTRIBUTE.findall(attributes))
            gene = found.get("gene_id") or found["transcript_id"]
            yield gene, found.get("gene_name", gene), contig, int(start), int(end), strand


def saf(lines: Iterable[str]) -> Iterator[str]:
    yield "GeneID\tChr\tStart\tEnd\tStrand"
    for gene, _, *where in read_exons(lines):
        yield "\t".join(map(str, (gene, *where)))


def read_genes(lines: Iterable[str]) -> dict[str, Gene]:
    genes: dict[str, Gene] = {}
    for gene, name, contig, start, end, _ in read_exons(lines):
        genes.setdefault(gene, Gene(name)).exons.setdefault(contig, []).append((start, end))
    return genes


def table(exons: Path, path: Path | None) -> Iterator[str]:
    """A line for each gene, with its count."""
    with exons.open(encoding="utf-8") as lines:
        next(lines)
        genes = dict.fromkeys(line.partition("\t")[0] for line in lines)
    counts = dict.fromkeys(genes, "0")
    if path:
        with path.open(encoding="utf-8") as lines:
            rows = [line.rstrip("\n").split("\t") for line in islice(lines, 2, None)]
        counts = {gene: count for gene, *_, count in rows}
        if counts.keys() != genes.keys():
            sys.exit(f"error: featureCounts told of {len(counts)} genes, of {len(genes)}")
    yield "gene_id\tfragments"
    for gene in genes:
        yield f"{gene}\t{counts[gene]}"


def read_counts(path: Path, places: Mapping[str, int]) -> Sequence[int]:
    """Of each gene, at its place."""
    with path.open(encoding="utf-8") as lines:
        next(lines)
        found = dict(line.rstrip("\n").split("\t") for line in lines)
    if found.keys() != places.keys():
        sys.exit(f"error: {path} has other genes than the annotation: make results/gene_counts again")
    return array("i", (int(found[gene]) for gene in places))


def matrices(genes: Mapping[str, Gene], paths: Sequence[Path], counts: Path, tpm: Path, of_genes: Path) -> None:
    places = {gene: place for place, gene in enumerate(genes)}
    lengths = [gene.length for gene in genes.values()]
    columns = [read_counts(path, places) for path in paths]
    sums = [sum(count / length for count, length in zip(column, lengths, strict=True)) for column in columns]
    scales = [1e6 / total if total else 0.0 for total in sums]
    samples = [path.stem for path in paths]
    with counts.open("w", encoding="utf-8") as whole, tpm.open("w", encoding="utf-8") as scaled:
        for out in (whole, scaled):
            print(OF_GENES[0], *samples, sep="\t", file=out)
        for gene, length, values in zip(genes, lengths, zip(*columns, strict=True), strict=True):
            print(gene, *values, sep="\t", file=whole)
            parts = (f"{scale * value / length:.6g}" for scale, value in zip(scales, values, strict=True))
            print(gene, *parts, sep="\t", file=scaled)
    with of_genes.open("w", encoding="utf-8") as out:
        print(*OF_GENES, sep="\t", file=out)
        for name, gene in genes.items():
            print(name, gene.name, gene.locus, gene.length, sep="\t", file=out)


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    subcommands = parser.add_subparsers(dest="subcommand", required=True)
    subcommands.add_parser("exons")
    subcommand = subcommands.add_parser("table")
    subcommand.add_argument("--exons", type=Path, required=True)
    subcommand.add_argument("--counts", type=Path)
    subcommand = subcommands.add_parser("matrices")
    for name in ("annotation", "files", "counts", "tpm", "genes"):
        subcommand.add_argument(f"--{name}", type=Path, required=True)
    given = parser.parse_args(argv)
    if given.subcommand in ("exons", "table"):
        made = saf(sys.stdin) if given.subcommand == "exons" else table(given.exons, given.counts)
        sys.stdout.writelines(f"{line}\n" for line in made)
        return 0
    with given.annotation.open(encoding="utf-8") as lines:
        genes = read_genes(lines)
    paths = list(map(Path, given.files.read_text(encoding="utf-8").splitlines()))
    matrices(genes, paths, given.counts, given.tpm, given.genes)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
