"""How many more jobs a run may start: on CPUs that nobody has or waits for, within its cores and memory."""

import fcntl
import os
import time
from binascii import crc32

from launcher.cpu_allocation import byte_lock, free_units
from launcher.cpu_choice import units
from launcher.journal import unfinished
from launcher.limits import limits
from launcher.node import slurm_job_id
from launcher.runtime import open_file
from launcher.topology import format_cpus, machine_cores, parse_cpus

SETTLED_S = 0.5  # Snakemake starts the next job within less
LOOK_S = 1.0  # how often a step looks whose shards wait
LAST = "qc"  # the step of jobs that nothing waits for: where one runs, no other job of the run was ready to


def spare(runtime, settings, soon=False):
    """Return how many more jobs of one thread this run could start now, each with the memory of its rule.

    With `soon`, when its jobs of the step LAST are over, as if they were short. Where all CPUs are allocated no journal
    is read. The file of allocations is opened for reading: Releases would report the close of a writable one.
    """
    allowed = os.sched_getaffinity(0)
    fd = open_file(f"{runtime}/cpus", access=os.O_RDONLY)
    try:
        free = len(free_units(fd, units(machine_cores(runtime, allowed), settings.smt)))
    finally:
        os.close(fd)
    if not free and not soon:
        return 0
    jobs = [job for job in unfinished(runtime) if slurm_job_id() in (None, job["record"].get("slurm_job_id"))]
    ending = [job for job in jobs if soon and (job["ledger"], job["record"]["step"]) == (settings.ledger, LAST)]
    jobs = [job for job in jobs if job not in ending]
    if any(job["record"]["cpus"] is None and job["record"]["binding"] != "none" for job in jobs):
        return 0  # somebody waits for CPUs, or is just about to take them
    own = [job for job in jobs if job["ledger"] == settings.ledger]
    bounds = limits()
    rooms = [free + allocated(ending), int(bounds["cpus"]) - allocated(jobs)]
    if settings.run_cores:
        rooms.append(settings.run_cores - allocated(own))
    if settings.mem_mb:
        rooms.append((bounds["memory_mib"] - requested_mb(jobs)) // settings.mem_mb)
        if settings.run_mem_mb:
            rooms.append((settings.run_mem_mb - requested_mb(own)) // settings.mem_mb)
    return max(0, int(min(rooms)))


def allocated(jobs):
    """Return how many CPUs jobs have; one that waits has none."""
    return sum(len(parse_cpus(job["record"]["cpus"] or "")) for job in jobs)


def requested_mb(jobs):
    """Return how much memory jobs asked for."""
    return sum(job["record"]["mem_mb"] or 0 for job in jobs)


def settled_spare(runtime, settings):
    """Return what is spare and stays so: between the end of one job and the start of the next CPUs look idle."""
    first = spare(runtime, settings, soon=True)
    if first <= 1:
        return first
    time.sleep(SETTLED_S)
    return min(first, spare(runtime, settings, soon=True))


class SpareCpus:
    """Tells a step whose shards wait how many more may start now.

    Some at once, where its own shards have ended; else those for which there is room in two looks. Between the two a
    lock keeps the run's other steps from looking, so that no two of them start shards on the same CPUs.
    """

    def __init__(self, runtime, settings, shards):
        self.runtime, self.settings = runtime, settings
        run = f"{settings.ledger} {format_cpus(os.sched_getaffinity(0))} {slurm_job_id()}"
        self.fd, self.byte = open_file(f"{runtime}/spare"), crc32(os.fsencode(run))
        self.ended, self.seen, self.due = shards, 0, 0.0

    def room(self):
        """Return how many more shards may start; 0 where it is not time to look, or another step looks."""
        if self.ended:
            found, self.ended = min(self.ended, spare(self.runtime, self.settings)), 0
            return found
        if time.monotonic() < self.due:
            return 0
        before, self.seen, self.due = self.seen, 0, time.monotonic() + LOOK_S
        if not before and not self.lock():
            return 0
        found = spare(self.runtime, self.settings)
        if found and not before:
            self.seen, self.due = found, time.monotonic() + SETTLED_S
            return 0
        self.unlock()
        return min(before, found)

    def lock(self):
        """Begin to look, unless another step of the run does."""
        try:
            byte_lock(self.fd, fcntl.F_OFD_SETLK, fcntl.F_WRLCK, self.byte)
        except OSError:
            return False
        return True

    def unlock(self):
        """Let other steps look."""
        byte_lock(self.fd, fcntl.F_OFD_SETLK, fcntl.F_UNLCK, self.byte)

    def next_s(self):
        """Return in how many seconds to look again."""
        return max(0.0, self.due - time.monotonic())
