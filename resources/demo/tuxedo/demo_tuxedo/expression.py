"""How much of each gene there is: a few strong, most middling, some silent; and what a treatment changes.

Amounts are expected fragments a sample. Replicates vary around them, each gene by itself, more than chance alone would
have it: with the dispersion that is usual between cultures of one cell line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

MEDIAN_FRAGMENTS, SPREAD = 160.0, 1.2  # of a log-normal distribution
MOST_FRAGMENTS = 2500.0
SILENT_SHARE = 0.05
REPLICATE_CV = 0.08
STRONG_CHANGES = (4.0, 5.0, 6.0, 8.0)  # fold, up in one gene and down in another
STRONG_GENES, WEAK_GENES, WEAK_CHANGE = 16, 10, 2.0


@dataclass(frozen=True)
class Amount:
    """Expected fragments of a gene a sample, in the order of the conditions."""

    gene: str
    fragments: tuple[float, ...]

    @property
    def fold_change(self) -> float:
        """The second condition over the first; 1 for a silent gene."""
        control, treated, *_ = self.fragments
        return treated / control if control else 1.0


def simulate_amounts(rng: np.random.Generator, genes: Sequence[str], conditions: int) -> list[Amount]:
    """An amount a gene; conditions after the first two leave these as they were."""
    base = np.minimum(rng.lognormal(np.log(MEDIAN_FRAGMENTS), SPREAD, len(genes)), MOST_FRAGMENTS)
    base[rng.random(len(genes)) < SILENT_SHARE] = 0.0
    folds = [simulate_changes(rng, base) for _ in range(1, conditions)]
    # around the base on both sides, so that strong genes do not become the library
    columns = [base / np.sqrt(folds[0]), *(base * np.sqrt(fold) for fold in folds)]
    return [Amount(gene, tuple(row)) for gene, row in zip(genes, np.transpose(columns).tolist(), strict=True)]


def simulate_changes(rng: np.random.Generator, base: np.ndarray) -> np.ndarray:
    """A factor a gene. As many genes go up as go down, by the same factors, so that libraries keep their sizes."""
    fold = np.ones(len(base))
    changed = rng.permutation(np.flatnonzero(base))[: STRONG_GENES + WEAK_GENES]
    for rank, gene in enumerate(changed):
        size = STRONG_CHANGES[rank // 2 % len(STRONG_CHANGES)] if rank < STRONG_GENES else WEAK_CHANGE
        fold[gene] = size if rank % 2 else 1 / size
    return fold


def draw_counts(rng: np.random.Generator, amounts: Sequence[float]) -> np.ndarray:
    """Fragments of each gene in one replicate: a gamma for what differs between cultures, Poisson for what is drawn."""
    shape = 1 / REPLICATE_CV**2
    return rng.poisson(np.asarray(amounts) * rng.gamma(shape, 1 / shape, len(amounts)))
