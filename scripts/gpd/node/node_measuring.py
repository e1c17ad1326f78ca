"""Measure this node: all that its record holds, one thing after the other, for each would spoil the others' figures."""

import os
import tempfile
import time
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from gpd.errors import GpdError
from gpd.files import write_text
from gpd.machines import facts, launcher, this_host
from gpd.machines.topology import Policy
from gpd.node import bandwidth, clocks, disks, latency, node_plan, test_bed
from gpd.records.host import Host
from gpd.records.node import FILE, LONGEST, Bandwidth, BusyClock, Latency, NodeRecord

FOLDER = Path("runs") / "node"
ROOT_ADDS = {
    "memory modules": "memory modules and channels (dmidecode)",
    "energy": "watts of packages and memory (RAPL)",
}


def default_folder(hostname: str | None) -> Path:
    """Where the record of a machine is: machines that share a file system have a folder each."""
    plain = "".join(char if char.isalnum() or char in "-_." else "_" for char in hostname or "")
    return FOLDER / (plain.strip(".") or "unnamed")


def measure(folder: Path, repeats: int, although_busy: bool, progress: Callable[[str], None]) -> NodeRecord:
    """Measure this node; `folder` is where runs will write. Raises GpdError.

    What can't be measured is in the record's `missing`, with the reason.
    """
    began, start = time.monotonic(), datetime.now(UTC)
    folders = {"work": folder, "temp": Path(tempfile.gettempdir())}
    progress("the machine")
    found = facts.gather(folders)
    here = this_host.describe(found)
    if not although_busy:
        refuse_busy(here)
    cores = launcher.lay_out(Policy(threads=1, binding="compact", boundary="l3", smt=False)).cores
    planned = node_plan.make(cores, here, launcher.limits().memory_available_mib, repeats)
    virtual = here.virtual_machine not in (None, "none")
    missing = {f"bandwidth of {scope}": "the machine does not report which CPUs that is" for scope in planned.unknown}
    drawn: Bandwidth | None = None
    between: Latency | None = None
    clocked: tuple[BusyClock, ...] = ()
    try:
        tool = bandwidth.find_tool(found.lscpu.get("Flags", "").split())
        drawn = bandwidth.measure(planned, tool, missing, progress)
        progress("clocks")
        clocked = clocks.measure(planned.cores, tool, virtual, missing)
    except GpdError as error:
        missing |= dict.fromkeys(("bandwidth", "frequency", "energy"), str(error))
    progress(f"latency from core to core, {len(planned.pairs):,} pairs")
    try:
        between = latency.measure(planned)
    except GpdError as error:
        missing["latency"] = str(error)
    progress("disks")
    of_disks = disks.measure(folders, here, missing)
    bed = test_bed.describe(found)
    missing |= test_bed.missing(here, bed)
    return NodeRecord(
        start=start,
        wall_s=round(time.monotonic() - began, 1),
        gpd_version=version("gpd"),
        host=here,
        cores=planned.cores,
        bandwidth=drawn,
        latency=between,
        clocks=clocked,
        test_bed=bed,
        disks=of_disks,
        missing={name: reason[:LONGEST] for name, reason in missing.items()},
        root_adds=tuple(root_adds(missing, virtual)) if os.geteuid() else (),
    )


def refuse_busy(here: Host) -> None:
    """Raise GpdError where other processes are at work on the node."""
    if here.load and here.load.busy:
        raise GpdError(
            f"{here.load.busy_cpus:g} CPUs are at work on this node, and would spoil the figures: wait until it is "
            "idle, or measure nonetheless (--busy), which the record says"
        )


def root_adds(missing: Collection[str], virtual: bool) -> list[str]:
    """What a superuser would learn of what is missing; virtual machines have no energy counters."""
    return [text for name, text in ROOT_ADDS.items() if name in missing and not (virtual and name == "energy")]


def write(record: NodeRecord, folder: Path) -> Path:
    """Write a record so that it is there whole or not at all."""
    path = folder / FILE
    write_text(path, record.to_json())
    return path
