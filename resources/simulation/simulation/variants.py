"""Variants of a population, and the haplotypes of its samples."""

from dataclasses import dataclass
from itertools import accumulate, repeat
from operator import mul

import numpy as np
from numpy.typing import NDArray

from simulation.bases import Bases, N
from simulation.streams import Stream

EVERY_BP = 400
APART_BP = 30  # at least, between one and the next: representations stay unique
INDELS = 0.12
LONGEST_INDEL = 12
# as many in each equal ratio of frequencies, from 1 down to 0.02
FREQUENCIES = np.array(list(accumulate(repeat(0.996187, 1023), mul, initial=1.0)))


@dataclass(frozen=True)
class Variants:
    """Variants of a contig in their order, an array each.

    `start`: the base before an indel, or the one that is changed, from 0. `inserted`: bp that are gained, below 0 lost,
    0 for an SNP. `other`: the first bases that are there instead or as well, LONGEST_INDEL a row.
    """

    start: NDArray[np.int64]
    inserted: NDArray[np.int64]
    other: Bases
    frequency: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.start)


def population(seed: int, number: int, sequence: Bases) -> Variants:
    """The variants of a contig, by its number; none near an N, nor near its ends."""
    stream = Stream(seed, "variants", number)
    room = max(1, len(sequence) - 3 * APART_BP)
    starts = np.unique(APART_BP + stream.below(room, len(sequence) // EVERY_BP))
    starts = starts[np.diff(starts, prepend=-APART_BP) > APART_BP + LONGEST_INDEL]
    near = starts[:, None] + np.arange(-1, LONGEST_INDEL + 2)
    starts = starts[~(sequence[near] == N).any(axis=1)] if len(starts) else starts
    count = len(starts)
    size = stream.geometric(0.4, LONGEST_INDEL, count) * np.where(stream.hits(0.5, count), 1, -1)
    inserted = np.where(stream.hits(INDELS, count), size, 0)
    other = stream.small(4, (count, LONGEST_INDEL))
    is_snp = inserted == 0
    other[is_snp, 0] = (sequence[starts[is_snp]] + 1 + stream.small(3, int(is_snp.sum()))) % 4
    return Variants(starts, inserted, other, FREQUENCIES[stream.below(len(FREQUENCIES), count)])


def genotypes(seed: int, sample: int, number: int, variants: Variants, copies: int) -> NDArray[np.bool_]:
    """Which of the variants each of a sample's copies of the contig has: a row a copy."""
    return Stream(seed, "genotypes", number, sample).hits(variants.frequency, (copies, len(variants)))


def haplotype(sequence: Bases, variants: Variants, carried: NDArray[np.bool_]) -> Bases:
    """A copy of the contig with these of its variants."""
    made, keep = sequence.copy(), np.ones(len(sequence), np.bool_)
    snps = carried & (variants.inserted == 0)
    made[variants.start[snps]] = variants.other[snps, 0]
    for at in np.flatnonzero(carried & (variants.inserted < 0)):
        keep[variants.start[at] + 1 : variants.start[at] + 1 - variants.inserted[at]] = False
    gains = np.flatnonzero(carried & (variants.inserted > 0))
    places = np.repeat(variants.start[gains] + 1, variants.inserted[gains])
    bases = [variants.other[at, : variants.inserted[at]] for at in gains]
    if gains.size:
        keep = np.insert(keep, places, True)
        made = np.insert(made, places, np.concatenate(bases))
    return made[keep]
