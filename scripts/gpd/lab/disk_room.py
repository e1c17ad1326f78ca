"""The disks of a run: whether they have room for its samples, and what a run takes of them."""

import os
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gpd.errors import GpdError
from gpd.lab.pool import Source
from gpd.machines.watcher import watching
from gpd.paths import ROOT
from gpd.processes import ask
from gpd.text.formats import counted, in_gigabytes

ESTIMATE = ROOT / "workflow" / "scripts" / "resources" / "disk.py"
INTERVAL_S = 2.0
BLOCK_BYTES = 512  # the unit of st_blocks, whatever the file system's
MIB = 1024**2

Need = Mapping[str, float]  # of a sample, bytes: kept, results, temporary, both


class RoomError(GpdError):
    """The disks have no room for a run."""


@dataclass(frozen=True)
class DiskEstimate:
    """What samples are estimated to take, by name; each is off by a factor of `within` at most, as far as is known."""

    within: float
    samples: Mapping[str, Need]


def estimate(source: Source, samples: Collection[str]) -> DiskEstimate:
    """What the workflow's script says that samples take. Raises ProcessError."""
    units = {sample: [row for row in source.units if row["sample_name"] == sample] for sample in samples}
    return DiskEstimate(**ask(ESTIMATE, {"config": source.config, "samples": units}))


def refuse_full(found: DiskEstimate, samples: Sequence[str], at_work: int, results: Path, temporary: Path) -> None:
    """Raise RoomError where samples, so many of them at work together, have no room even if estimates are too large.

    What a run that was cut off has made is part of what it needs.
    """
    needs = [found.samples[sample] for sample in samples]
    kept, one_disk = sum(each["kept"] for each in needs), results.stat().st_dev == temporary.stat().st_dev
    more = [most(needs, at_work, "both" if one_disk else "results", "kept")]
    more += [] if one_disk else [most(needs, at_work, "temporary")]
    folders = [results, temporary][: len(more)]
    free = [shutil.disk_usage(folder).free + used_mib(folder) * MIB for folder in folders]
    wanted = [more[0] + kept, *more[1:]]
    if any(want / found.within > there for want, there in zip(wanted, free, strict=True)):
        there = ", ".join(f"{in_gigabytes(size)} free in {folder}" for size, folder in zip(free, folders, strict=True))
        raise RoomError(
            f"no room on the disk: {counted(len(needs), 'sample')} leave about {in_gigabytes(kept)}, and {at_work} at "
            f"work take {in_gigabytes(sum(more))} more; {there}: free some, or run fewer samples"
        )


def most(needs: Sequence[Need], at_work: int, name: str, without: str = "") -> float:
    """The sum of what so many of the samples take at most."""
    amounts = sorted((each[name] - (each[without] if without else 0) for each in needs), reverse=True)
    return sum(max(0, amount) for amount in amounts[:at_work])


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
