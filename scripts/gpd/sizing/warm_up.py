"""How a JVM gets faster as it runs: until its compilers have made the code of what runs most, a gigabase takes longer.

    work = gigabases + extra x over x (1 - exp(-gigabases / over))

The first gigabases of a job count 1 + extra times, those far beyond `over` once; a job's time grows with its work. So
small samples tell of large ones. Each walk of GATK warms up in its own way: WARM_UPS were measured on samples of 0.006
to 0.4 gigabases (scripts/bench/warm_up.py; tests hold them to what was recorded). Another machine's JVM is taken to
need as many gigabases as that one's: what differs is how long it takes for them.

So with what a job takes whatever its size, its start: it lasts as long as `start` gigabases do in a JVM that is warm.
Where samples of a machine are of about one size, that alone tells it from what grows (steps.py). Pure.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

MOST_EXTRA, LEAST_OVER, MOST_OVER = 20.0, 0.002, 0.5  # what is looked for: gigabases, and times


@dataclass(frozen=True)
class WarmUp:
    """See the module. `extra`: how many times longer at first, less one; others: gigabases, None: not known."""

    extra: float
    over: float
    start: float | None = None

    def work(self, gigabases: float) -> float:
        return gigabases + self.extra * self.over * -math.expm1(-gigabases / self.over)


WARM = WarmUp(0.0, 1.0)  # what needs no warming up
WARM_UPS = {
    "base_recalibrator": WarmUp(4.01, 0.00843, 0.0015),
    "base_recalibration": WarmUp(3.02, 0.00965, 0.0),
    "haplotype_caller": WarmUp(0.839, 0.0137, 0.00685),
    "genotype_gvcfs": WarmUp(1.95, 0.0304, 0.022),
}


def fit(gigabases: Sequence[float], seconds: Sequence[float]) -> WarmUp:
    """The warm-up of a rule's jobs, by least squares of relative errors of fixed + rate x work."""

    def errors(terms: np.ndarray) -> np.ndarray:
        fixed, rate, extra, over = terms
        warm_up = WarmUp(extra, over)
        return np.array([(fixed + rate * warm_up.work(g)) / s - 1 for g, s in zip(gigabases, seconds, strict=True)])

    slowest = max(s / g for g, s in zip(gigabases, seconds, strict=True))
    bounds = [0.0, 0.0, 0.0, LEAST_OVER], [min(seconds), slowest, MOST_EXTRA, MOST_OVER]
    starts = ([min(seconds) / 4, slowest / 4, MOST_EXTRA / 4, over] for over in (0.005, 0.02, 0.08))
    found = min((least_squares(errors, start, bounds=bounds) for start in starts), key=lambda one: one.cost)
    fixed, rate, extra, over = map(float, found.x)
    return WarmUp(extra, over, fixed / rate)
