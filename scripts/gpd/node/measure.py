"""Measure this node: all that its record holds, one thing after the other, for each would spoil the others' figures."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from gpd.errors import GpdError
from gpd.files import write_text
from gpd.machines import facts, host, launcher
from gpd.machines.topology import Policy
from gpd.node import bandwidth, clocks, disks, latency, plan, test_bed
from gpd.node.running import NotMeasuredError
from gpd.records.host import Host
from gpd.records.node import FILE, LONGEST, Clock, Latency, NodeRecord

FOLDER = Path("runs") / "node"
WORK, TEMP = "work", "temp"


class BusyError(GpdError):
    """Others are at work on the node; the message says how much, and what to do."""


def default_folder(hostname: str | None) -> Path:
    """Where the record of a machine is: machines that share a file system have a folder each."""
    plain = "".join(char if char.isalnum() or char in "-_." else "_" for char in hostname or "")
    return FOLDER / (plain.strip(".") or "unnamed")


def measure(folder: Path, repeats: int, although_busy: bool, tell: Callable[[str], None]) -> NodeRecord:
    """Measure this node; `folder` is where runs will write. Raises BusyError, and LauncherError.

    What can't be measured is in the record's `missing`, with the reason.
    """
    began, start = time.monotonic(), datetime.now(UTC)
    folders = {WORK: folder, TEMP: Path(tempfile.gettempdir())}
    tell("the machine")
    told = facts.gather(folders)
    here = host.describe(told)
    if not although_busy:
        refuse_busy(here)
    cores = launcher.lay_out(Policy(threads=1, binding="compact", boundary="l3", smt=False)).cores
    planned = plan.make(cores, here, launcher.limits().memory_available_mib, repeats)
    virtual = here.virtual_machine not in (None, "none")
    missing = {f"bandwidth of {scope}": "the machine does not tell which CPUs that is" for scope in planned.untold}
    drawn, ran_at = _with_likwid(told.lscpu.get("Flags", "").split(), planned, virtual, missing, tell)
    tell(f"latency from core to core, {len(planned.pairs):,} pairs")
    between = _latency(planned, missing)
    tell("disks")
    of_disks = disks.measure(folders, here, missing)
    bed = test_bed.describe(here, told)
    missing |= _not_told(here, bed, virtual)
    return NodeRecord(
        start=start,
        wall_s=round(time.monotonic() - began, 1),
        gpd_version=version("gpd"),
        host=here,
        cores=planned.cores,
        bandwidth=drawn,
        latency=between,
        clocks=ran_at,
        test_bed=bed,
        disks=of_disks,
        missing={name: why[:LONGEST] for name, why in missing.items()},
        root_adds=tuple(root_adds(missing, virtual)) if os.geteuid() else (),
    )


def refuse_busy(here: Host) -> None:
    """Raise BusyError where others are at work on the node."""
    load = here.load
    if load and load.busy:
        raise BusyError(
            f"{load.busy_cpus:g} CPUs are at work on this node, and would spoil the figures: wait until it is idle, or "
            "measure nonetheless (--busy), which the record says"
        )


def _latency(planned: plan.NodePlan, missing: dict[str, str]) -> Latency | None:
    try:
        return latency.measure(planned)
    except NotMeasuredError as error:
        missing["latency"] = str(error)
        return None


def _with_likwid(
    flags: Sequence[str], planned: plan.NodePlan, virtual: bool, missing: dict[str, str], tell: Callable[[str], None]
) -> tuple[bandwidth.Bandwidth | None, tuple[Clock, ...]]:
    """What likwid-bench measures, or keeps busy, on a CPU with these flags."""
    try:
        tool = bandwidth.find_tool(flags)
    except NotMeasuredError as error:
        missing |= dict.fromkeys(("bandwidth", "frequency", "energy"), str(error))
        return None, ()
    drawn = bandwidth.measure(planned, tool, missing, tell)
    tell("clocks")
    return drawn, clocks.measure(planned.cores, tool, virtual, missing)


def _not_told(here: Host, bed: test_bed.TestBed, virtual: bool) -> dict[str, str]:
    """What of the test bed is missing, and why."""
    found = {}
    if here.governor is None:
        found["governor"] = "the kernel has no cpufreq for these CPUs"
    if here.microcode is None:
        found["microcode"] = f"the kernel tells none{', or what the hypervisor made up' if virtual else ''}"
    if not bed.modules:
        found["memory modules"] = _why_no_modules()
    elif bed.channels is None:
        found["memory channels"] = "the firmware's names of slots tell no channel"
    if bed.bios_version is None:
        found["BIOS"] = f"nothing in {test_bed.DMI}{', as on many virtual machines' if virtual else ''}"
    if bed.profile is None:
        found["BIOS profile"] = "the firmware tells the system none"
    return found


def _why_no_modules() -> str:
    if shutil.which("dmidecode") is None:
        return "dmidecode is not installed"
    return "dmidecode is for a superuser" if os.geteuid() else "the firmware describes none"


def root_adds(missing: dict[str, str], virtual: bool) -> list[str]:
    """What a superuser would learn of what is missing; a virtual machine tells nobody."""
    known = {
        "memory modules": "memory modules and channels (dmidecode)",
        "energy": "watts of packages and memory (RAPL)",
    }
    return [said for name, said in known.items() if name in missing and not (virtual and name != "memory modules")]


def write(record: NodeRecord, folder: Path) -> Path:
    """Write a record so that it is there whole or not at all."""
    path = folder / FILE
    write_text(path, record.to_json())
    return path
