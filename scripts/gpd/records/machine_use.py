"""What a machine did while a run went on, as far as it tells. Missing is None."""

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from gpd.records.run_spec import Count

Amount = Annotated[float, Meta(ge=0, le=1e15)]


@dataclass(frozen=True, kw_only=True)
class MachineUse:
    """The counters of a machine after a run, less those before it; of CPUs those that the run might use.

    `throttled_periods` and `throttled_s`: how often and how long the CPU quota of the control groups held processes,
    over all of their CPUs. `thermal_throttles`: how often heat slowed cores and packages, as each CPU counts it.
    `mhz_before`, `mhz_mean` and `mhz_after`: what the CPUs ran at on average: just before, meanwhile, just after.
    `other_cpu_s` is what processes outside of the run took, `steal_s` what the hypervisor gave to others;
    `cpu_contention`: both together kept more than `threshold_cpus` busy on average.
    `paused_s`: how long the run was suspended, or the machine slept.
    """

    throttled_periods: Count | None = None
    throttled_s: Amount | None = None
    thermal_throttles: Count | None = None
    mhz_before: Amount | None = None
    mhz_mean: Amount | None = None
    mhz_after: Amount | None = None
    other_cpu_s: Amount | None = None
    steal_s: Amount | None = None
    threshold_cpus: Amount | None = None
    cpu_contention: bool | None = None
    paused_s: Amount | None = None
