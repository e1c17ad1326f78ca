"""A short figure of the file systems that runs write to, by fio: one file, one job, removed afterwards."""

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpd.errors import GpdError
from gpd.processes import output_of
from gpd.records.host import Host
from gpd.records.node import Disk

TOOL = "fio"
SIZE_MIB, LEAST_MIB = 256, 16
FREE_SHARE = 0.05  # of what is free, at most
PHASE_S = 4  # of reading; what is written is bounded by its size
MIB = 1024**2
NS_PER_US = 1000
FILE = "gpd-node"


def measure(folders: Mapping[str, Path], host: Host, missing: dict[str, str]) -> dict[str, Disk]:
    """Measure each folder's file system once; `host` says which they are."""
    found: dict[str, Disk] = {}
    measured: dict[str, str] = {}  # the first folder of each mount
    for name, folder in folders.items():
        mount = host.file_systems[name].mount if name in host.file_systems else None
        if mount in measured:
            found[name] = Disk(same_as=measured[mount])
            continue
        try:
            found[name] = _measure(folder)
            measured |= {mount: name} if mount else {}
        except GpdError as error:
            missing[f"disk of {name}"] = str(error)
        except OSError as error:
            missing[f"disk of {name}"] = f"{folder}: {error.strerror}"
    return found


def _measure(folder: Path) -> Disk:
    """Past the page cache, or through it where the file system refuses that."""
    size = size_mib(shutil.disk_usage(folder).free / MIB)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".gpd-node-") as scratch:
        try:
            return parse(output_of(command(size, direct=True), cwd=scratch), size, direct=True)
        except GpdError:
            return parse(output_of(command(size, direct=False), cwd=scratch), size, direct=False)


def size_mib(free_mib: float) -> int:
    """The size of the file. Raises GpdError where too little is free."""
    size = min(SIZE_MIB, int(FREE_SHARE * free_mib))
    if size < LEAST_MIB:
        raise GpdError(f"too little is free: {free_mib:,.0f} MiB")
    return size


def command(size: int, direct: bool) -> list[str]:
    """Write the file, read it in order, read it here and there: one after the other, one request at a time.

    The file's name is relative: fio takes colons in a path for something else.
    """
    common = [f"--filename={FILE}", f"--size={size}m", f"--direct={int(direct)}", "--ioengine=psync", "--thread"]
    phases = (
        ("write", "--rw=write", "--bs=1m", "--end_fsync=1"),
        ("read", "--rw=read", "--bs=1m", f"--runtime={PHASE_S}"),
        ("random", "--rw=randread", "--bs=4k", f"--runtime={PHASE_S}", "--randseed=1"),
    )
    jobs = [[f"--name={name}", "--stonewall", *common, *options] for name, *options in phases]
    return [TOOL, "--output-format=json", *(option for job in jobs for option in job)]


def parse(text: str, size: int, direct: bool) -> Disk:
    """Read what fio prints as JSON, after any warnings. Raises GpdError where a phase is not in it."""
    try:
        printed = json.loads(text[text.index("{") :])
        jobs: dict[str, Any] = {job["jobname"]: job for job in printed["jobs"]}
        random = jobs["random"]["read"]
        figures = {
            "write_mib_s": jobs["write"]["write"]["bw_bytes"] / MIB,
            "read_mib_s": jobs["read"]["read"]["bw_bytes"] / MIB,
            "random_read_iops": random["iops"],
            "random_read_us": random["clat_ns"]["percentile"]["50.000000"] / NS_PER_US,
        }
        rounded = {name: round(value, 1) or None for name, value in figures.items()}  # zero is no figure
        return Disk(tool=printed["fio version"], direct=direct, size_mib=size, **rounded)
    except (KeyError, TypeError, ValueError) as error:
        raise GpdError(f"{TOOL} printed unknown JSON: {type(error).__name__} {error}") from error
