"""The disks of a run: how many samples they have room for, and what a run takes of them."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from gpd.errors import GpdError
from gpd.machines.watcher import watching
from gpd.text.formats import number

PREDICTED = Path(".snakemake") / "gpd" / "disk.json"  # what the workflow notes in a folder that it runs in
GIGABYTE = 1e9
INTERVAL_S = 2.0
BLOCK_BYTES = 512  # the unit of st_blocks, whatever the file system's
MIB = 1024**2


class RoomError(GpdError):
    """The disks have no room for a single sample."""


@dataclass(frozen=True)
class Need:
    """What is predicted of a sample, bytes: what it leaves, and the most that it takes of each disk beside that."""

    left: int
    more: tuple[int, ...]


def at_once(prepared: Path, samples: Sequence[str], results: Path, temporary: Path) -> int:
    """How many of the samples may be at work at once, the others before or after them: all, where nothing is predicted.

    More than one take a margin of what is predicted. Raises RoomError where it is none.
    """
    try:
        predicted = json.loads((prepared / PREDICTED).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return len(samples)
    folders = [results] if results.stat().st_dev == temporary.stat().st_dev else [results, temporary]
    bare, ample = (
        [need(predicted["samples"][sample], len(folders), margin) for sample in samples]
        for margin in (1, predicted["margin"])
    )
    # what a run that was cut off has made is part of what it needs
    free = [shutil.disk_usage(folder).free + used_mib(folder) * MIB for folder in folders]
    if not (fit := most_at_once(ample, free) or min(1, most_at_once(bare, free))):
        free_space = ", ".join(f"{_gb(there)} free in {folder}" for there, folder in zip(free, folders, strict=True))
        kept, more = sum(each.left for each in bare), max(sum(each.more) for each in bare)
        raise RoomError(
            f"no room on the disk: {len(samples)} samples leave {_gb(kept)}, one at work takes {_gb(more)} more; "
            f"{free_space}"
        )
    return fit


def need(predicted: Mapping[str, Any], disks: int, margin: float = 1) -> Need:
    """A sample's need of one disk, or of one for results and one for temporary files, at `margin` times its peak."""
    spaces, left = predicted["rules"].values(), predicted["kept"]
    if disks == 1:
        return Need(left, (max(0, margin * max(map(sum, spaces)) - left),))
    results, temporary = (margin * max(of_disk) for of_disk in zip(*spaces, strict=True))
    return Need(left, (max(0, results - left), temporary))


def most_at_once(needs: Sequence[Need], free: Sequence[float]) -> int:
    """How many may be at work at once, whichever these are: what is left of all has to fit, too."""
    fits = []
    for disk, there in enumerate(free):
        room = there if disk else there - sum(each.left for each in needs)
        taken = accumulate(sorted((each.more[disk] for each in needs), reverse=True))
        fits.append(sum(amount <= room for amount in taken))
    return min(fits)


def _gb(amount: float) -> str:
    return f"{number(amount / GIGABYTE)} GB"


@dataclass
class Peak:
    """The largest sum that was seen, MiB; None where nothing was looked at."""

    mib: float | None = None


@contextmanager
def watch(folders: Sequence[Path]) -> Iterator[Peak]:
    """The largest space that folders take, as far as it is seen: where a look takes long there are few."""
    peak = Peak()

    def look() -> None:
        peak.mib = max(peak.mib or 0.0, sum(map(used_mib, folders)))

    with watching(look, INTERVAL_S):
        yield peak


def used_mib(folder: Path) -> float:
    """Space that a folder's files take, MiB; links are not followed, and files that vanish meanwhile are left out.

    A file with several names takes its space once.
    """
    blocks: dict[tuple[int, int], int] = {}
    for directory, _, names in os.walk(folder):
        for name in names:
            try:
                found = Path(directory, name).lstat()
            except FileNotFoundError:
                continue
            blocks[found.st_dev, found.st_ino] = found.st_blocks
    return sum(blocks.values()) * BLOCK_BYTES / MIB
