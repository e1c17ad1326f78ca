"""What the soak does to a run while it is at work: each injury strikes once, and is mended before the next start.

Each returns the sample whose data it spoilt, which has to be named where the run fails; "" where it spoilt none.
"""

import contextlib
import os
import random
import resource
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

STARVED_BYTES = 64 << 20
FULL_S = 10.0  # for so long the disk stays full


@dataclass(frozen=True)
class Struck:
    """A run that is at work in a folder, as an injury sees it; `mend` has what is to be done when it is over."""

    run: psutil.Process
    folder: Path
    dice: random.Random
    mend: list[Callable[[], object]] = field(default_factory=list)

    def one_below(self, word: str = "") -> psutil.Process | None:
        """One of the run's processes, with a word in its command line."""
        found = []
        with contextlib.suppress(psutil.NoSuchProcess):
            for process in self.run.children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    found += [process] if word in " ".join(process.cmdline()) else []
        return self.dice.choice(found) if found else None


def any_process_killed(struck: Struck, word: str = "") -> str:
    if process := struck.one_below(word):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    return ""


def snakemake_killed(struck: Struck) -> str:
    """The run's own, or one that it started for a job."""
    return any_process_killed(struck, "snakemake --snakefile")


def gpd_killed(struck: Struck) -> str:
    struck.run.kill()
    return ""


def ctrl_c(struck: Struck) -> str:
    os.killpg(struck.run.pid, signal.SIGINT)
    return ""


def memory_limited(struck: Struck) -> str:
    """One of the processes gets no more memory."""
    if process := struck.one_below():
        with contextlib.suppress(psutil.Error):
            process.rlimit(resource.RLIMIT_AS, (STARVED_BYTES, STARVED_BYTES))
    return ""


def reads_damaged(struck: Struck) -> str:
    """The second half of one file of reads is lost, and found again later."""
    path = struck.dice.choice(sorted((struck.folder / "reads").iterdir()))
    content, times = path.read_bytes(), path.stat()

    def mend() -> None:
        path.write_bytes(content)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    struck.mend.append(mend)
    path.write_bytes(content[: len(content) // 2])
    return path.name.partition("_")[0]


def disk_filled(struck: Struck) -> str:
    """Nothing more can be written for a while; the folder has a small file system of its own (see `disk`)."""
    filler = struck.folder / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(1 << 20)):
            continue
    with contextlib.suppress(psutil.TimeoutExpired):
        struck.run.wait(FULL_S)
    filler.unlink()
    return ""


INJURIES = (any_process_killed, snakemake_killed, gpd_killed, ctrl_c, memory_limited, reads_damaged, disk_filled)
Injury = Callable[[Struck], str]


@contextlib.contextmanager
def disk(folder: Path, mib: int) -> Iterator[bool]:
    """A small file system in a folder; whether it could be had: that takes root's rights."""
    folder.mkdir(parents=True)
    words = ["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", str(folder)]
    mounted = subprocess.run(words, capture_output=True, check=False).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)
