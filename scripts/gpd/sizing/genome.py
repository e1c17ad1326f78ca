"""How much longer a base takes to map in a larger genome, whose index fits the processor's caches less. Pure.

    factor = 1 + A_DOUBLING x log2(genome / CACHED_MB), from CACHED_MB up to MEASURED_MB

Measured with bwa on genomes of 0.3 to 20 Mb, on two machines (scripts/bench/warm_up.py; tests hold it to what was
recorded). A larger one is taken to last as long a base as the largest of these: most of its index is in no cache then.
It says how rates differ between genomes, and nothing of how fast a machine is.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import least_squares

from gpd.pipelines import HUMAN_30X_GIGABASES
from gpd.sizing.warm_up import misfits

HUMAN_MB = 1000 * HUMAN_30X_GIGABASES / 30
MAPPED = ("map_and_sort",)  # the rules that it holds for
CACHED_MB, A_DOUBLING = 2.44, 0.345
MEASURED_MB = 20  # the largest genome that they are from


def factor(genome_mb: float | None, cached_mb: float = CACHED_MB, a_doubling: float = A_DOUBLING) -> float:
    """1 where the genome is not known."""
    if genome_mb is None:
        return 1.0
    return 1 + a_doubling * max(math.log2(min(genome_mb, MEASURED_MB) / cached_mb), 0.0)


def fit(
    machines: Sequence[str], genome_mb: Sequence[float], gigabases: Sequence[float], seconds: Sequence[float]
) -> tuple[float, float]:
    """CACHED_MB and A_DOUBLING from jobs on some machines, by least squares of relative errors."""

    def errors(terms: np.ndarray) -> np.ndarray:
        start, cached, doubling = terms
        amounts = [start + g * factor(mb, cached, doubling) for mb, g in zip(genome_mb, gigabases, strict=True)]
        return misfits(machines, amounts, seconds)

    bounds = [0.0, min(genome_mb), 0.0], [min(gigabases), max(genome_mb), 2.0]
    tried = ([min(gigabases) / 4, cached, 0.1] for cached in sorted(set(genome_mb))[1:-1])
    found = min((least_squares(errors, terms, bounds=bounds) for terms in tried), key=lambda one: one.cost)
    return float(found.x[1]), float(found.x[2])
