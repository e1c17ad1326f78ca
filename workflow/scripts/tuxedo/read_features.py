"""What a sample's reads lie on, and what they tell of its library.

    read_features.py --genes GENES.gtf --bam SAMPLE.bam > SAMPLE.json

All primary alignments are counted: those that are spliced, that have other places too (NH), and fragments that have
the same ends as another, which are duplicates. Some READS of them are looked up in the annotation, by the middle of
their aligned bases: rRNA (by the gene's biotype) goes before mitochondria, these before exons, introns, and what lies
between genes. What the annotation and the reference have none of is missing, not zero.
Standard library only; samtools reads the alignments.
"""

import argparse
import json
import math
import re
import subprocess
import sys
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import NamedTuple

READS = 200_000  # looked up, spread over the whole file
LEFT_OUT = 0x4 | 0x100 | 0x800  # unmapped, secondary, supplementary
PAIRED, MATE_UNMAPPED, REVERSE, SECOND = 0x1, 0x8, 0x10, 0x80
MITOCHONDRIA = {
    *("chrM", "MT", "M", "chrMT", "Mito", "chrmt", "mitochondrion_genome", "MtDNA"),
    *("NC_012920.1", "NC_005089.1", "NC_001224.1", "NC_024511.2"),
}
RIBOSOMAL = {"rRNA", "Mt_rRNA"}
LEAST_LENGTH, LEAST_READS, LEAST_GENES = 500, 20, 10  # bases of a transcript, its reads, and genes, for 5' to 3'
ATTRIBUTE = re.compile(r'(?:^|;)\s*(gene_id|transcript_id|gene_biotype|gene_type|gbkey)\s+"([^"]*)"')

Exons = list[tuple[int, int]]


class Segments(NamedTuple):
    """Of a contig: where each segment begins, what it is, and the gene whose exons alone it is of."""

    starts: list[int]
    features: list[str]
    genes: list[str]


class Longest(NamedTuple):
    """A gene's longest transcript: the first and last base of each exon, and bases before it."""

    strand: str
    exons: Exons
    before: list[int]
    length: int

    def share(self, place: int) -> float | None:
        """How far from the 5' end a place is, as a share of the transcript; None where it lies in no exon."""
        at = bisect_right(self.exons, (place, math.inf)) - 1
        if at < 0 or place > self.exons[at][1]:
            return None
        share = (self.before[at] + place - self.exons[at][0]) / self.length
        return 1 - share if self.strand == "-" else share


class Genes:
    """Genes, from the exons of a GTF."""

    def __init__(self, lines: Iterable[str]) -> None:
        exons: dict[str, dict[str, Exons]] = defaultdict(lambda: defaultdict(list))
        where: dict[str, tuple[str, str]] = {}
        self.ribosomal: set[str] = set()
        for line in lines:
            contig, _, feature, start, end, _, strand, _, attributes = line.split("\t")
            if feature != "exon":
                continue
            found = dict(ATTRIBUTE.findall(attributes))
            gene = f"{found.get('gene_id', '')}\t{contig}\t{strand}"  # some annotations name genes twice
            exons[gene][found.get("transcript_id", "")].append((int(start), int(end)))
            where[gene] = (contig, strand)
            if RIBOSOMAL & {found.get(name) for name in ("gene_biotype", "gene_type", "gbkey")}:
                self.ribosomal.add(gene)
        self.longest = {gene: longest(where[gene][1], transcripts.values()) for gene, transcripts in exons.items()}
        edges: dict[str, list[tuple[int, str, str, int]]] = defaultdict(list)
        for gene, transcripts in exons.items():
            parts = sorted(set().union(*transcripts.values()))
            spans = [("gene", parts[0][0], max(end for _, end in parts)), *(("exon", *part) for part in parts)]
            for kind, start, end in spans:
                edges[where[gene][0]] += [(start, kind, gene, 1), (end + 1, kind, gene, -1)]
        self.segments = {contig: self._segments(changes) for contig, changes in edges.items()}

    def _segments(self, changes: list[tuple[int, str, str, int]]) -> Segments:
        found, depths, inside = Segments([], [], []), Counter[str](), 0
        for place, group in groupby(sorted(changes), key=lambda change: change[0]):
            for _, kind, gene, step in group:
                if kind == "gene":
                    inside += step
                else:
                    depths[gene] += step
                    if not depths[gene]:
                        del depths[gene]
            ribosomal = not self.ribosomal.isdisjoint(depths)
            found.starts.append(place)
            found.features.append("rrna" if ribosomal else "exons" if depths else "introns" if inside else "intergenic")
            found.genes.append(next(iter(depths)) if len(depths) == 1 else "")
        return found

    def at(self, contig: str, place: int) -> tuple[str, str]:
        """The feature, and the gene where it is one alone."""
        segments = self.segments.get(contig)
        at = bisect_right(segments.starts, place) - 1 if segments else -1
        feature, gene = (segments.features[at], segments.genes[at]) if segments and at >= 0 else ("intergenic", "")
        if contig in MITOCHONDRIA and feature != "rrna":
            feature = "mitochondria"
        return feature, gene


def longest(strand: str, transcripts: Iterable[Exons]) -> Longest:
    exons = sorted(max(transcripts, key=lambda parts: sum(end - start + 1 for start, end in parts)))
    before, length = [], 0
    for start, end in exons:
        before.append(length)
        length += end - start + 1
    return Longest(strand, exons, before, length)


def middle(place: int, cigar: str) -> int:
    """The reference base under the middle of the aligned ones."""
    parts = [(int(count), operation) for count, operation in re.findall(r"(\d+)([MDN=X])", cigar)]
    left = sum(count for count, operation in parts if operation in "M=X") // 2
    for count, operation in parts:
        if operation in "M=X":
            if left < count:
                return place + left
            left -= count
        place += count
    return place


class Library:
    """Fragments, and those whose ends another has too; the alignments come by their place."""

    def __init__(self) -> None:
        self.fragments = self.distinct = 0
        self._here, self._ends = ("", ""), set[tuple[str, ...]]()

    def add(self, flag: int, contig: str, place: str, cigar: str, mate: str) -> None:
        """Of a pair the first mate stands for both."""
        pair = flag & PAIRED and not flag & MATE_UNMAPPED
        if pair and flag & SECOND:
            return
        if (contig, place) != self._here:
            self._here = (contig, place)
            self._ends.clear()
        ends = (mate if pair else cigar, str(flag & REVERSE))
        self.fragments += 1
        if ends not in self._ends:
            self._ends.add(ends)
            self.distinct += 1

    @property
    def duplicates(self) -> float | None:
        return 1 - self.distinct / self.fragments if self.fragments else None

    @property
    def molecules(self) -> int | None:
        """So many that drawing the fragments from them gives as many distinct ones; None where all are distinct."""
        if self.distinct == self.fragments:
            return None
        low, high = float(self.distinct), float(self.distinct) ** 2 + 1
        while high / low > 1.0001:
            tried = math.sqrt(low * high)
            expected = tried * -math.expm1(-self.fragments / tried)
            low, high = (low, tried) if expected > self.distinct else (tried, high)
        return round(high)


class SampleReads:
    """Takes alignments, lines of SAM, and keeps what they tell; each `every`-th is looked up."""

    def __init__(self, annotation: Genes, every: int) -> None:
        self.annotation, self.every = annotation, every
        self.mapped = self.spliced = self.multiple = 0
        self.features = Counter[str]()
        self.halves: dict[str, list[int]] = defaultdict(lambda: [0, 0])  # reads of a gene's 5' half and 3' half
        self.library = Library()

    def add(self, line: str) -> None:
        _, flag, contig, place, _, cigar, _, mate, _, _, _, *tags = line.rstrip("\n").split("\t")
        self.mapped += 1
        self.spliced += "N" in cigar
        self.multiple += next((tag != "NH:i:1" for tag in tags if tag.startswith("NH:i:")), False)
        self.library.add(int(flag), contig, place, cigar, mate)
        if self.mapped % self.every == 0:
            self.look_up(contig, middle(int(place), cigar))

    def look_up(self, contig: str, place: int) -> None:
        feature, gene = self.annotation.at(contig, place)
        self.features[feature] += 1
        longest = self.annotation.longest.get(gene)
        if feature == "exons" and longest and longest.length >= LEAST_LENGTH:
            share = longest.share(place)
            if share is not None:
                self.halves[gene][share >= 0.5] += 1

    def five_prime(self) -> float | None:
        """The median over genes of the share of reads in the 5' half."""
        shares = [first / (first + last) for first, last in self.halves.values() if first + last >= LEAST_READS]
        return median(shares) if len(shares) >= LEAST_GENES else None

    def figures(self, contigs: Iterable[str]) -> dict[str, float]:
        total = self.features.total()
        named = ["exons", "introns", "intergenic"]
        named += ["rrna"] if self.annotation.ribosomal else []
        named += ["mitochondria"] if MITOCHONDRIA & set(contigs) else []
        shares = {name: self.features[name] / total for name in named} if total else {}
        others: dict[str, float | None] = {
            "spliced": self.spliced / self.mapped if self.mapped else None,
            "multi_mapped": self.multiple / self.mapped if self.mapped else None,
            "five_prime": self.five_prime(),
            "duplicates": self.library.duplicates,
            "library_size": self.library.molecules,
        }
        return shares | {name: value for name, value in others.items() if value is not None}


def alignments(bam: Path) -> Iterator[str]:
    """Lines of SAM that are whole; ends where samtools fails."""
    with subprocess.Popen(
        ["samtools", "view", "-F", str(LEFT_OUT), str(bam)], text=True, stdout=subprocess.PIPE
    ) as view:
        yield from (line for line in view.stdout if line.endswith("\n"))
    if view.returncode:
        sys.exit(f"error: {bam} was not read to its end: samtools view ended with {view.returncode}")


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--genes", type=Path, required=True)
    parser.add_argument("--bam", type=Path, required=True)
    given = parser.parse_args(argv)
    table = subprocess.run(["samtools", "idxstats", given.bam], check=True, text=True, stdout=subprocess.PIPE).stdout
    contigs = {name: int(mapped) for name, _, mapped, _ in (line.split("\t") for line in table.splitlines())}
    with given.genes.open(encoding="utf-8") as lines:
        sample = SampleReads(Genes(lines), max(1, sum(contigs.values()) // READS))
    for line in alignments(given.bam):
        sample.add(line)
    json.dump(sample.figures(contigs), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
