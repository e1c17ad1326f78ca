"""What the machine's counters say of a run: throttling, clocks, and what others took of its CPUs."""

import os
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean

from gpd.errors import GpdError
from gpd.machines import launcher
from gpd.machines.watcher import watching
from gpd.records.contention import threshold
from gpd.records.machine_use import MachineUse

CLOCKS_S = 10.0  # between looks at the clocks
PAUSE_S = 2.0  # later than this no busy machine lets us look
KHZ_PER_MHZ = 1000
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
ROOT = Path("/")


@dataclass(frozen=True)
class Reading:
    """Counters at one moment: seconds since the boot, CPU seconds busy, stolen, and in all, on the CPUs looked at."""

    moment_s: float
    own_s: float
    active_s: float | None = None
    steal_s: float | None = None
    whole_s: float | None = None
    heat: int | None = None
    throttled_periods: int | None = None
    throttled_s: float | None = None
    mhz: float | None = None


def read(cpus: Collection[int], root: Path = ROOT) -> Reading:
    """Look at the counters of these CPUs. That one can't be read now is no reason to lose a run."""
    try:
        throttled_periods, throttled_s = launcher.throttling()
    except GpdError:
        throttled_periods = throttled_s = None
    active_s, steal_s, whole_s = _cpu_times(cpus, root)
    heat = _numbers(cpus, "thermal_throttle/*_throttle_count", root)
    return Reading(
        time.monotonic(),
        time.process_time(),
        active_s,
        steal_s,
        whole_s,
        sum(heat) if heat else None,
        throttled_periods,
        throttled_s,
        mhz(cpus, root),
    )


def mhz(cpus: Collection[int], root: Path = ROOT) -> float | None:
    """What these CPUs run at, on average."""
    khz = _numbers(cpus, "cpufreq/scaling_cur_freq", root)
    return fmean(khz) / KHZ_PER_MHZ if khz else None


def _numbers(cpus: Collection[int], name: str, root: Path) -> list[int]:
    """What the files of this name say, CPU by CPU; a CPU that is switched off meanwhile says nothing."""
    files = (file for cpu in cpus for file in (root / f"sys/devices/system/cpu/cpu{cpu}").glob(name))
    texts = []
    for file in files:
        try:
            texts.append(file.read_text().strip())
        except OSError:
            continue
    return [int(text) for text in texts if text.isdecimal()]


def _cpu_times(cpus: Collection[int], root: Path) -> tuple[float | None, float | None, float | None]:
    """CPU seconds of these CPUs in user and system mode, stolen by the hypervisor, and in all; None: not reported."""
    wanted = {f"cpu{cpu}" for cpu in cpus}
    rows = [row.split() for row in (root / "proc/stat").read_text().splitlines() if row.startswith("cpu")]
    ticks = [list(map(int, row[1:9])) for row in rows if row[0] in wanted]
    if len(ticks) < len(wanted):
        return None, None, None
    busy = sum(sum(each[:3]) for each in ticks)
    return busy * TICK_S, sum(sum(each[7:8]) for each in ticks) * TICK_S, sum(map(sum, ticks)) * TICK_S


@dataclass
class Watched:
    """Counters before and after what was watched, and the clocks meanwhile."""

    cpus: frozenset[int]
    before: Reading
    after: Reading | None = None
    mhz: list[float] = field(default_factory=list)
    paused_s: float = 0.0

    def use(self, cpu_s: float) -> MachineUse:
        """What the machine did; `cpu_s` is what the run's own processes took."""
        found = between(self.before, self.after or self.before, cpu_s, len(self.cpus), self.mhz)
        return replace(found, paused_s=round(self.paused_s, 3))


@contextmanager
def watch() -> Iterator[Watched]:
    """Watch the CPUs that this process may use."""
    cpus = frozenset(os.sched_getaffinity(0))
    watched, seen_s = Watched(cpus, read(cpus)), _now_and_asleep()

    def look() -> None:
        nonlocal seen_s
        now_s = _now_and_asleep()
        late_s, seen_s = now_s - seen_s - CLOCKS_S, now_s
        watched.paused_s += late_s if late_s > PAUSE_S else 0.0
        watched.mhz += [now] if (now := mhz(cpus)) is not None else []

    with watching(look, CLOCKS_S):
        yield watched
    watched.after = read(cpus)


def _now_and_asleep() -> float:
    """A clock that goes on while the machine sleeps, s."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def between(before: Reading, after: Reading, cpu_s: float, cpus: int, clocks: Collection[float] = ()) -> MachineUse:
    """What the machine did between two readings of so many CPUs."""
    wall_s, own_s = after.moment_s - before.moment_s, cpu_s + after.own_s - before.own_s
    active_s, steal_s = _more(before.active_s, after.active_s), _more(before.steal_s, after.steal_s)
    whole_s = _more(before.whole_s, after.whole_s)
    if whole_s is None or whole_s + TICK_S * cpus < wall_s * cpus / 2:  # those of other CPUs, as in some containers
        active_s = steal_s = None
    others_s = None if active_s is None else max(0.0, active_s - own_s)
    least = threshold(cpus)
    contention = None
    if others_s is not None and steal_s is not None and wall_s > 0:
        contention = (others_s + steal_s) / wall_s > least
    return MachineUse(
        throttled_periods=_count(before.throttled_periods, after.throttled_periods),
        throttled_s=_rounded(_more(before.throttled_s, after.throttled_s)),
        thermal_throttles=_count(before.heat, after.heat),
        mhz_before=_rounded(before.mhz),
        mhz_mean=_rounded(fmean(clocks)) if clocks else None,
        mhz_after=_rounded(after.mhz),
        other_cpu_s=_rounded(others_s),
        steal_s=_rounded(steal_s),
        threshold_cpus=None if contention is None else least,
        cpu_contention=contention,
    )


def _more(before: float | None, after: float | None) -> float | None:
    """How much a counter grew; one that began anew says nothing."""
    return after - before if before is not None and after is not None and after >= before else None


def _count(before: int | None, after: int | None) -> int | None:
    more = _more(before, after)
    return None if more is None else int(more)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
