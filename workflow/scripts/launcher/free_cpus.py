"""How much more a run may take: CPUs that nobody has or waits for, within what the run was given, and their memory."""

import fcntl
import os
import time
from binascii import crc32

from launcher.cpu_allocation import byte_lock, free_units, is_allocated
from launcher.cpu_choice import units
from launcher.cpu_queue import Releases
from launcher.journal import noted
from launcher.limits import limits
from launcher.node import slurm_job_id
from launcher.runtime import open_file
from launcher.topology import format_cpus, machine_cores, parse_cpus

SETTLED_S = 0.5  # Snakemake starts the next job within less, and what we start is noted
WATCH_S, TURN_S = 5.0, 2.0  # how long a step watches for releases, and how often another looks whether it is its turn
LAST = "qc"  # the step of jobs that nothing waits for: where one runs, no other job of the run was ready to


def spare(runtime, settings, soon=False):
    """Return how many more jobs of one thread this run could start now, each with the memory of its rule.

    With `soon`, when its jobs of the step LAST are over, as if they were short. Where all CPUs are allocated no journal
    is read. The file of allocations is opened for reading: Releases would report the close of a writable one.
    """
    allowed = os.sched_getaffinity(0)
    fd = os.open(f"{runtime}/cpus", os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        every = units(machine_cores(runtime, allowed), settings.smt)
        every = [unit for unit in every if not any(is_allocated(fd, cpu) for cpu in unit.held)]
        if not every and not soon:
            return 0
        free = len(free_units(runtime, fd, every))
    finally:
        os.close(fd)
    jobs = [notes for notes in noted(runtime) if shares_grant(notes["record"])]
    ending = [job for job in jobs if soon and (job["ledger"], job["record"]["step"]) == (settings.ledger, LAST)]
    jobs = [job for job in jobs if job not in ending]
    if any(notes["record"]["cpus"] is None and notes["record"]["binding"] != "none" for notes in jobs):
        return 0  # somebody waits for CPUs, or is just about to take them
    allocated = {job["record"]["id"]: width(job) for job in jobs}
    own = [job["record"] for job in jobs if job["ledger"] == settings.ledger]
    bounds = limits()
    rooms = [free + sum(map(width, ending)), int(bounds["cpus"]) - sum(allocated.values())]
    if settings.run_cores:
        rooms.append(settings.run_cores - sum(allocated[record["id"]] for record in own))
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


class Lookout:
    """Tells a step whose pieces wait how many more may start now, without a look at all jobs again and again.

    One step of a run at a time watches for releases; a lock says which. It looks when what Snakemake starts next has
    had time to take what was released, and what it has started itself is noted. Later it is another step's turn.
    At first, and for the places of its own pieces that have ended, a step looks at once, whoever watches.
    """

    def __init__(self, runtime, settings, pieces):
        self.runtime, self.settings = runtime, settings
        run = f"{settings.ledger} {format_cpus(os.sched_getaffinity(0))} {slurm_job_id()}"
        self.fd, self.byte, self.is_watching = open_file(f"{runtime}/spare"), crc32(os.fsencode(run)), False
        self.due, self.until, self.places = 0.0, 0.0, pieces
        self.releases = Releases(f"{runtime}/cpus")

    def room(self):
        """Return how many more pieces may start; 0 where it is not time to look, or another step watches."""
        if self.places:
            found, self.places = min(self.places, spare(self.runtime, self.settings)), 0
            self.due = max(self.due, time.monotonic() + SETTLED_S)
            return found
        if time.monotonic() < self.due or not (self.is_watching or self.watch()):
            return 0
        found = spare(self.runtime, self.settings)
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
        if self.releases.fd is None:
            self.releases.signal()
        return True

    def released(self):
        """Take note of SIGIO."""
        self.releases.heard()
        self.due = min(self.due, time.monotonic() + SETTLED_S)

    def rest(self):
        """No piece waits: leave the watch to others once what was started is noted."""
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
