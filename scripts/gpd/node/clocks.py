"""What the clocks do while one core is busy, and while all are; and the watts that the machine tells of meanwhile.

Frequencies are the kernel's word in /sys, taken several times a second. Energy is RAPL's, which the kernel shows in
/sys/class/powercap: to a superuser alone, on most machines.
"""

import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Literal

from gpd.node.bandwidth import TOOL, Tool, tag_of
from gpd.node.running import NotMeasuredError
from gpd.records.node import Clock, Core

LOAD = "peakflops"  # of likwid-bench: scalar arithmetic in the first cache, as most of what the pipelines' tools do
LOAD_S = 2
SET_KB = 16  # a thread
EVERY_S = 0.1
SETTLE_S = 0.5  # the first looks fall into the load's own start
CPUFREQ = Path("/sys/devices/system/cpu")
POWERCAP = Path("/sys/class/powercap")
KHZ_PER_MHZ = 1000

Busy = Literal["one core", "all cores"]


@dataclass(frozen=True)
class Counter:
    """An energy counter of RAPL: what of the machine it counts, its file, and where it starts again from 0 (uJ)."""

    name: str
    path: Path
    wraps_at: int


def watts(before: Mapping[str, int], after: Mapping[str, int], counters: Iterable[Counter], seconds: float) -> dict:
    """The watts of each counter between two readings; one that started again in between is followed."""
    spent = {
        counter.name: (after[counter.name] - before[counter.name]) % (counter.wraps_at + 1)
        for counter in counters
        if counter.name in before and counter.name in after
    }
    return {name: round(joules / 1e6 / seconds, 2) for name, joules in spent.items() if joules}


def measure(cores: Sequence[Core], tool: Tool, virtual: bool, missing: dict[str, str]) -> tuple[Clock, ...]:
    """Both states; what nobody tells goes to `missing`, with the reason. `virtual`: a hypervisor stands between."""
    every = frozenset(cpu for core in cores for cpu in core.cpus)
    try:
        tag = tag_of(every, tool.domains)
    except NotMeasuredError as error:
        missing["frequency"] = missing["energy"] = str(error)
        return ()
    firsts = [core.cpus[0] for core in cores]
    counters = list(find_counters())
    if not frequency_files(firsts):
        missing["frequency"] = _why_no_frequency(virtual)
    if not counters:
        missing["energy"] = _why_no_energy(virtual)
    if {"frequency", "energy"} <= missing.keys():
        return ()
    stride = len(cores[0].cpus) if len({len(core.cpus) for core in cores}) == 1 else 1  # else siblings are busy, too
    states: tuple[tuple[Busy, Sequence[int], int], ...] = (
        ("one core", tool.domains[tag][:1], 1),
        ("all cores", firsts, len(every) // stride),
    )
    return tuple(_watch(busy, cpus, _load(tag, threads, stride), counters) for busy, cpus, threads in states)


def _load(tag: str, threads: int, stride: int) -> list[str]:
    return [TOOL, "-t", LOAD, "-s", str(LOAD_S), "-W", f"{tag}:{SET_KB * threads}kB:{threads}:1:{stride}"]


def _clock(busy: Busy, source: str, mhz: Sequence[float], drawn: Mapping[str, float]) -> Clock:
    spread = {"mhz": median(mhz), "low_mhz": min(mhz), "high_mhz": max(mhz)} if mhz else {}
    return Clock(busy=busy, source=source, load=f"{TOOL} {LOAD}, {LOAD_S} s", watts=drawn, **spread)


def _watch(busy: Busy, cpus: Sequence[int], load: Sequence[str], counters: Sequence[Counter]) -> Clock:
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
    """The counters that may be read: `package-0`, and `package-0 dram` beside it; what a package holds counts once."""
    for energy in sorted(root.glob("intel-rapl:*/energy_uj")):
        zone, name = energy.parent, (energy.parent / "name").read_text().strip()
        if name == "dram":
            name = f"{(root / zone.name.rpartition(':')[0] / 'name').read_text().strip()} dram"
        if name.startswith("package-") and os.access(energy, os.R_OK):
            yield Counter(name, energy, int((zone / "max_energy_range_uj").read_text()))


def read_counters(counters: Iterable[Counter]) -> dict[str, int]:
    return {counter.name: int(counter.path.read_text()) for counter in counters}


def _why_no_frequency(virtual: bool) -> str:
    if virtual:
        return "a virtual machine: its kernel is not told what the clocks do"
    return "the kernel has no cpufreq for these CPUs"


def _why_no_energy(virtual: bool) -> str:
    if any(POWERCAP.glob("intel-rapl:*/energy_uj")):
        return f"{POWERCAP} is for a superuser to read"
    return "a virtual machine: no energy counters" if virtual else f"no energy counters in {POWERCAP}"
