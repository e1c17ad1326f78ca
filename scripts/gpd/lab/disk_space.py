"""How many samples at once the disks have room for, by what the workflow predicts of each."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpd.errors import GpdError
from gpd.text.formats import number

PREDICTED = Path(".snakemake") / "gpd" / "disk.json"  # what the workflow notes in a folder that it runs in
GIGABYTE = 1e9


class RoomError(GpdError):
    """The disks have no room for a single sample."""


@dataclass(frozen=True)
class Need:
    """What is predicted of a sample, bytes: what it leaves, and the most that it takes of each disk beside that."""

    left: int
    more: tuple[int, ...]


def at_once(prepared: Path, samples: Sequence[str], results: Path, temporary: Path) -> int:
    """How many of the samples may be at work at once, the others before or after them: all, where nothing is predicted.

    Raises RoomError where it is none.
    """
    try:
        predicted = json.loads((prepared / PREDICTED).read_text(encoding="utf-8"))["samples"]
    except FileNotFoundError:
        return len(samples)
    folders = [results] if _share_disk(results, temporary) else [results, temporary]
    needs = [need(predicted[sample], len(folders)) for sample in samples]
    free = [_free_bytes(folder) for folder in folders]
    if not (fit := most_at_once(needs, free)):
        told = ", ".join(f"{gigabytes(there)} free in {folder}" for there, folder in zip(free, folders, strict=True))
        leave = gigabytes(sum(each.left for each in needs))
        more = gigabytes(max(sum(each.more) for each in needs))
        raise RoomError(
            f"no room on the disk: {len(samples)} samples leave {leave}, one at work takes {more} more; {told}"
        )
    return fit


def need(predicted: Mapping[str, Any], disks: int) -> Need:
    """A sample's need of one disk, or of one for results and one for temporary files."""
    spaces, left = predicted["rules"].values(), predicted["kept"]
    if disks == 1:
        return Need(left, (max(0, max(map(sum, spaces)) - left),))
    return Need(left, (max(0, max(results for results, _ in spaces) - left), max(temporary for _, temporary in spaces)))


def most_at_once(needs: Sequence[Need], free: Sequence[float]) -> int:
    """How many may be at work at once, whichever these are: what is left of all has to fit, too."""
    rooms = [there - (0 if disk else sum(each.left for each in needs)) for disk, there in enumerate(free)]
    return min(
        _fitting(sorted((each.more[disk] for each in needs), reverse=True), room) for disk, room in enumerate(rooms)
    )


def _fitting(amounts: Sequence[float], room: float) -> int:
    """How many of the amounts, which are in this order, fit together."""
    fit = 0
    for amount in amounts:
        room -= amount
        if room < 0:
            break
        fit += 1
    return fit


def gigabytes(amount: float) -> str:
    return f"{number(amount / GIGABYTE)} GB"


def _free_bytes(folder: Path) -> int:
    system = os.statvfs(folder)
    return system.f_bavail * system.f_frsize


def _share_disk(one: Path, other: Path) -> bool:
    return one.stat().st_dev == other.stat().st_dev
