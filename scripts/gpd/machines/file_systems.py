"""The file system that holds a folder: findmnt and lsblk's source, the kernel's /sys, tell of it."""

import contextlib
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

from gpd.machines.machine import GIB, answer
from gpd.records.host import FileSystem

FINDMNT = ("findmnt", "--json", "--nofsroot", "--output", "TARGET,SOURCE,FSTYPE,OPTIONS,MAJ:MIN", "--target")
DEVICES = Path("/sys/dev/block")
# of a server, a user or a folder, and nothing that makes input and output faster or slower
_PRIVATE = re.compile(r"(?i)(user|pass|domain|.*addr|secret|cred|name|fsid|mon_|.*dir)")


def look(directory: Path) -> FileSystem:
    """What is known of a folder's file system, with what is free just now (GiB)."""
    usage = shutil.disk_usage(directory)
    status, text = answer([*FINDMNT, str(directory.resolve())])
    return described(text if status == 0 else "", usage.total / GIB, usage.free / GIB)


def described(findmnt: str, size_gib: float, free_gib: float, devices: Path = DEVICES) -> FileSystem:
    """Read what findmnt printed, "" where it told nothing; of mounts on top of each other the last one holds."""
    mount: dict[str, Any] = json.loads(findmnt)["filesystems"][-1] if findmnt else {}
    device = _device(mount, devices) if mount else None
    options = (mount.get("options") or "").split(",") if mount else []
    return FileSystem(
        mount=mount.get("target"),
        type=mount.get("fstype"),
        device=device.name if device else None,
        rotational=_rotates(device) if device else None,
        options=tuple(option for option in dict.fromkeys(options) if option and not _PRIVATE.match(option)),
        size_gib=round(size_gib, 1),
        free_gib=round(free_gib, 1),
    )


def _device(mount: dict[str, Any], devices: Path) -> Path | None:
    """The kernel's folder of a mount's block device. Btrfs hides it behind a number of its own, but names it."""
    number, source = mount["maj:min"].strip(), mount["source"]
    with contextlib.suppress(OSError):
        if number.startswith("0:") and source.startswith("/dev/"):
            device = Path(source).stat().st_rdev
            number = f"{os.major(device)}:{os.minor(device)}"
        return (devices / number).resolve(strict=True)
    return None


def _rotates(device: Path) -> bool | None:
    """What is told of a block device, or of the whole disk where it is a partition of it."""
    for folder in (device, device.parent):
        with contextlib.suppress(OSError):
            return (folder / "queue" / "rotational").read_text().strip() == "1"
    return None
