"""What the clocks do while one core is busy, and while all are; and the watts that the machine counts meanwhile.

Frequencies are the kernel's in /sys, read several times a second. Energy is RAPL's, which the kernel shows in
/sys/class/powercap: to a superuser alone, on most machines.
"""

import os
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Literal

from gpd.errors import GpdError
from gpd.machines import rapl
from gpd.node.bandwidth import TOOL, Likwid, tag_of
from gpd.records.node import BusyClock, Core

LOAD = "peakflops"  # of likwid-bench: scalar arithmetic in the first cache, as most of what the pipelines' tools do
LOAD_S = 2
SET_KB = 16  # a thread
EVERY_S = 0.1
SETTLE_S = 0.5  # the load's own start does not count
CPUFREQ = Path("/sys/devices/system/cpu")
KHZ_PER_MHZ = 1000

Busy = Literal["one core", "all cores"]


def watts(
    before: Mapping[str, int], after: Mapping[str, int], counters: Iterable[rapl.Counter], seconds: float
) -> dict:
    """The watts of each counter between two readings; one that started again in between is followed."""
    amounts = rapl.spent(before, after, counters).items()
    return {name: round(microjoules / rapl.MICROJOULES / seconds, 2) for name, microjoules in amounts if microjoules}


def measure(cores: Sequence[Core], tool: Likwid, virtual: bool, missing: dict[str, str]) -> tuple[BusyClock, ...]:
    """Both states; what is not known goes to `missing`, with the reason. `virtual`: this is a virtual machine."""
    every, firsts = frozenset(cpu for core in cores for cpu in core.cpus), [core.cpus[0] for core in cores]
    try:
        tag = tag_of(every, tool.domains)
    except GpdError as error:
        missing["frequency"] = missing["energy"] = str(error)
        return ()
    counters, readable = rapl.find_counters(), bool(frequency_files(firsts))
    if not readable:
        missing["frequency"] = f"the kernel {'of a virtual machine ' if virtual else ''}has no cpufreq for these CPUs"
    if not counters:
        hidden = any(rapl.POWERCAP.glob("intel-rapl:*/energy_uj"))
        none = f"{'a virtual machine: ' if virtual else ''}no energy counters in {rapl.POWERCAP}"
        missing["energy"] = f"{rapl.POWERCAP} is for a superuser to read" if hidden else none
    if not counters and not readable:
        return ()
    stride = len(cores[0].cpus) if len({len(core.cpus) for core in cores}) == 1 else 1  # else siblings are busy, too
    states: tuple[tuple[Busy, Sequence[int], int], ...] = (
        ("one core", tool.domains[tag][:1], 1),
        ("all cores", firsts, len(every) // stride),
    )
    load = [TOOL, "-t", LOAD, "-s", str(LOAD_S), "-W"]
    return tuple(
        _watch(busy, cpus, [*load, f"{tag}:{SET_KB * threads}kB:{threads}:1:{stride}"], counters)
        for busy, cpus, threads in states
    )


def _watch(busy: Busy, cpus: Sequence[int], command: Sequence[str], counters: Sequence[rapl.Counter]) -> BusyClock:
    files, mhz, quiet = frequency_files(cpus), list[float](), subprocess.DEVNULL
    with subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet) as load:
        time.sleep(SETTLE_S)
        before, began = rapl.read_counters(counters), time.monotonic()
        while load.poll() is None and time.monotonic() - began < LOAD_S - SETTLE_S:
            mhz += [int(file.read_text()) / KHZ_PER_MHZ for file in files]
            time.sleep(EVERY_S)
        drawn = watts(before, rapl.read_counters(counters), counters, time.monotonic() - began)
        load.kill()
    spread = {"mhz": median(mhz), "low_mhz": min(mhz), "high_mhz": max(mhz)} if mhz else {}
    source = f"/sys: {files[0].name if files else 'none'}"
    return BusyClock(busy=busy, source=source, load=f"{TOOL} {LOAD}, {LOAD_S} s", watts=drawn, **spread)


def frequency_files(cpus: Iterable[int], root: Path = CPUFREQ) -> list[Path]:
    """The file with each CPU's frequency: the hardware's where that may be read, else the kernel's."""
    for name in ("cpuinfo_cur_freq", "scaling_cur_freq"):
        files = [root / f"cpu{cpu}" / "cpufreq" / name for cpu in cpus]
        if files and all(os.access(file, os.R_OK) for file in files):
            return files
    return []
