"""The file system that holds a folder, by findmnt and the kernel's /sys."""

import json
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from gpd.processes import ProcessError, output_of
from gpd.records.host import FileSystem

GIB = 1024**3
FINDMNT = ("findmnt", "--json", "--nofsroot", "--output", "TARGET,SOURCE,FSTYPE,OPTIONS,MAJ:MIN", "--target")
DEVICES = Path("/sys/dev/block")
# of a server, a user or a folder, and nothing that makes input and output faster or slower
_PRIVATE = re.compile(r"(?i)(user|pass|domain|.*addr|secret|cred|name|fsid|mon_|.*dir)")


def look(directory: Path) -> FileSystem:
    """What is known of a folder's file system, with what is free just now (GiB)."""
    usage, text = shutil.disk_usage(directory), ""
    with suppress(ProcessError):
        text = output_of([*FINDMNT, str(directory.resolve())])
    return described(text, usage.total / GIB, usage.free / GIB)


def described(findmnt: str, size_gib: float, free_gib: float, devices: Path = DEVICES) -> FileSystem:
    """Read what findmnt printed, "" where it failed; of mounts on top of each other the last one holds."""
    size: dict[str, Any] = {"size_gib": round(size_gib, 1), "free_gib": round(free_gib, 1)}
    if not findmnt:
        return FileSystem(**size)
    mount: dict[str, Any] = json.loads(findmnt)["filesystems"][-1]
    device = _device(mount, devices)
    options = dict.fromkeys((mount["options"] or "").split(","))
    return FileSystem(
        mount=mount["target"],
        type=mount["fstype"],
        device=device.name if device else None,
        rotational=_rotates(device) if device else None,
        options=tuple(option for option in options if option and not _PRIVATE.match(option)),
        **size,
    )


def _device(mount: dict[str, Any], devices: Path) -> Path | None:
    """The kernel's folder of a mount's block device. Btrfs hides it behind a number of its own, but names it."""
    number, source = mount["maj:min"].strip(), mount["source"]
    with suppress(OSError):
        if number.startswith("0:") and source.startswith("/dev/"):
            device = Path(source).stat().st_rdev
            number = f"{os.major(device)}:{os.minor(device)}"
        return (devices / number).resolve(strict=True)
    return None


def _rotates(device: Path) -> bool | None:
    """The flag of a block device, or of the whole disk where it is a partition of it."""
    for folder in (device, device.parent):
        with suppress(OSError):
            return (folder / "queue" / "rotational").read_text().strip() == "1"
    return None
