"""A machine as it was measured: for each N the bases a day that N samples at once came to, and what they took.

Nothing is fitted over N, and no N answers that was not measured. A line T = a + bN through other N (T: elapsed time of
N samples at once; 1/b and a/b are Hockney's r-infinity and n-half) is off by 23 to 42% where N is about the number of
cores: until these are busy, elapsed time hardly grows (tests/unit/test_sizing_measured.py).
"""

from dataclasses import dataclass, replace

from gpd.statistics.estimates import Estimate
from gpd.statistics.saturation import Observation


def above_zero(of: Estimate) -> Estimate:
    """An estimate without its interval where that reaches zero: so little do these repeats tell."""
    return of if of.low is None or of.low > 0 else replace(of, low=None, high=None)


@dataclass(frozen=True)
class Measured:
    """N samples at once, of so many gigabases each: means over repeats, as the table `summary` has them.

    What is not known is None. Disk is MiB for each gigabase of the
    samples, memory that of all jobs together: what they took, and what those that ran at once had asked for. `watts`
    are over these runs. `extrapolated`: it is to answer for samples of any size.
    """

    n: int
    gigabases: float
    gigabases_per_day: Estimate
    makespan_s: Estimate | None = None
    cpu_utilisation: Estimate | None = None
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
        return Observation(self.n, self.gigabases_per_day.value, self.gigabases_per_day.se)


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
