"""What of the machine lets a run fail, said before its first job: CPUs, memory, files, processes, disks.

Errors are what can't work here, warnings what may not: these rest on estimates. Each is a line that says where, what
and what to do. No process is started. The workflow loads this file by its path.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

NOTHING = 1 << 20  # bytes: a disk with less is full
MEMORY_KINDS = {"tmpfs", "ramfs"}  # of file systems
NOTABLE = 0.001  # of the memory; what small samples put there is not worth a line

FILES_OF_GATK = 600  # its class path has 370, and GenomicsDBImport opens 50 samples at once, GVCF and index
FILES_A_GIGABASE = 17  # temporary ones of sambamba sort with 10 GB, and of sambamba markdup with reads of 100 bases
TASKS_A_CORE = 40  # a JVM with the serial collector has some 30 threads; mapping a dozen processes


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


# ---- CPUs, memory and limits of the process ---------------------------------------------------------


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


def process(
    cores: int, usable: int, open_files: float | None, tasks: float | None, gigabases: float
) -> Iterator[Finding]:
    """Of what Snakemake was given, and of the largest sample's reads, against what this process may use.

    `open_files` is the hard limit, up to which each job raises its own; `tasks` processes and threads may be started.
    """
    if cores > usable:
        yield Finding(
            f"cores: Snakemake was given {cores}, and this process may use {usable} (affinity, control group, Slurm): "
            f"jobs will wait for each other, or share them; give --cores {usable}"
        )
    files = round(max(FILES_OF_GATK, FILES_A_GIGABASE * gigabases))
    if open_files is not None and open_files < files:
        yield Finding(
            f"open files: the hard limit is {open_files} (ulimit -Hn), and sorting, marking duplicates or joint "
            f"calling may need {files:,}: raise it (limits.conf, LimitNOFILE, docker run --ulimit nofile={files})"
        )
    if tasks is not None and tasks < TASKS_A_CORE * cores:
        yield Finding(
            f"processes: {tasks} more may be started (ulimit -u, pids.max), and jobs on {cores} cores have up to "
            f"{TASKS_A_CORE * cores:,} processes and threads: raise the limit, or give fewer --cores"
        )


# ---- folders ----------------------------------------------------------------------------------------


def folders(paths: Iterable[str]) -> Iterator[Finding]:
    """Of folders that a run writes to, and can't."""
    for path in paths:
        if fault := fault_of(standing(path)):
            yield Finding(f"{path}: a run writes here, and {fault}", True)


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
    """Estimated bytes in a folder: what all samples will leave there, and what each has there besides while at work."""

    folder: str
    left: float
    more: Sequence[float]


def disk(wanted: Iterable[Wanted], at_once: int, within: float, free: Callable[[str], float]) -> Iterator[Finding]:
    """Against what is free on each folder's file system, where so many samples are at work at once.

    An error is what has no room one sample after the other, and not even where estimates are `within` times too large.
    """
    for each in wanted:
        there, more = free(each.folder), sorted(each.more, reverse=True)[:at_once]
        where = f"disk: {each.folder} has {size(there)} free"
        left = f"{counted(len(each.more))} will leave about {size(each.left)} there, and " if each.left else ""
        one = f"{where}; {left}a sample at work takes up to {size(max(more, default=0))} more"
        if there < NOTHING:
            yield Finding(f"{where}: free some, or run elsewhere", True)
        elif there < (each.left + max(more, default=0)) / within:
            yield Finding(f"{one}: free some, or run elsewhere (GPD_PREFLIGHT=none starts all the same)", True)
        elif there < each.left + max(more, default=0):
            yield Finding(f"{one}: free some, or jobs may fail")
        elif there < each.left + sum(more):
            yield Finding(
                f"{where}; {left}{counted(len(more))} at work at once take up to {size(sum(more))} more: free some, or "
                "give fewer --cores, or jobs may fail"
            )


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
