"""A machine as it was measured: for each N the bases a day that N samples at once came to, and what they took.

Nothing is fitted over N, and no N answers that was not measured. A line T = a + bN through other N (T: elapsed time of
N samples at once; 1/b and a/b are Hockney's r-infinity and n-half) is off by 23 to 42% where N is about the number of
cores: until these are busy, elapsed time hardly grows (tests/unit/test_sizing_measured.py).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from gpd.statistics.estimates import Estimate
from gpd.statistics.saturation import Observation


@dataclass(frozen=True)
class Range:
    """A value with its 95% interval; the interval is None where runs do not tell it."""

    mid: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, over: Estimate) -> "Range":
        """A mean with its interval by Student's t; None where that reaches zero: so little do these repeats tell."""
        low, high = over.interval() or (None, None)
        return cls(over.mean or 0.0, low, high) if low and low > 0 else cls(over.mean or 0.0)

    def __mul__(self, factor: float) -> "Range":
        return self.each(lambda value: value * factor)

    def over(self, amount: float) -> "Range":
        """`amount` divided by it: what was low is high."""
        turned = self.each(lambda value: amount / value)
        return Range(turned.mid, turned.high, turned.low)

    def up(self) -> "Range":
        """Of whole things: no half nodes."""
        return self.each(lambda value: float(math.ceil(value)))

    @property
    def worst(self) -> float:
        """Its upper end; where that is not known, the value."""
        return self.mid if self.high is None else self.high

    def each(self, change: Callable[[float], float]) -> "Range":
        low, high = (None if end is None else change(end) for end in (self.low, self.high))
        return Range(change(self.mid), low, high)


@dataclass(frozen=True)
class Measured:
    """N samples at once, of so many gigabases each: means over repeats, as the table `summary` has them.

    `se` is the standard error of gigabases a day. What is not known is None. Disk is MiB for each gigabase of the
    samples, memory that of all jobs together: what they took, and what those that ran at once had asked for. `watts`
    are over these runs. `extrapolated`: it is to answer for samples of any size.
    """

    n: int
    gigabases: float
    gigabases_per_day: Range
    se: float | None = None
    cpu_utilisation: Range | None = None
    memory_mib: float | None = None
    declared_mib: float | None = None
    disk_mib_per_gb: float | None = None
    kept_mib_per_gb: float | None = None
    shared_mib_per_gb: float | None = None
    watts: float | None = None
    extrapolated: bool = False

    @property
    def observation(self) -> Observation:
        """What the search for the saturation point sees of it."""
        return Observation(self.n, self.gigabases_per_day.mid, self.se)


@dataclass(frozen=True)
class Machine:
    """One machine. `measured` ascends in N, and has those at which no sample failed.

    `n_failed` is the smallest N at which samples did. `watts` were measured while all cores were busy. `notes` are what
    a reader has to know.
    """

    name: str
    source: str
    skus: tuple[str, ...]
    cores: int
    measured: tuple[Measured, ...]
    n_failed: int | None = None
    memory_mib: float | None = None
    watts: float | None = None
    bandwidth_mb_s: float | None = None
    notes: tuple[str, ...] = ()
