"""Sequence that is as hard to index and to map to as a human genome: its composition, repeats, gaps and copies."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from simulation.bases import Bases, N, mutated, reverse_complement
from simulation.contigs import MHC, Contig
from simulation.streams import Stream, threshold

WINDOW = 100_000  # bp with one share of G and C
GC_MEAN, GC_SPREAD = 0.41, 0.04
CPG_LEFT = 0.2  # of the CpG that composition alone would give
MOST_BASES = 4_000_000  # of copies that are placed at once: memory
DUPLICATED, DUPLICATION_BP, DUPLICATION_DIVERGENCE = 0.05, (10_000, 100_000), (0.01, 0.05)
TANDEM, TANDEM_BP, TANDEM_UNITS = 0.03, (20, 40, 60), range(1, 7)
COPY_DIVERGENCE = (0.005, 0.02)  # of ALT and HLA contigs


@dataclass(frozen=True)
class Family:
    """An interspersed repeat: the share of the genome that is its, its length, the lengths of its copies with how
    frequent each is, and how far copies have diverged.
    """

    share: float
    length: int
    copies: tuple[int, ...]
    frequencies: tuple[float, ...]
    divergence: tuple[float, float]


# shares of the human genome and lengths: International Human Genome Sequencing Consortium, Nature 409, 860 (2001)
FAMILIES = (
    Family(0.106, 300, (300,), (1.0,), (0.02, 0.2)),  # Alu
    Family(0.169, 6000, (300, 900, 2000, 6000), (0.5, 0.3, 0.15, 0.05), (0.02, 0.25)),  # L1: most lack the beginning
)


def sequence(seed: int, contig: Contig, gaps: Iterable[tuple[int, int]]) -> Bases:
    """A contig that is no copy of another; `gaps` are its runs of N, bp from 0."""
    stream = Stream(seed, "contig", contig.number)
    made = composed(stream, contig.length)
    add_tandem_repeats(stream, made)
    for number, family in enumerate(FAMILIES):
        consensus = Stream(seed, "family", number).small(4, family.length)
        add_family(stream, made, family, consensus)
    add_duplications(stream, made)
    for start, end in gaps:
        made[start:end] = N
    return made


def composed(stream: Stream, length: int) -> Bases:
    """Bases with a share of G and C for each window, most CpG lost to TpG and CpA."""
    made = np.empty(length, np.uint8)
    shares = np.clip(GC_MEAN + GC_SPREAD * stream.bell(-(-length // WINDOW)), 0.3, 0.6)
    for number, gc in enumerate(shares.tolist()):
        here = slice(number * WINDOW, min((number + 1) * WINDOW, length))
        drawn = stream.words(here.stop - here.start)
        made[here] = sum(drawn >= threshold(bound) for bound in ((1 - gc) / 2, 0.5, 0.5 + gc / 2))
    cpg = np.flatnonzero((made[:-1] == 1) & (made[1:] == 2))
    lost = cpg[~stream.hits(CPG_LEFT, len(cpg))]
    to_tpg = stream.hits(0.5, len(lost))
    made[lost[to_tpg]] = 3
    made[lost[~to_tpg] + 1] = 0
    return made


def batches(count: int, length: int) -> Iterator[int]:
    """How many copies of this length to place at once, until all are."""
    most = max(1, MOST_BASES // length)
    while count > 0:
        yield min(count, most)
        count -= most


def place(stream: Stream, made: Bases, copies: Bases) -> None:
    """Write copies, a row each, over bases anywhere."""
    count, length = copies.shape
    starts = stream.below(len(made) - length, count)
    made[starts[:, None] + np.arange(length)] = copies


def add_family(stream: Stream, made: Bases, family: Family, consensus: Bases) -> None:
    mean = sum(length * frequency for length, frequency in zip(family.copies, family.frequencies, strict=True))
    for length, frequency in zip(family.copies, family.frequencies, strict=True):
        if len(made) <= length:
            continue
        for count in batches(round(family.share * len(made) / mean * frequency), length):
            copies = np.tile(consensus[-length:], (count, 1))
            turned = stream.hits(0.5, count)
            copies[turned] = reverse_complement(copies[turned])
            place(stream, made, mutated(stream, copies, stream.evenly(*family.divergence, (count, 1))))


def add_tandem_repeats(stream: Stream, made: Bases) -> None:
    kinds = [(unit, length) for unit in TANDEM_UNITS for length in TANDEM_BP]
    for unit, length in kinds:
        if len(made) <= length:
            continue
        for count in batches(round(TANDEM * len(made) / length / len(kinds)), length):
            units = stream.small(4, (count, unit))
            place(stream, made, units[:, np.arange(length) % unit])


def add_duplications(stream: Stream, made: Bases) -> None:
    """Long segments once more, elsewhere in the contig."""
    least, most = DUPLICATION_BP
    for _ in range(round(DUPLICATED * len(made) / ((least + most) / 2))):
        size = least + stream.one_below(most - least)
        if len(made) <= size:
            continue
        source, target = stream.below(len(made) - size, 2)
        share = stream.evenly(*DUPLICATION_DIVERGENCE, 1)
        made[target : target + size] = mutated(stream, made[source : source + size], share)


def copied(seed: int, contig: Contig, origin: Bases, scale: float) -> tuple[Bases, int]:
    """An ALT or HLA contig, and where in its chromosome it is from, bp from 0: without N, where that is found."""
    stream = Stream(seed, "contig", contig.number)
    low, high = (round(bound * scale) for bound in MHC[1:]) if contig.name.startswith("HLA-") else (0, len(origin))
    last = max(low + 1, min(high, len(origin)) - contig.length)
    starts = low + stream.below(last - low, 100)
    whole = [int(start) for start in starts if not (origin[start : start + contig.length] == N).any()]
    start = whole[0] if whole else int(starts[0])
    return mutated(stream, origin[start : start + contig.length], stream.evenly(*COPY_DIVERGENCE, 1)), start
