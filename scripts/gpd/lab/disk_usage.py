"""The largest space that folders took on disk while something ran."""

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

INTERVAL_S = 2.0
BLOCK_BYTES = 512  # the unit of st_blocks, whatever the file system's
MIB = 1024**2


@dataclass
class Peak:
    """The largest sum that was seen, MiB; None where nothing was looked at."""

    mib: float | None = None


@contextmanager
def watch(folders: Iterable[Path]) -> Iterator[Peak]:
    """Look every 2 s, and once at the end: what comes and goes in between is not seen."""
    folders, peak, over = list(folders), Peak(), threading.Event()

    def look() -> None:
        peak.mib = max(peak.mib or 0.0, sum(map(used_mib, folders)))

    def keep_looking() -> None:
        while not over.wait(INTERVAL_S):
            look()

    watcher = threading.Thread(target=keep_looking, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        over.set()
        watcher.join()
        look()


def used_mib(folder: Path) -> float:
    """Space that a folder's files take, MiB; links are not followed, and files that vanish meanwhile are left out."""
    total = 0
    for directory, _, names in os.walk(folder):
        for name in names:
            try:
                total += Path(directory, name).lstat().st_blocks
            except FileNotFoundError:
                continue
    return total * BLOCK_BYTES / MIB
