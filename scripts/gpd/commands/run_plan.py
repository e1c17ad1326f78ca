"""What a dry run shows: the table of its jobs, and what disk, time and memory they will need."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from gpd.execution import snakemake_log
from gpd.execution.configuration import Configuration
from gpd.execution.snakemake_log import PlannedJob
from gpd.paths import ROOT
from gpd.processes import ask
from gpd.text.formats import in_gigabytes, number

ESTIMATE = ROOT / "workflow" / "scripts" / "resources" / "needs.py"
LEAST_HOURS = 0.1  # that are told as a number
INDEXES = {"bwa_index", "hisat2_index", "bowtie2_index"}  # rules


def lines(
    configured: Callable[[], Configuration | None], directory: Path, cores: int | None, output: Sequence[str]
) -> list[str]:
    """The table of the jobs and two lines of what they need; Snakemake's own lines where there are no jobs."""
    table = snakemake_log.job_table(output)
    found = configured() if table else None
    if not found:
        return snakemake_log.plan(output)
    jobs = snakemake_log.planned_jobs(output)
    needs = estimate(jobs, found, directory, cores)
    return [*table, *needs_lines(needs, jobs, directory, cores), "--verbose shows each job"]


def estimate(
    jobs: Sequence[PlannedJob], configured: Configuration, directory: Path, cores: int | None
) -> Mapping[str, float]:
    """What the workflow's script says that jobs need, in bytes and seconds. Raises ProcessError."""
    units: dict[str, list[Mapping[str, str]]] = {}
    for row in configured.units:
        units.setdefault(row["sample_name"], []).append(row)
    plan = {"config": configured.config, "samples": units, "jobs": list(map(asdict, jobs)), "cores": cores}
    return ask(ESTIMATE, plan, cwd=directory)


def needs_lines(
    needs: Mapping[str, float], jobs: Sequence[PlannedJob], directory: Path, cores: int | None
) -> Iterator[str]:
    """Disk in one line; time and memory in another."""
    free = in_gigabytes(shutil.disk_usage(directory).free)
    at_work = f", up to {in_gigabytes(needs['at_work'])} more for each sample at work" if needs["at_work"] else ""
    yield f"disk: about {in_gigabytes(needs['kept'])} more in the end{at_work}; {free} are free"
    wall = f", {hours(max(needs['core_s'] / cores, needs['chain_s']))} on {cores} cores" if cores else ""
    without = ", without indexes" if INDEXES & {job.rule for job in jobs} else ""
    memory = max((job.mem_mb or 0 for job in jobs), default=0)
    most = f"; memory: up to {in_gigabytes(memory * 1e6)} a job" if memory else ""
    yield f"time: {hours(needs['core_s'], 'core hours')}{wall} (your CPUs may take half or twice of it{without}){most}"


def hours(seconds: float, unit: str = "hours") -> str:
    found = seconds / 3600
    return f"about {number(found, 2)} {unit}" if found >= LEAST_HOURS else f"less than {LEAST_HOURS} {unit}"
