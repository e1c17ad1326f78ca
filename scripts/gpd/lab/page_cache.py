"""Files in the page cache: brought there or out of it, how much of them is there, and what waits to be written."""

import ctypes
import mmap
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

READ_BYTES = 4 * 1024**2
CHUNK_BYTES = 2**30  # of a file that is looked at at once
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)


def load(files: Iterable[Path]) -> None:
    """Read files once, so that the next reader finds them in memory as far as they fit."""
    for path in files:
        with path.open("rb", buffering=0) as file:
            while file.read(READ_BYTES):
                pass


def drop(files: Iterable[Path]) -> None:
    """Have the kernel forget files' pages, those just written included; what a process has mapped stays."""
    for path in files:
        with path.open("rb", buffering=0) as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def write_back(folders: Iterable[Path]) -> None:
    """Have the file systems of these folders write what waits in memory. Raises OSError."""
    for folder in {path.stat().st_dev: path for path in folders}.values():
        fd = os.open(folder, os.O_RDONLY)
        try:
            if LIBC.syncfs(fd):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(folder))
        finally:
            os.close(fd)


def cached_share(files: Iterable[Path]) -> float | None:
    """The share of files' pages that are in the page cache; None where the kernel does not tell us of all."""
    there = every = 0
    for path in files:
        resident = _resident(path)
        if resident is None:
            return None
        there, every = there + resident[0], every + resident[1]
    return there / every if every else None


def _resident(path: Path) -> tuple[int, int] | None:
    """A file's pages in memory and in all. Of files of others that may not be written to the kernel says: all."""
    found = path.stat()
    if os.geteuid() not in (0, found.st_uid) and not os.access(path, os.W_OK):
        return None
    there = every = 0
    with path.open("rb", buffering=0) as file:
        for offset in range(0, found.st_size, CHUNK_BYTES):
            pages = _pages(file.fileno(), offset, min(CHUNK_BYTES, found.st_size - offset))
            if pages is None:
                return None
            there, every = there + int(np.count_nonzero(pages & 1)), every + len(pages)
    return there, every


def _pages(fd: int, offset: int, length: int) -> np.ndarray | None:
    """A byte a page, odd where it is in memory; None where a file system maps no files."""
    try:
        mapped = np.frombuffer(mmap.mmap(fd, length, mmap.MAP_SHARED, mmap.PROT_READ, offset=offset), np.uint8)
    except (OSError, ValueError):  # ValueError: it was cut short meanwhile
        return None
    pages = np.zeros(-(-length // mmap.PAGESIZE), np.uint8)
    return None if LIBC.mincore(mapped.ctypes.data, length, pages.ctypes.data) else pages
