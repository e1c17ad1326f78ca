"""How many more jobs a run may start: on CPUs that no job has or waits for, within its cores and memory."""

import fcntl
import os
import time
from binascii import crc32

from .cpu_allocation import Releases, byte_lock, free_units
from .cpu_choice import units
from .journal import unfinished
from .limits import limits
from .node import slurm_job_id
from .runtime import open_file
from .topology import format_cpus, machine_cores, parse_cpus

SETTLED_S = 0.5  # Snakemake starts the next job within less, and what we start is noted
WATCH_S, TURN_S = 5.0, 2.0  # how long a step watches for releases, and how often another looks whether it is its turn
LAST = "qc"  # the step of jobs that nothing waits for: where one runs, no other job of the run was ready to


def spare(runtime, settings, soon=False, held=0):
    """Return how many more jobs of one thread this run could start now, each with the memory of its rule.

    With `soon`, when its jobs of the step LAST are over, as if they were short. `held`: CPUs that the caller has and
    leaves idle, for which there must be memory alone. `settings.allowed`: the CPUs that the run may use; the caller is
    bound to those of its job. Where all CPUs are allocated no journal is read. The file of allocations is opened for
    reading: Releases would report the close of a writable one.
    """
    allowed = settings.allowed
    fd = open_file(f"{runtime}/cpus", access=os.O_RDONLY)
    try:
        free = len(free_units(fd, units(machine_cores(runtime, allowed), settings.smt)))
    finally:
        os.close(fd)
    if not free and not held and not soon:
        return 0
    jobs = [job for job in unfinished(runtime) if slurm_job_id() in (None, job["record"].get("slurm_job_id"))]
    jobs = [job for job in jobs if not job.get("awaits")]  # another run, for hours maybe
    ending = [job for job in jobs if soon and (job["ledger"], job["record"]["step"]) == (settings.ledger, LAST)]
    jobs = [job for job in jobs if job not in ending]
    own = [job for job in jobs if job["ledger"] == settings.ledger]
    bounds = limits(affinity=allowed)
    rooms = [free + allocated(ending), int(bounds["cpus"]) - allocated(jobs)]
    if settings.run_cores:
        rooms.append(settings.run_cores - allocated(own))
    if any(job["record"]["cpus"] is None and job["record"]["binding"] != "none" for job in jobs):
        rooms = [0]  # a job waits for CPUs, or is just about to take them
    rooms = [max(0, min(rooms)) + held]
    if settings.mem_mb:
        rooms.append((bounds["memory_mib"] - requested_mb(jobs)) // settings.mem_mb)
        if settings.run_mem_mb:
            rooms.append((settings.run_mem_mb - requested_mb(own)) // settings.mem_mb)
    return max(0, int(min(rooms)))


def allocated(jobs):
    """Return how many CPUs jobs have; one that waits has none, and a part may have one of the job around it."""
    return len(set().union(*(parse_cpus(job["record"]["cpus"] or "") for job in jobs)))


def requested_mb(jobs):
    """Return how much memory jobs asked for; what parts have that run on the CPUs of a job, that job has asked for."""
    asked = {job["record"]["id"]: job["record"]["mem_mb"] or 0 for job in jobs}
    of_parts = dict.fromkeys(asked, 0)
    for job in jobs:
        around = job["record"].get("gang")
        if around in asked and around != job["record"]["id"]:
            of_parts[around] += asked.pop(job["record"]["id"])
    return sum(max(mem_mb, of_parts[job_id]) for job_id, mem_mb in asked.items())


def settled_spare(runtime, settings, held=0):
    """Return what is spare and stays so: between the end of one job and the start of the next CPUs look idle."""
    first = spare(runtime, settings, soon=True, held=held)
    if not first:
        return 0
    time.sleep(SETTLED_S)
    return min(first, spare(runtime, settings, soon=True, held=held))


class SpareCpus:
    """Tells a step whose shards wait how many more may start now, without a look at all jobs again and again.

    One step of a run at a time watches for releases; a lock says which. It looks when what Snakemake starts next has
    had time to take what was released, and what it has started itself is noted. Later it is another step's turn.
    At first, and for the places of its own shards that have ended, a step looks at once, watched or not.
    """

    def __init__(self, runtime, settings, shards):
        self.runtime, self.settings = runtime, settings
        run = f"{settings.ledger} {format_cpus(settings.allowed)} {slurm_job_id()}"
        self.fd, self.byte, self.is_watching = open_file(f"{runtime}/spare"), crc32(os.fsencode(run)), False
        self.due, self.until, self.ended = 0.0, 0.0, shards
        self.releases = None

    def room(self, held=0):
        """Return how many more shards may start; 0 where it is not time to look, or another step watches."""
        if self.ended:
            found, self.ended = min(self.ended, spare(self.runtime, self.settings, held=held)), 0
            self.due = max(self.due, time.monotonic() + SETTLED_S)
            return found
        if time.monotonic() < self.due or not (self.is_watching or self.watch()):
            return 0
        found = spare(self.runtime, self.settings, held=held)
        if found:
            self.due = time.monotonic() + SETTLED_S
        elif time.monotonic() < self.until:
            self.due = self.until
        else:
            self.leave()
        return found

    def watch(self):
        """Tell whether it is our turn to watch; if so, begin."""
        try:
            byte_lock(self.fd, fcntl.F_OFD_SETLK, fcntl.F_WRLCK, self.byte)
        except OSError:
            self.due = time.monotonic() + TURN_S
            return False
        self.is_watching, self.until = True, time.monotonic() + WATCH_S
        self.releases = self.releases or Releases(f"{self.runtime}/cpus", signals=True)
        return True

    def released(self):
        """Take note of SIGIO."""
        self.releases.heard()
        self.due = min(self.due, time.monotonic() + SETTLED_S)

    def rest(self):
        """No shard waits: leave the watch to others once what was started is noted."""
        if time.monotonic() >= self.due:
            self.leave()

    def leave(self):
        """Leave the watch to others."""
        if self.is_watching:
            byte_lock(self.fd, fcntl.F_OFD_SETLK, fcntl.F_UNLCK, self.byte)
        self.is_watching, self.due = False, time.monotonic() + TURN_S

    def next_s(self):
        """Return in how many seconds there is something to do."""
        return max(0.0, self.due - time.monotonic())
