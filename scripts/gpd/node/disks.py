"""A short figure of the file systems that runs write to, by fio: one file, one job, removed afterwards."""

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpd.node.running import NotMeasuredError, run
from gpd.records.host import Host
from gpd.records.node import Disk

TOOL = "fio"
SIZE_MIB, LEAST_MIB = 256, 16
FREE_SHARE = 0.05  # of what is free, at most
PHASE_S = 4  # of reading; what is written is bounded by its size
TIMEOUT_S = 120.0
MIB = 1024**2
NS_PER_US = 1000
FILE = "gpd-node"


def measure(folders: Mapping[str, Path], host: Host, missing: dict[str, str]) -> dict[str, Disk]:
    """Measure each folder's file system once; `host` says which they are."""
    found: dict[str, Disk] = {}
    for name, folder in folders.items():
        twin = next((other for other in found if _is_same(host, name, other)), None)
        if twin is not None:
            found[name] = Disk(same_as=twin)
            continue
        try:
            found[name] = _measure(folder)
        except NotMeasuredError as error:
            missing[f"disk of {name}"] = str(error)
        except OSError as error:
            missing[f"disk of {name}"] = f"{folder}: {error.strerror}"
    return found


def _is_same(host: Host, one: str, other: str) -> bool:
    mounts = [host.file_systems[name].mount if name in host.file_systems else None for name in (one, other)]
    return mounts[0] is not None and mounts[0] == mounts[1]


def _measure(folder: Path) -> Disk:
    size = size_mib(shutil.disk_usage(folder).free / MIB)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".gpd-node-") as scratch:
        try:
            said, direct = run(command(size, direct=True), TIMEOUT_S, Path(scratch)), True
        except NotMeasuredError as refused:
            if "not installed" in str(refused):
                raise
            said, direct = run(command(size, direct=False), TIMEOUT_S, Path(scratch)), False
    return parse(said, size, direct)


def size_mib(free_mib: float) -> int:
    """The size of the file. Raises NotMeasuredError where too little is free."""
    size = min(SIZE_MIB, int(FREE_SHARE * free_mib))
    if size < LEAST_MIB:
        raise NotMeasuredError(f"too little is free: {free_mib:,.0f} MiB")
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
    """Read what fio prints as JSON, after any warnings. Raises NotMeasuredError where a phase is not in it."""
    try:
        told = json.loads(text[text.index("{") :])
        jobs: dict[str, Any] = {job["jobname"]: job for job in told["jobs"]}
        write, read, random = jobs["write"]["write"], jobs["read"]["read"], jobs["random"]["read"]
        return Disk(
            tool=told["fio version"],
            direct=direct,
            size_mib=size,
            write_mib_s=_round(write["bw_bytes"] / MIB),
            read_mib_s=_round(read["bw_bytes"] / MIB),
            random_read_iops=_round(random["iops"]),
            random_read_us=_round(random["clat_ns"]["percentile"]["50.000000"] / NS_PER_US),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise NotMeasuredError(f"{TOOL} printed nothing that is understood: {type(error).__name__} {error}") from error


def _round(value: float) -> float | None:
    """To a tenth; what nothing went through is no figure."""
    return round(value, 1) or None
