"""Bring files into the page cache, or drop them from it; neither needs root."""

import os
from collections.abc import Iterable
from pathlib import Path

BLOCK = 4 * 1024**2


def load(files: Iterable[Path]) -> None:
    """Read files once, so that the next reader finds them in memory as far as they fit."""
    for path in files:
        with path.open("rb", buffering=0) as file:
            while file.read(BLOCK):
                pass


def drop(files: Iterable[Path]) -> None:
    """Have the kernel forget files' pages, those just written included; what somebody has mapped stays."""
    for path in files:
        with path.open("rb", buffering=0) as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
