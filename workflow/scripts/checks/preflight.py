"""What of the machine lets a run fail, said before its first job: CPUs, memory, files, processes, disks, clock.

Errors are what can't work here, warnings what may not: these rest on predictions. Each is a line that says where, what
and what to do. No process is started. The workflow loads this file by its path.
"""

import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

PATIENCE_S = 120  # a file server's clock may be ahead by so much
NOTHING = 1 << 20  # bytes: a disk with less is full
MEMORY_KINDS = {"tmpfs", "ramfs"}  # of file systems
NOTABLE = 0.001  # of the memory; what small samples put there is not worth a line

FILES_OF_GATK = 600  # its class path has 370, and GenomicsDBImport opens 50 samples at once, GVCF and index
FILES_OF_A_TOOL = 64  # beside temporary ones
TASKS_A_CORE = 40  # a JVM with the serial collector has some 30 threads; mapping a dozen processes


@dataclass(frozen=True)
class Job:
    """What the largest job of a rule asks for, and what it writes to temporary files that lie in memory."""

    rule: str
    threads: int
    mem_mb: int
    files_mb: float = 0

    @property
    def takes_mb(self) -> int:
        return round(self.mem_mb + self.files_mb)


@dataclass(frozen=True)
class Finding:
    """A line of the list."""

    line: str
    is_error: bool = False


# ---- memory -----------------------------------------------------------------------------------------


def memory(
    jobs: Iterable[Job], there_mb: float, limited: bool, given_mb: int | None, cores: int, index_mb: float
) -> Iterator[Finding]:
    """Against what this process may use (`limited`: by a control group or Slurm, not by the machine).

    `given_mb` is what Snakemake was told that jobs may take together, `index_mb` what a mapper holds of its index.
    """
    jobs = list(jobs)
    where = f"memory: {'a limit gives this process' if limited else 'this machine has'} {there_mb:,.0f} MB"
    if index_mb > there_mb:
        yield Finding(
            f"{where}, and the mapper's index takes {index_mb:,.0f}: run where there is more, or raise the limit", True
        )
    larger = [job for job in jobs if job.takes_mb > there_mb]
    if larger:
        asked = ", ".join(f"{job.rule} {job.takes_mb:,}" for job in sorted(larger, key=lambda job: -job.takes_mb))
        yield Finding(
            f"{where}, less than single jobs ask for ({asked}): those of large samples may be ended for it; set their "
            "mem_mb in a profile, or run where there is more"
        )
    together = [(job.takes_mb * (cores // job.threads), job) for job in jobs if job not in larger]
    most, job = max(together, key=lambda each: each[0], default=(0, None))
    if job and given_mb is None and most > there_mb:
        yield Finding(
            f"{where}, and {cores // job.threads} jobs of {job.rule} at once may take {most:,} MB: give Snakemake "
            f"--resources mem_mb={there_mb:.0f} (gpd run does)"
        )


# ---- CPUs and limits of the process -----------------------------------------------------------------


def cpus(cores: int, usable: int) -> Iterator[Finding]:
    """What Snakemake was given, against what this process may keep busy."""
    if cores > usable:
        yield Finding(
            f"cores: Snakemake was given {cores}, and this process may use {usable} (affinity, control group, Slurm): "
            f"jobs will wait for each other, or share them; give --cores {usable}"
        )


def open_files(limit: float | None, temporary: float) -> Iterator[Finding]:
    """Against the hard limit, up to which each job raises its own; so many `temporary` files may be open at once."""
    needed = round(max(FILES_OF_GATK, FILES_OF_A_TOOL + temporary))
    if limit is not None and limit < needed:
        yield Finding(
            f"open files: the hard limit is {limit} (ulimit -Hn), and sorting, marking duplicates or joint calling may "
            f"need {needed:,}: raise it (limits.conf, LimitNOFILE, docker run --ulimit nofile={needed})"
        )


def tasks(left: float | None, cores: int) -> Iterator[Finding]:
    """Against processes and threads that may still be started."""
    needed = TASKS_A_CORE * cores
    if left is not None and left < needed:
        yield Finding(
            f"processes: {left} more may be started (ulimit -u, pids.max), and jobs on {cores} cores have up to "
            f"{needed:,} processes and threads: raise the limit, or give fewer --cores"
        )


# ---- folders ----------------------------------------------------------------------------------------


def folders(paths: Iterable[str]) -> list[str]:
    """Errors: folders that a run writes to, and can't."""
    return [f"{path}: a run writes here, and {fault}" for path in paths if (fault := fault_of(standing(path)))]


def fault_of(folder: Path) -> str:
    """What keeps files from being made in a folder that is there; empty: nothing."""
    if not folder.is_dir():
        return f"{folder} is no folder: remove or rename it"
    system = os.statvfs(folder)
    if system.f_flag & os.ST_RDONLY:
        return f"{folder} is on a read-only file system: mount it for writing, or run elsewhere"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"{folder} can't be written to (permission denied): change its rights, or run elsewhere"
    if system.f_files and not system.f_favail:  # some file systems don't count files, and say 0 of 0
        return f"{folder} is on a file system without free inodes: remove files, or run elsewhere"
    return ""


def temporary(path: str, wished: str | None) -> Iterator[Finding]:
    """Of the folder for temporary files; where what TMPDIR names is of no use, Python takes another in silence."""
    if fault := fault_of(standing(path)):
        yield Finding(f"{path}: temporary files go here, and {fault}", True)
    elif wished and not Path(wished).is_dir():
        yield Finding(f"TMPDIR {wished}: no such folder: temporary files go to {path}; make it, or name another")
    elif wished and (fault := fault_of(Path(wished))):
        yield Finding(f"TMPDIR {wished}: {fault}; temporary files go to {path}")


def in_memory(folder: str, mounts: str = "/proc/self/mountinfo") -> bool:
    """Whether a folder's file system is memory, as /tmp is on some systems."""
    device = standing(folder).stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    lines = Path(mounts).read_text(encoding="utf-8", errors="replace").splitlines()
    kinds = [line.partition(" - ")[2].split()[0] for line in lines if line.split()[2] == number]
    return bool(MEMORY_KINDS & set(kinds))


def files_in_memory(path: str, sample: float, there_mb: float) -> Iterator[Finding]:
    """Of a folder for temporary files that is memory, of which a sample takes so many bytes there."""
    if sample > there_mb * 1e6 * NOTABLE:
        yield Finding(
            f"{path}: temporary files go here, and it is memory (tmpfs): a sample takes up to {size(sample)} of it, "
            "beside what its jobs ask for; set TMPDIR to a folder on a disk"
        )


def standing(path: str) -> Path:
    """The path, or the nearest above it that is there."""
    absolute = Path(path).absolute()
    return next(each for each in (absolute, *absolute.parents) if each.exists())


# ---- disk -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wanted:
    """Predicted bytes in a folder: what all samples leave there, and the most that one has there besides at work."""

    folder: str
    left: float
    more: float


def disk(
    wanted: Iterable[Wanted], samples: int, free: Callable[[str], float], taken: Callable[[str], float]
) -> Iterator[Finding]:
    """Against what is free on each folder's file system, and what is `taken` of it by an earlier start already."""
    for each in wanted:
        there, needed = free(each.folder), each.left + each.more
        if there < NOTHING:
            yield Finding(f"disk: {each.folder} has {size(there)} free: free some, or run elsewhere", True)
        elif there < needed and there + taken(each.folder) < needed:
            left = f"{counted(samples)} will leave about {size(each.left)} there, and " if each.left else ""
            yield Finding(
                f"disk: {each.folder} has {size(there)} free; {left}a sample at work takes up to {size(each.more)} "
                "more: free some, or samples may wait, or fail"
            )


def free(folder: str) -> float:
    """Bytes that its file system gives to this user."""
    system = os.statvfs(standing(folder))
    return system.f_bavail * system.f_frsize


def taken(folder: str) -> float:
    """Bytes that files below a folder take, as far as they can be read."""
    found = subprocess.run(["du", "--summarize", "--block-size=1", folder], capture_output=True, text=True, check=False)
    return float(found.stdout.split()[0]) if found.stdout else 0


def share_disk(folder: str, other: str) -> bool:
    """Whether two folders are on one file system."""
    return standing(folder).stat().st_dev == standing(other).stat().st_dev


def size(amount: float) -> str:
    return f"{amount / 1e9:,.1f} GB" if amount >= 1e8 else f"{amount / 1e6:,.1f} MB"


def counted(samples: int) -> str:
    return f"{samples} samples" if samples > 1 else "the sample"


# ---- clock ------------------------------------------------------------------------------------------


def clock(now: float, inputs: Iterable[str], installed: float) -> Iterator[Finding]:
    """Against what was there before: files of input, and this workflow."""
    there = (path for path in map(Path, inputs) if path.exists())
    newest, path = max(((path.stat().st_mtime, path) for path in there), default=(0, Path()))
    advice = "set the clock, for Snakemake tells by times what has to be made anew"
    here = f"clock: it is {_minute(now)} here, before"
    if now + PATIENCE_S < installed:
        yield Finding(f"{here} this workflow was installed ({_minute(installed)}): {advice}")
    elif now + PATIENCE_S < newest:
        yield Finding(f"{here} {path} was written ({_minute(newest)}): {advice}, or touch that file")


def _minute(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))
