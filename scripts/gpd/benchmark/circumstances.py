"""What of a machine disturbs a measurement: said before it begins, and of its result. Pure."""

from collections.abc import Iterable, Iterator

from gpd.records.calibration import MOST_DRIFT, Calibration, drift
from gpd.records.host import Host
from gpd.text.formats import counted, number, percent

MOST_STEAL = 0.01  # of all CPUs' time
CALIBRATED = {"arithmetic": "arithmetic", "memory": "copy in memory"}
SLOW_GOVERNORS = ("powersave", "conservative", "userspace")


def of_machine(host: Host) -> Iterator[str]:
    """Lines about a machine before anything runs: what it is, and what is at work on it."""
    if load := host.load:
        if load.busy:
            yield f"{number(load.busy_cpus)} CPUs are at work for others: end what else runs"
        if load.steal_share and load.steal_share > MOST_STEAL:
            yield f"the hypervisor gives {percent(load.steal_share)} of the CPUs' time to others"
    yield from lasting(host)


def lasting(host: Host) -> Iterator[str]:
    """Lines about what a machine is; what was at work before and during each run, its row has (tables/runs.tsv)."""
    if slow := [name for name in (host.governor or "").split(",") if name in SLOW_GOVERNORS]:
        yield f"the frequency governor is {slow[0]}: clocks may stay low (cpupower frequency-set -g performance)"
    if host.cpu_quota_cpus:
        yield f"a quota allows no more than {number(host.cpu_quota_cpus)} CPUs"
    if host.partial_cores:
        yield f"of {counted(host.partial_cores, 'core')} another may use the second thread (SMT)"
    if host.threads and host.usable_threads and host.usable_threads < host.threads and not host.partial_cores:
        yield f"{host.usable_threads} of {host.threads} threads may be used: others may use the rest of the machine"
    if host.virtual_machine not in (None, "none"):
        yield f"a virtual machine ({host.virtual_machine}): what its neighbours do does not show"


def of_session(calibrations: Iterable[Calibration]) -> Iterator[str]:
    """Lines about a machine that did not stay what it was."""
    for name, share in drift(calibrations).items():
        if share > MOST_DRIFT:
            yield f"noisy: the same {CALIBRATED[name]} took {percent(share)} longer at times than at others"
