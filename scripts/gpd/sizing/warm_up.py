"""How a JVM gets faster as it runs: until its compilers have made the code of what runs most, a gigabase takes longer.

    work = gigabases + extra x over x (1 - exp(-gigabases / over))

The first gigabases of a job count 1 + extra times, those far beyond `over` once; a job's time grows with its work. So
small samples tell of large ones. Each walk of GATK warms up in its own way: WARM_UPS were measured on samples of 0.006
to 0.4 gigabases, on two machines (scripts/bench/warm_up.py; tests hold them to what was recorded). A JVM is taken to
need as many gigabases on any machine: what differs is how long it takes for them.

So with what a job takes whatever its size, its start: it lasts as long as `start` gigabases do in a JVM that is warm.
Where samples of a machine are of about one size, that alone tells it from what grows (steps.py). Pure.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.optimize import least_squares

MOST_START, MOST_EXTRA, LEAST_OVER, MOST_OVER = 0.2, 20.0, 0.002, 0.5  # of a fit: gigabases; extra: times


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
    "base_recalibrator": WarmUp(3.12, 0.00886, 0.00647),
    "base_recalibration": WarmUp(2.82, 0.00932, 0.00162),
    "haplotype_caller": WarmUp(0.559, 0.0163, 0.00849),
    "genotype_gvcfs": WarmUp(2.74, 0.0197, 0.0181),
}


def fit(machines: Sequence[str], gigabases: Sequence[float], seconds: Sequence[float]) -> WarmUp:
    """The warm-up of a rule's jobs, each of which ran on one of some machines, by least squares of relative errors."""

    def errors(terms: np.ndarray) -> np.ndarray:
        start, extra, over = terms
        warm_up = WarmUp(extra, over)
        return misfits(machines, [start + warm_up.work(one) for one in gigabases], seconds)

    bounds = [0.0, 0.0, LEAST_OVER], [MOST_START, MOST_EXTRA, MOST_OVER]
    tried = product((0.001, 0.01), (1.0, MOST_EXTRA / 2), (0.005, 0.02, 0.08))
    found = min((least_squares(errors, terms, bounds=bounds) for terms in tried), key=lambda one: one.cost)
    start, extra, over = map(float, found.x)
    return WarmUp(extra, over, start)


def misfits(machines: Sequence[str], amounts: Sequence[float], seconds: Sequence[float]) -> np.ndarray:
    """How far off, relatively, amounts are of what took so long, each machine's at the rate that fits its own best."""
    found, ratios = np.zeros(len(seconds)), np.array(amounts) / np.array(seconds)
    for machine in set(machines):
        own = np.array([one == machine for one in machines])
        found[own] = ratios[own] * ratios[own].sum() / (ratios[own] ** 2).sum() - 1
    return found
