"""Variants of a population, and the haplotypes of its samples."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rehearsal.bases import Bases, N

EVERY_BP = 400
APART_BP = 30  # at least, between one and the next: representations stay unique
INDELS = 0.12
LONGEST_INDEL = 12
RAREST = 0.02  # frequency; those above it are as many in each equal ratio of frequencies
VARIANTS_SEED, GENOTYPES_SEED = 2, 3


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
    rng = np.random.default_rng([seed, number, VARIANTS_SEED])
    count = len(sequence) // EVERY_BP
    starts = np.unique(rng.integers(APART_BP, max(APART_BP + 1, len(sequence) - 2 * APART_BP), count))
    starts = starts[np.diff(starts, prepend=-APART_BP) > APART_BP + LONGEST_INDEL]
    near = starts[:, None] + np.arange(-1, LONGEST_INDEL + 2)
    starts = starts[~(sequence[near] == N).any(axis=1)] if len(starts) else starts
    count = len(starts)
    size = np.minimum(rng.geometric(0.4, count), LONGEST_INDEL) * rng.choice((-1, 1), count)
    inserted = np.where(rng.random(count) < INDELS, size, 0)
    other = rng.integers(0, 4, (count, LONGEST_INDEL), dtype=np.uint8)
    is_snp = inserted == 0
    other[is_snp, 0] = (sequence[starts[is_snp]] + rng.integers(1, 4, is_snp.sum())) % 4
    return Variants(starts, inserted, other, np.exp(rng.uniform(np.log(RAREST), 0, count)))


def genotypes(seed: int, sample: int, number: int, variants: Variants, copies: int) -> NDArray[np.bool_]:
    """Which of the variants each of a sample's copies of the contig has: a row a copy."""
    rng = np.random.default_rng([seed, number, GENOTYPES_SEED, sample])
    return rng.random((copies, len(variants))) < variants.frequency


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
