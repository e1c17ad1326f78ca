"""How much more a run may take: CPUs that nobody has or waits for, within what the run was given, and their memory."""

import os
import time

from launcher.allocate import units
from launcher.journal import noted
from launcher.lease import free_units
from launcher.limits import limits
from launcher.node import slurm_job_id
from launcher.runtime import open_file
from launcher.topology import machine_cores, parse_cpus

SETTLED_S = 0.5  # Snakemake starts the next job within less
LAST = "qc"  # the step of jobs that nothing waits for: where one runs, no other job of the run was ready to


def spare(runtime, settings, soon=False):
    """Return how many more jobs of one thread this run could start now, each with the memory of its rule.

    With `soon`, when its jobs of the step LAST are over, as if they were short.
    """
    jobs = [notes for notes in noted(runtime) if shares_grant(notes["record"])]
    ending = [job for job in jobs if soon and (job["ledger"], job["record"]["step"]) == (settings.ledger, LAST)]
    jobs = [job for job in jobs if job not in ending]
    if any(notes["record"]["cpus"] is None and notes["record"]["binding"] != "none" for notes in jobs):
        return 0  # somebody waits for CPUs, or is just about to take them
    allowed = os.sched_getaffinity(0)
    leased = {job["record"]["id"]: width(job) for job in jobs}
    own = [job["record"] for job in jobs if job["ledger"] == settings.ledger]
    fd = open_file(f"{runtime}/cpus")
    try:
        free = len(free_units(runtime, fd, units(machine_cores(runtime, allowed), settings.smt)))
    finally:
        os.close(fd)
    bounds = limits()
    rooms = [free + sum(map(width, ending)), int(bounds["cpus"]) - sum(leased.values())]
    if settings.run_cores:
        rooms.append(settings.run_cores - sum(leased[record["id"]] for record in own))
    if settings.mem_mb:
        taken = sum(job["record"]["mem_mb"] or 0 for job in jobs)
        rooms.append((bounds["memory_mib"] - taken) // settings.mem_mb)
        if settings.run_mem_mb:
            rooms.append((settings.run_mem_mb - sum(record["mem_mb"] or 0 for record in own)) // settings.mem_mb)
    return max(0, int(min(rooms)))


def width(job):
    """Return how many CPUs a job has; none while it waits for some."""
    return len(parse_cpus(job["record"]["cpus"] or ""))


def shares_grant(record):
    """Tell whether a job takes of what we may take of: in a Slurm job that is what this one was granted."""
    return slurm_job_id() is None or record.get("slurm_job_id") == slurm_job_id()


def settled_spare(runtime, settings):
    """Return what is spare and stays so: between the end of one job and the start of the next CPUs look idle."""
    first = spare(runtime, settings, soon=True)
    if first <= 1:
        return first
    time.sleep(SETTLED_S)
    return min(first, spare(runtime, settings, soon=True))
