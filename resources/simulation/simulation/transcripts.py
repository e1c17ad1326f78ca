"""Genes with introns, how much of each a sample has, and reads of their spliced transcripts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, repeat
from operator import mul

import numpy as np
from numpy.typing import NDArray

from simulation import reads
from simulation.bases import Bases, reverse_complement
from simulation.contigs import Contig
from simulation.design import Sample
from simulation.streams import Numbers, Stream, threshold

EXONS, EXON_BP = (3, 8), (110, 420)
INTRON_BP = 70  # at least; at most an eleventh of the room of a gene, so that the longest gene fits into it
ISOFORM_SHARE, MAJOR_SHARE = 0.25, 0.7  # genes with a second isoform, which skips an exon; what the first is of them
# relative expression, log-normal by a bell: each step by 2%, 60 steps are a standard deviation, a factor of 3.3
LEVELS = np.array(list(accumulate(repeat(1.02, 480), mul, initial=1.0)))
LEVEL_SPREAD = 60
SILENT_SHARE, CHANGED_SHARE, CHANGE = 0.05, 0.1, 4.0  # genes; of those, half go up in all conditions but the first
REPLICATE_CV = 0.08  # of a gene, between samples of a condition
DONOR, ACCEPTOR = (2, 3), (0, 2)  # GT and AG, between which introns lie


@dataclass(frozen=True)
class Gene:
    """A gene's exons as (start, end), bp from 0, from left to right; the second isoform lacks that which is `skipped`.

    `forward`: on the strand that the reference shows.
    """

    name: str
    contig: str
    forward: bool
    exons: tuple[tuple[int, int], ...]
    skipped: int | None

    @property
    def transcripts(self) -> list[tuple[str, tuple[tuple[int, int], ...], float]]:
        """Name, exons and share of each isoform."""
        if self.skipped is None:
            return [(f"{self.name}.1", self.exons, 1.0)]
        fewer = self.exons[: self.skipped] + self.exons[self.skipped + 1 :]
        return [(f"{self.name}.1", self.exons, MAJOR_SHARE), (f"{self.name}.2", fewer, 1 - MAJOR_SHARE)]


def genes(seed: int, contig: Contig, gaps: Sequence[tuple[int, int]], every_bp: int) -> list[Gene]:
    """One in each `every_bp` of a contig, but for those that a gap would cut."""
    stream, found = Stream(seed, "genes", contig.number), []
    for number in range(contig.length // every_bp):
        gene = _gene(stream, contig, number, every_bp)
        start, end = gene.exons[0][0], gene.exons[-1][1]
        if not any(start < gap_end and gap_start < end for gap_start, gap_end in gaps):
            found.append(gene)
    return found


def _gene(stream: Stream, contig: Contig, number: int, every_bp: int) -> Gene:
    count = EXONS[0] + stream.one_below(EXONS[1] - EXONS[0] + 1)
    exon_bp = EXON_BP[0] + stream.below(EXON_BP[1] - EXON_BP[0], count)
    intron_bp = INTRON_BP + stream.below(every_bp // 11 - INTRON_BP, count)
    intron_bp[-1] = 0
    steps = np.cumsum(exon_bp + intron_bp)
    start = number * every_bp + stream.one_below(every_bp - int(steps[-1])) + np.append(0, steps[:-1])
    exons = tuple(zip(start.tolist(), (start + exon_bp).tolist(), strict=True))
    forward, skips = (bool(hit) for hit in stream.hits(np.array([0.5, ISOFORM_SHARE]), 2))
    inner = 1 + stream.one_below(count - 2)
    return Gene(f"G{contig.number:02d}{number:05d}", contig.name, forward, exons, inner if skips else None)


def add_splice_sites(made: Bases, every: Sequence[Gene]) -> None:
    """Write what introns begin and end with over bases."""
    turned = [tuple(3 - base for base in pair[::-1]) for pair in (ACCEPTOR, DONOR)]
    sites = {True: (DONOR, ACCEPTOR), False: turned}
    for gene in every:
        for (_, start), (end, _) in pairwise(gene.exons):
            made[start : start + 2], made[end - 2 : end] = sites[gene.forward]


def gtf(every: Sequence[Gene]) -> Iterator[str]:
    """The annotation, a line an exon of each transcript."""
    for gene in every:
        for name, exons, _ in gene.transcripts:
            for start, end in exons:
                place = f"{gene.contig}\tsimulated\texon\t{start + 1}\t{end}\t.\t{'+' if gene.forward else '-'}\t."
                yield f'{place}\tgene_id "{gene.name}"; transcript_id "{name}"; gene_name "{gene.name}";\n'


def spliced(sequence: Bases, gene: Gene, exons: Sequence[tuple[int, int]]) -> Bases:
    """A transcript's bases from its 5' end."""
    joined = np.concatenate([sequence[start:end] for start, end in exons])
    return joined if gene.forward else reverse_complement(joined)


def amounts(seed: int, sample: Sample, first_condition: str, every: Sequence[Gene]) -> Numbers:
    """How much of each gene a sample has, beside others."""
    stream, count = Stream(seed, "expression"), len(every)
    levels = np.rint(len(LEVELS) / 2 + LEVEL_SPREAD * stream.bell(count)).astype(np.int64)
    amount = LEVELS[np.clip(levels, 0, len(LEVELS) - 1)]
    amount[stream.hits(SILENT_SHARE, count)] = 0.0
    changed, up = stream.hits(CHANGED_SHARE, count), stream.hits(0.5, count)
    if sample.condition != first_condition:
        amount = np.where(changed, np.where(up, amount * CHANGE, amount / CHANGE), amount)
    return amount * (1 + REPLICATE_CV * Stream(seed, "replicate", sample.number).bell(count))


def pairs(stream: Stream, transcripts: Sequence[Bases], amount: Numbers, count: int) -> Iterator[tuple[Bases, Bases]]:
    """Batches of records of both mates of so many fragments, by `amount` a transcript, in random order."""
    sequence = np.concatenate(transcripts)
    lengths = np.array([len(each) for each in transcripts], np.int64)
    begins = np.cumsum(lengths) - lengths
    # a running sum is one sum after the other everywhere; numpy's `sum` adds in another order on another CPU
    upto = np.cumsum(amount)
    bounds: NDArray[np.uint32] = threshold(upto[:-1] / upto[-1])
    for name in range(0, count, reads.BATCH):
        which = np.searchsorted(bounds, stream.words(min(count - name, reads.BATCH)), side="right")
        size = np.minimum(reads.fragment_sizes(stream, len(which)), lengths[which])
        start = begins[which] + stream.below(lengths[which] - size + 1, len(which))
        first, second = reads.ends(stream, sequence, start, size)
        yield reads.records(stream, first, 1, name, "rna."), reads.records(stream, second, 2, name, "rna.")
