"""What the clocks do while one core is busy, and while all are; and the watts that the machine tells of meanwhile.

turbostat counts for itself where it may (it takes a superuser); else the kernel's word in /sys is taken, several times
a second. Energy is RAPL's, which the kernel shows in /sys/class/powercap: to a superuser alone, on most machines.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Literal

from gpd.node.bandwidth import TOOL, Tool, tag_of
from gpd.node.running import NotMeasuredError, run
from gpd.records.node import Clock, Core

LOAD = "peakflops"  # of likwid-bench: scalar arithmetic in the first cache, as most of what the pipelines' tools do
LOAD_S = 2
SET_KB = 16  # a thread
TIMEOUT_S = 60.0
EVERY_S = 0.1
SETTLE_S = 0.5  # the first looks fall into the load's own start
CPUFREQ = Path("/sys/devices/system/cpu")
POWERCAP = Path("/sys/class/powercap")
TURBOSTAT = "turbostat"
KHZ_PER_MHZ = 1000

Busy = Literal["one core", "all cores"]


@dataclass(frozen=True)
class Counter:
    """An energy counter of RAPL: what of the machine it counts, its file, and where it starts again from 0 (uJ)."""

    name: str
    path: Path
    wraps_at: int


# ---- their words -----------------------------------------------------------------------------------------------


def parse_turbostat(text: str, cpus: Iterable[int]) -> tuple[list[float], dict[str, float]]:
    """The busy frequencies (MHz) of these CPUs, and the watts of all packages and of memory.

    A row a CPU after a row of dashes that sums up; a column that a row is too short for, or a dash, says nothing.
    """
    rows = [line.split() for line in text.splitlines() if line.strip()]
    at = next((number for number, row in enumerate(rows) if "Bzy_MHz" in row), None)
    if at is None:
        raise NotMeasuredError(f"{TURBOSTAT} told no Bzy_MHz")
    head, wanted = rows[at], set(map(str, cpus))
    told = [dict(zip(head, row, strict=False)) for row in rows[at + 1 :]]
    mhz = [float(row["Bzy_MHz"]) for row in told if row.get("CPU") in wanted and _is_number(row.get("Bzy_MHz"))]
    whole = next((row for row in told if row.get("CPU") == "-"), {})
    names = (("PkgWatt", "packages"), ("RAMWatt", "memory"))
    watts = {name: float(whole[column]) for column, name in names if _is_number(whole.get(column))}
    return mhz, {name: value for name, value in watts.items() if value > 0}


def _is_number(text: str | None) -> bool:
    return text is not None and text.replace(".", "", 1).isdecimal()


def watts(before: Mapping[str, int], after: Mapping[str, int], counters: Iterable[Counter], seconds: float) -> dict:
    """The watts of each counter between two readings; one that started again in between is followed."""
    spent = {
        counter.name: (after[counter.name] - before[counter.name]) % (counter.wraps_at + 1)
        for counter in counters
        if counter.name in before and counter.name in after
    }
    return {name: round(joules / 1e6 / seconds, 2) for name, joules in spent.items() if joules}


# ---- looking ---------------------------------------------------------------------------------------------------


def measure(cores: Sequence[Core], tool: Tool, virtual: bool, missing: dict[str, str]) -> tuple[Clock, ...]:
    """Both states; what nobody tells goes to `missing`, with the reason. `virtual`: a hypervisor stands between."""
    every = frozenset(cpu for core in cores for cpu in core.cpus)
    try:
        tag = tag_of(every, tool.domains)
    except NotMeasuredError as error:
        missing["frequency"] = missing["energy"] = str(error)
        return ()
    stride = len(cores[0].cpus)
    firsts = [tool.domains[tag][at] for at in range(0, stride * len(cores), stride)]
    counters = list(find_counters())
    turbostat = _has_turbostat()
    if not turbostat and not frequency_files(firsts):
        missing["frequency"] = _why_no_frequency(virtual)
    if not turbostat and not counters:
        missing["energy"] = _why_no_energy(virtual)
    if {"frequency", "energy"} <= missing.keys():
        return ()
    found = []
    states: tuple[tuple[Busy, Sequence[int]], ...] = (("one core", firsts[:1]), ("all cores", firsts))
    for busy, cpus in states:
        load = [TOOL, "-t", LOAD, "-s", str(LOAD_S), "-W", f"{tag}:{SET_KB * len(cpus)}kB:{len(cpus)}:1:{stride}"]
        found.append(_by_turbostat(busy, cpus, load) if turbostat else _by_sysfs(busy, cpus, load, counters))
    return tuple(found)


def _clock(busy: Busy, source: str, mhz: Sequence[float], drawn: Mapping[str, float]) -> Clock:
    spread = {"mhz": median(mhz), "low_mhz": min(mhz), "high_mhz": max(mhz)} if mhz else {}
    return Clock(busy=busy, source=source, load=f"{TOOL} {LOAD}, {LOAD_S} s", watts=drawn, **spread)


def _by_turbostat(busy: Busy, cpus: Sequence[int], load: Sequence[str]) -> Clock:
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "told"
        columns = "CPU,Bzy_MHz,PkgWatt,RAMWatt"
        run([TURBOSTAT, "--quiet", "--show", columns, "--out", str(told), *load], TIMEOUT_S)
        return _clock(busy, TURBOSTAT, *parse_turbostat(told.read_text(errors="replace"), cpus))


def _has_turbostat() -> bool:
    """Whether turbostat is here, and may count."""
    try:
        run([TURBOSTAT, "--quiet", "--show", "CPU,Bzy_MHz", "true"], TIMEOUT_S)
    except NotMeasuredError:
        return False
    return True


def _by_sysfs(busy: Busy, cpus: Sequence[int], load: Sequence[str], counters: Sequence[Counter]) -> Clock:
    files = frequency_files(cpus)
    with _loaded(load) as runs:
        time.sleep(SETTLE_S)
        before, began, mhz = read_counters(counters), time.monotonic(), []
        while runs() and time.monotonic() - began < LOAD_S - SETTLE_S:
            mhz += [int(file.read_text()) / KHZ_PER_MHZ for file in files]
            time.sleep(EVERY_S)
        drawn = watts(before, read_counters(counters), counters, time.monotonic() - began)
    source = files[0].name if files else "none"
    return _clock(busy, f"/sys: {source}", mhz, drawn)


@contextmanager
def _loaded(command: Sequence[str]) -> Iterator[Callable[[], bool]]:
    """Within, a load runs, unless the given function says that it has ended."""
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)
    try:
        yield lambda: process.poll() is None
    finally:
        process.kill()
        process.wait()


def frequency_files(cpus: Iterable[int], root: Path = CPUFREQ) -> list[Path]:
    """The file that tells each CPU's frequency: the hardware's own word where that may be read, else the kernel's."""
    for name in ("cpuinfo_cur_freq", "scaling_cur_freq"):
        files = [root / f"cpu{cpu}" / "cpufreq" / name for cpu in cpus]
        if files and all(os.access(file, os.R_OK) for file in files):
            return files
    return []


def find_counters(root: Path = POWERCAP) -> Iterator[Counter]:
    """The counters that may be read: `package-0`, and `package-0 dram` within it."""
    for energy in sorted(root.glob("intel-rapl:*/energy_uj")):
        zone = energy.parent
        if os.access(energy, os.R_OK):
            parent = root / zone.name.rpartition(":")[0] / "name"
            within = f"{parent.read_text().strip()} " if zone.name.count(":") > 1 and parent.exists() else ""
            name = f"{within}{(zone / 'name').read_text().strip()}"
            yield Counter(name, energy, int((zone / "max_energy_range_uj").read_text()))


def read_counters(counters: Iterable[Counter]) -> dict[str, int]:
    return {counter.name: int(counter.path.read_text()) for counter in counters}


def _why_no_frequency(virtual: bool) -> str:
    if virtual:
        return "a virtual machine: its kernel is not told what the clocks do"
    return f"the kernel has no cpufreq for these CPUs, and {TURBOSTAT} is not here or may not count"


def _why_no_energy(virtual: bool) -> str:
    if any(POWERCAP.glob("intel-rapl:*/energy_uj")):
        return f"{POWERCAP} is for a superuser to read"
    return "a virtual machine: no energy counters" if virtual else f"no energy counters in {POWERCAP}"
