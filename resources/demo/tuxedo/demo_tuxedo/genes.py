"""A small genome of spliced genes on both strands, some with two isoforms.

Bases are codes 0..3 (A, C, G, T) in uint8 arrays until they are written. Introns begin with GT and end with AG, as
almost all do: spliced aligners look for that, and Cufflinks takes the strand from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

LETTERS = np.frombuffer(b"ACGT", dtype=np.uint8)
CONTIGS = ("chr1", "chr2")
GC = 0.42
SPACING_BP = (1200, 3000)  # between genes, far enough apart that none are joined
EXONS = (3, 8)
EXON_BP, INTRON_BP = (110, 420), (70, 900)
ISOFORM_SHARE = 0.25  # of the genes, those with a second isoform that skips an inner exon
DONOR, ACCEPTOR = (2, 3), (0, 2)  # GT and AG


@dataclass(frozen=True)
class Transcript:
    """Exons by position on the contig: 0-based, end exclusive, from left to right whatever the strand."""

    name: str
    exons: tuple[tuple[int, int], ...]

    @property
    def length(self) -> int:
        """Bases once spliced."""
        return sum(end - start for start, end in self.exons)


@dataclass(frozen=True)
class Gene:
    """One gene; its first transcript has all exons."""

    name: str
    contig: str
    strand: str
    transcripts: tuple[Transcript, ...]


@dataclass(frozen=True)
class Genome:
    """Base codes by contig, and the genes on them."""

    contigs: dict[str, np.ndarray]
    genes: tuple[Gene, ...]


def simulate_genome(rng: np.random.Generator, genes: int) -> Genome:
    """A genome that holds so many genes, split evenly over its contigs."""
    contigs, placed = {}, []
    for number, contig in enumerate(CONTIGS):
        share = len(range(number, genes, len(CONTIGS)))
        here, length = _place(rng, contig, share, first=len(placed) + 1)
        codes = rng.choice(4, size=length, p=((1 - GC) / 2, GC / 2, GC / 2, (1 - GC) / 2)).astype(np.uint8)
        for gene in here:
            _write_splice_signals(codes, gene)
        contigs[contig] = codes
        placed += here
    return Genome(contigs, tuple(placed))


def _place(rng: np.random.Generator, contig: str, count: int, first: int) -> tuple[list[Gene], int]:
    """Genes from left to right, and where the contig ends."""
    genes, at = [], 0
    for number in range(first, first + count):
        at += int(rng.integers(*SPACING_BP))
        exons = []
        for _ in range(int(rng.integers(EXONS[0], EXONS[1] + 1))):
            end = at + int(rng.integers(*EXON_BP))
            exons.append((at, end))
            at = end + int(rng.integers(*INTRON_BP))
        at = exons[-1][1]
        name = f"G{number:03d}"
        transcripts = [Transcript(f"{name}.1", tuple(exons))]
        if rng.random() < ISOFORM_SHARE:
            skipped = int(rng.integers(1, len(exons) - 1))
            transcripts.append(Transcript(f"{name}.2", tuple(exons[:skipped] + exons[skipped + 1 :])))
        genes.append(Gene(name, contig, "+-"[int(rng.integers(2))], tuple(transcripts)))
    return genes, at + SPACING_BP[1]


def _write_splice_signals(codes: np.ndarray, gene: Gene) -> None:
    left, right = DONOR, ACCEPTOR
    if gene.strand == "-":
        left, right = _reversed(ACCEPTOR), _reversed(DONOR)
    exons = gene.transcripts[0].exons
    for (_, start), (end, _) in pairwise(exons):
        codes[start : start + 2] = left
        codes[end - 2 : end] = right


def _reversed(pair: tuple[int, int]) -> tuple[int, int]:
    return 3 - pair[1], 3 - pair[0]


def spliced(genome: Genome, gene: Gene, transcript: Transcript) -> np.ndarray:
    """The transcript's bases from its 5' end."""
    codes = np.concatenate([genome.contigs[gene.contig][start:end] for start, end in transcript.exons])
    return codes if gene.strand == "+" else (3 - codes)[::-1]


def fasta(genome: Genome, width: int = 60) -> str:
    """The genome as FASTA."""
    lines = []
    for name, codes in genome.contigs.items():
        text = LETTERS[codes].tobytes().decode("ascii")
        lines += [f">{name}", *(text[i : i + width] for i in range(0, len(text), width))]
    return "\n".join(lines) + "\n"


def gtf(genes: Iterable[Gene]) -> str:
    """The annotation: exons with gene_id, transcript_id and gene_name."""
    return "".join(
        f"{gene.contig}\tsimulated\texon\t{start + 1}\t{end}\t.\t{gene.strand}\t.\t"
        f'gene_id "{gene.name}"; transcript_id "{transcript.name}"; gene_name "{gene.name.lower()}";\n'
        for gene in genes
        for transcript in gene.transcripts
        for start, end in transcript.exons
    )
