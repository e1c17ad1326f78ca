"""What of the machine lets a run fail, said before its first job: CPUs, memory, folders, disks.

Errors are what can't work here, warnings what may not: these rest on estimates. Each is a line that says where, what
and what to do. No process is started. The workflow loads this file by its path.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

MEMORY_KINDS = {"tmpfs", "ramfs"}  # of file systems
NOTABLE = 0.001  # of the memory; what small samples put there is not worth a line


@dataclass(frozen=True)
class Job:
    """What the largest job of a rule asks for."""

    rule: str
    threads: int
    mem_mb: int


@dataclass(frozen=True)
class Finding:
    """A line of the list."""

    line: str
    is_error: bool = False


# ---- CPUs and memory --------------------------------------------------------------------------------


def memory(
    jobs: Iterable[Job], there_mb: float, given_mb: float | None, cores: int, index_mb: float
) -> Iterator[Finding]:
    """Of the largest job of each rule, against what this process may use; `index_mb`: what a mapper holds of its index.

    `given_mb` is what Snakemake was told that jobs may take together: none of them has more.
    """
    jobs, most_mb = list(jobs), there_mb if given_mb is None else given_mb
    if index_mb > there_mb:
        yield Finding(
            f"memory: this process may use {there_mb:,.0f} MB, and the mapper's index takes {index_mb:,.0f}: run where "
            "there is more, or raise the limit",
            True,
        )
    if larger := sorted(job.rule for job in jobs if job.mem_mb >= most_mb):
        yield Finding(
            f"memory: jobs may use {most_mb:,.0f} MB, and single ones ask for all of it or more ({', '.join(larger)}): "
            "those of large samples may be ended for it; set their mem_mb in a profile, or run where there is more"
        )
    together = [(job.mem_mb * (cores // job.threads), job) for job in jobs if job.mem_mb < most_mb]
    sum_mb, job = max(together, key=lambda each: each[0], default=(0, None))
    if job and given_mb is None and sum_mb > there_mb:
        yield Finding(
            f"memory: this process may use {there_mb:,.0f} MB, and {cores // job.threads} jobs of {job.rule} at once "
            f"may take {sum_mb:,}: give Snakemake --resources mem_mb={there_mb:.0f} (gpd run does)"
        )


def cpus(cores: int, usable: int) -> Iterator[Finding]:
    """Of the cores that Snakemake was given, against the CPUs that this process may use."""
    if cores > usable:
        yield Finding(
            f"cores: Snakemake was given {cores}, and this process may use {usable} (affinity, control group, Slurm): "
            f"jobs will wait for each other, or share them; give --cores {usable}"
        )


# ---- folders ----------------------------------------------------------------------------------------


def folders(paths: Iterable[str]) -> Iterator[Finding]:
    """Of folders that a run writes to, and can't."""
    for path in paths:
        there = standing(path)
        if not os.access(there, os.W_OK | os.X_OK):
            yield Finding(
                f"{path}: a run writes here, and {there} can't be written to: change its rights, or how it is mounted, "
                "or run elsewhere",
                True,
            )


def in_memory(folder: str) -> bool:
    """Whether a folder's file system is memory, as /tmp is on some systems."""
    kinds = {each.mountpoint: each.fstype for each in psutil.disk_partitions(all=True)}
    there = standing(folder).resolve()
    return next((kinds[str(path)] for path in (there, *there.parents) if str(path) in kinds), "") in MEMORY_KINDS


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


def disk(
    folder: str, there: float, left: float, more: Sequence[float], at_once: int, within: float
) -> Iterator[Finding]:
    """Of a folder: the bytes that are free there, that all samples will leave, and that each takes besides at work.

    An error: there is no room for one sample after the other, even if estimates are `within` times too large.
    A warning: there is no room for so many at once.
    """
    largest = sorted(more, reverse=True)[:at_once] or [0]
    if there >= left + sum(largest):
        return
    is_error = there < (left + largest[0]) / within
    if is_error:
        takes = f"a sample at work takes up to {size(largest[0])} more"
        advice = "free some, or run elsewhere (GPD_PREFLIGHT=none starts all the same)"
    else:
        takes = f"{counted(len(largest))} at work at once take up to {size(sum(largest))} more"
        advice = "free some, or give fewer --cores, or jobs may fail"
    leaves = f"{counted(len(more))} will leave about {size(left)} there, and " if left else ""
    yield Finding(f"disk: {folder} has {size(there)} free; {leaves}{takes}: {advice}", is_error)


def free(folder: str) -> float:
    """Bytes that its file system gives to this user."""
    system = os.statvfs(standing(folder))
    return system.f_bavail * system.f_frsize


def held(paths: Iterable[str]) -> float:
    """Bytes of the files that are there."""
    return sum(path.stat().st_size for path in map(Path, paths) if path.is_file())


def share_disk(folder: str, other: str) -> bool:
    """Whether two folders are on one file system."""
    return standing(folder).stat().st_dev == standing(other).stat().st_dev


def size(amount: float) -> str:
    return f"{amount / 1e9:,.1f} GB" if amount >= 1e8 else f"{amount / 1e6:,.1f} MB"


def counted(samples: int) -> str:
    return f"{samples} samples" if samples > 1 else "the sample"
