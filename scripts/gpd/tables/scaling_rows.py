"""The rows of a scaling study: one step at a time, over its threads. Units and meanings: columns.tsv."""

from msgspec import Struct

from gpd.statistics.amdahl import Fit
from gpd.statistics.estimates import Estimate, Interval


class OfJobs(Struct, frozen=True, kw_only=True):
    """Columns of a run of any kind: what its jobs waited for, how they were bound, what others took of their CPUs."""

    wait_s: float | None
    binding_ok: bool | None
    split_jobs: int | None
    memory_applied: str | None
    jobs_with_contention: int | None
    other_cpu_s: float | None
    steal_s: float | None


class ScalingCurve(Struct, frozen=True, kw_only=True):
    """What is the same along a curve over threads."""

    pipeline: str
    step: str
    scatter: str
    binding: str
    occupancy: str


class ScalingRun(Struct, frozen=True, kw_only=True):
    """A run of one step that ended."""

    run: str
    pipeline: str
    step: str
    scatter: str
    binding: str
    occupancy: str
    threads: int
    copies: int
    repeat: int
    warm_up: bool
    sku: str | None
    machine: int | None
    step_s: float | None
    makespan_s: float | None
    steps_per_hour: float | None
    cpu_s: float | None
    peak_rss_mib: float | None
    peak_memory_mib: float | None
    jobs: OfJobs
    disturbances: str | None


class ScalingConfiguration(ScalingCurve, frozen=True, kw_only=True):
    """What the repeats of a step came to, at one number of threads."""

    threads: int
    copies: int
    sku: str | None
    machine: int | None
    repeats: int
    step_s: Estimate
    makespan_s: Estimate
    steps_per_hour: Estimate
    cpu_s: Estimate
    efficiency: Interval
    peak_rss_mib: float | None
    peak_memory_mib: float | None


class ScalingFit(ScalingCurve, frozen=True, kw_only=True):
    """Amdahl's law for a curve."""

    law: Fit
