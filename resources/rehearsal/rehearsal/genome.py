"""Sequence that is as hard to index and to map to as a human genome: its composition, repeats, gaps and copies."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rehearsal.bases import Bases, N, mutated, reverse_complement
from rehearsal.contigs import MHC, Contig, gaps

WINDOW = 100_000  # bp with one share of G and C
GC_MEAN, GC_SPREAD = 0.41, 0.04
CPG_LEFT = 0.2  # of the CpG that composition alone would give
MOST_BASES = 4_000_000  # of copies that are placed at once: memory
FAMILIES_SEED = 1
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


def sequence(seed: int, contig: Contig, scale: float) -> Bases:
    """A contig that is no copy of another."""
    rng = np.random.default_rng([seed, contig.number])
    made = composed(rng, contig.length)
    add_tandem_repeats(rng, made)
    for number, family in enumerate(FAMILIES):
        consensus = np.random.default_rng([seed, FAMILIES_SEED, number]).integers(0, 4, family.length, dtype=np.uint8)
        add_family(rng, made, family, consensus)
    add_duplications(rng, made)
    for start, end in gaps(contig, scale):
        made[start:end] = N
    return made


def composed(rng: np.random.Generator, length: int) -> Bases:
    """Bases with a share of G and C for each window, most CpG lost to TpG and CpA."""
    made = np.empty(length, np.uint8)
    for start in range(0, length, WINDOW):
        drawn = rng.random(min(WINDOW, length - start), dtype=np.float32)
        gc = np.clip(rng.normal(GC_MEAN, GC_SPREAD), 0.3, 0.6)
        bounds = np.array([(1 - gc) / 2, 0.5, 0.5 + gc / 2])
        made[start : start + len(drawn)] = sum(drawn >= bound for bound in bounds)
    cpg = np.flatnonzero((made[:-1] == 1) & (made[1:] == 2))
    lost = cpg[rng.random(len(cpg)) >= CPG_LEFT]
    to_tpg = rng.random(len(lost)) < 0.5
    made[lost[to_tpg]] = 3
    made[lost[~to_tpg] + 1] = 0
    return made


def batches(count: int, length: int) -> Iterator[int]:
    """How many copies of this length to place at once, until all are."""
    most = max(1, MOST_BASES // length)
    while count > 0:
        yield min(count, most)
        count -= most


def place(rng: np.random.Generator, made: Bases, copies: Bases) -> None:
    """Write copies, a row each, over bases anywhere."""
    count, length = copies.shape
    starts = rng.integers(0, len(made) - length, count)
    made[starts[:, None] + np.arange(length)] = copies


def add_family(rng: np.random.Generator, made: Bases, family: Family, consensus: Bases) -> None:
    mean = np.dot(family.copies, family.frequencies)
    for length, frequency in zip(family.copies, family.frequencies, strict=True):
        if len(made) <= length:
            continue
        for count in batches(round(family.share * len(made) / mean * frequency), length):
            copies = np.tile(consensus[-length:], (count, 1))
            turned = rng.random(count) < 0.5
            copies[turned] = reverse_complement(copies[turned])
            place(rng, made, mutated(rng, copies, rng.uniform(*family.divergence, (count, 1))))


def add_tandem_repeats(rng: np.random.Generator, made: Bases) -> None:
    kinds = [(unit, length) for unit in TANDEM_UNITS for length in TANDEM_BP]
    for unit, length in kinds:
        if len(made) <= length:
            continue
        for count in batches(round(TANDEM * len(made) / length / len(kinds)), length):
            units = rng.integers(0, 4, (count, unit), dtype=np.uint8)
            place(rng, made, units[:, np.arange(length) % unit])


def add_duplications(rng: np.random.Generator, made: Bases) -> None:
    """Long segments once more, elsewhere in the contig."""
    for _ in range(round(DUPLICATED * len(made) / np.mean(DUPLICATION_BP))):
        size = int(rng.integers(*DUPLICATION_BP))
        if len(made) <= size:
            continue
        source, target = rng.integers(0, len(made) - size, 2)
        share = rng.uniform(*DUPLICATION_DIVERGENCE)
        made[target : target + size] = mutated(rng, made[source : source + size], share)


def copied(seed: int, contig: Contig, origin: Bases, scale: float) -> tuple[Bases, int]:
    """An ALT or HLA contig, and where in its chromosome it is from, bp from 0: without N, where that is found."""
    rng = np.random.default_rng([seed, contig.number])
    low, high = (round(bound * scale) for bound in MHC[1:]) if contig.name.startswith("HLA-") else (0, len(origin))
    last = max(low + 1, min(high, len(origin)) - contig.length)
    starts = rng.integers(low, last, 100)
    whole = [int(start) for start in starts if not (origin[start : start + contig.length] == N).any()]
    start = whole[0] if whole else int(starts[0])
    return mutated(rng, origin[start : start + contig.length], rng.uniform(*COPY_DIVERGENCE)), start
