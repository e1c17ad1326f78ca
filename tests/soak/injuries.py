"""What the soak does to a run while it is at work: each injury strikes once, and is mended before the next start.

Each returns the sample whose data it spoilt, which has to be named where the run fails; "" where it spoilt none.
"""

import contextlib
import os
import random
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

STARVED_BYTES = 64 << 20
FULL_S = 10.0  # for so long the disk stays full
SUSPENDED_S = 20.0  # and a run is suspended at most for so long
LONGEST_S = 600  # of a run; one that takes longer hangs
REFUSED, WHY = 2, "is at work here"  # the exit code of a second run in a folder, and words that it ends with

Broken = tuple[str, str]  # which invariant, and how


@dataclass(frozen=True)
class Struck:
    """A run that is at work in a folder, as an injury sees it.

    `mend` has what is to be done when it is over; `broken` which invariant the injury itself saw broken, and how.
    """

    run: psutil.Popen
    folder: Path
    dice: random.Random
    mend: list[Callable[[], object]] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)

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


def suspended(struck: Struck) -> str:
    """The run and all below it stop for some seconds, as on a laptop that sleeps, and then go on."""
    stopped = []
    with contextlib.suppress(psutil.NoSuchProcess):
        stopped = [struck.run, *struck.run.children(recursive=True)]
    signalled(stopped, signal.SIGSTOP)
    time.sleep(struck.dice.uniform(1, SUSPENDED_S))
    signalled(stopped, signal.SIGCONT)
    return ""


def signalled(processes: list[psutil.Process], number: signal.Signals) -> None:
    """Send a signal to those that are still there."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def second_run(struck: Struck) -> str:
    """The same command is given once more, to its end: where the first outlives it, it has to have been refused."""
    with contextlib.suppress(psutil.NoSuchProcess):
        words = struck.run.cmdline()
        try:
            second = subprocess.run(
                words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=LONGEST_S
            )
        except subprocess.TimeoutExpired:
            struck.broken.append(("hangs", f"second_run: no end within {LONGEST_S} s"))
            return ""
        refused = second.returncode == REFUSED and WHY in second.stderr
        if struck.run.poll() is None and not refused:
            told = f"exit code {second.returncode}: {second.stderr[-2000:]}"
            struck.broken.append(("two at once", f"second_run: {told}"))
    return ""


def clock_set_back(struck: Struck) -> str:
    """What there is was written an hour from now, as it seems; what no job writes anew has its times again later."""
    times, shift = dict[Path, int](), 3600 * 10**9
    for path in (struck.folder / "results").rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            if path.is_file() and not path.is_symlink():
                times[path] = path.stat().st_mtime_ns
                os.utime(path, ns=(times[path] + shift, times[path] + shift))

    def mend() -> None:
        for path, written in times.items():
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime_ns == written + shift:
                    os.utime(path, ns=(written, written))

    struck.mend.append(mend)
    return ""


INJURIES = (
    any_process_killed,
    snakemake_killed,
    gpd_killed,
    ctrl_c,
    memory_limited,
    reads_damaged,
    disk_filled,
    suspended,
    second_run,
    clock_set_back,
)
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
