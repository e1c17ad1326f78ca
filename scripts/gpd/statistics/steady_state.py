"""Throughput between ramp and tail of a batch: the slope of the makespan over N, where N fills the machine. Pure.

A batch of N samples takes T(N) = ramp and tail + N / rate once the machine is full, so that N / T(N) stays below the
rate however many repeats there are (the asymptotic rate: Hockney & Jesshope, Parallel Computers 2, 1988). The rate is
(N2 - N1) / (T2 - T1), by least squares where there are more than two N.

N fills the machine where it gives FULL of the most that any N gives. Below that more samples take idle cores and no
time, and the slope would promise what no machine has: never more than at full use of its CPUs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from gpd.statistics.estimates import estimate
from gpd.text.formats import SECONDS_PER_DAY

FULL = 0.9


@dataclass(frozen=True)
class Batch:
    """A run in which no sample failed; `cpu_utilisation` is of all cores, None: not known."""

    n: int
    repeat: int
    makespan_s: float
    cpu_utilisation: float | None = None

    @property
    def daily(self) -> float:
        return SECONDS_PER_DAY * self.n / self.makespan_s


@dataclass(frozen=True)
class SteadyState:
    """Samples a day without ramp and tail, over these N, with its 95% interval.

    None: of one repeat there is no interval, and one whose makespan may not grow at all has no upper end.
    """

    daily: float
    low: float | None
    high: float | None
    numbers: tuple[int, ...]


def steady_state(batches: Iterable[Batch]) -> SteadyState | None:
    """Return the rate of a curve; None where fewer than two N fill the machine.

    Each repeat has a slope of its own, for it drew the same samples at each N but for those that are more: the interval
    is Student's t of these slopes.
    """
    by_n: dict[int, list[Batch]] = {}
    for batch in batches:
        by_n.setdefault(batch.n, []).append(batch)
    means = {n: fmean(batch.daily for batch in own) for n, own in sorted(by_n.items())}
    full = [n for n, daily in means.items() if daily >= FULL * max(means.values())]
    while len(full) > 1:
        found = _slope([batch for n in full for batch in by_n[n]])
        most = _at_full_use(by_n, full)
        if found is None or most is None or (found.low or found.daily) <= most:
            return found
        full = full[1:]
    return None


def _slope(batches: Sequence[Batch]) -> SteadyState | None:
    repeats: dict[int, list[Batch]] = {}
    for batch in batches:
        repeats.setdefault(batch.repeat, []).append(batch)
    pairs = [[(one.n, one.makespan_s) for one in own] for own in repeats.values() if len({one.n for one in own}) > 1]
    slopes = estimate(float(np.polyfit([n for n, _ in own], [taken for _, taken in own], 1)[0]) for own in pairs)
    if not slopes.mean or slopes.mean <= 0:
        return None
    numbers = tuple(sorted({n for own in pairs for n, _ in own}))
    if (interval := slopes.interval()) is None:
        return SteadyState(SECONDS_PER_DAY / slopes.mean, None, None, numbers)
    fewest, most = interval
    high = SECONDS_PER_DAY / fewest if fewest > 0 else None
    return SteadyState(SECONDS_PER_DAY / slopes.mean, SECONDS_PER_DAY / most, high, numbers)


def _at_full_use(by_n: Mapping[int, Sequence[Batch]], full: Iterable[int]) -> float | None:
    """What these batches would give a day were no core idle; None where that is not known."""
    known = [(batch.daily, batch.cpu_utilisation) for n in full for batch in by_n[n]]
    limits = [daily / used for daily, used in known if used is not None and 0 < used <= 1]
    return max(limits, default=None)
