"""One attempt at a job: what was asked for, what is known of it so far, and how it is recorded."""

import os
import time

from .journal import Journal
from .ledger import append, new_record
from .processes import rss_mib
from .runtime import place, remove_folder
from .system import say
from .topology import format_cpus

# what a job's parts (parts.py) have of it, beside what its record says
FOR_PARTS = ("library", "local_storage", "stall_s", "run_cores", "run_mem_mb")
NEAR, GROWN = 0.9, 1.05  # memory is noted from this share of what was granted on, and again when there is so much more


class Attempt:
    """Wrapper and supervisor have one each: a fork parts them, and the journal has what the supervisor noted."""

    def __init__(self, settings, command, requester, runtime):
        self.settings, self.command, self.requester, self.runtime = settings, command, requester, runtime
        self.began = time.monotonic()
        self.record = new_record(settings)
        self.folder = os.path.abspath(f"{place()}/gpd-job-{os.urandom(8).hex()}")  # that cannot be guessed
        self.journal = Journal(runtime, self.record)
        self.noted_mib = 0
        # the CPUs before any were taken: some of its parts may run on others than its own
        self.for_parts = {"allowed": format_cpus(os.sched_getaffinity(0))}
        self.for_parts |= {name: getattr(settings, name) for name in FOR_PARTS}
        self.note()

    def waited_s(self):
        """Return how long it has waited for its outputs and CPUs."""
        return round(time.monotonic() - self.began, 6)

    @property
    def name(self):
        """What people call the job."""
        return " ".join([self.settings.step, *self.record["wildcards"].values()])

    def note(self, awaits=None):
        """Note the record as it is now, in case that all of us are killed. `awaits`: what, if not CPUs."""
        self.journal.write(self.record, self.settings.ledger, self.folder, awaits, self.for_parts)

    def note_memory(self, job_mib):
        """Note that the job comes near the memory that Slurm granted: one kind of limit kills all of us at its end."""
        granted_mib = self.settings.mem_mb
        if "SLURM_JOB_ID" not in os.environ or not granted_mib or job_mib < granted_mib / 2:
            return
        used_mib = job_mib + sum(map(rss_mib, self.requester.pids()))  # Slurm counts them, too
        if used_mib > max(NEAR * granted_mib, GROWN * self.noted_mib):
            self.noted_mib = used_mib
            self.journal.say(f"memory {used_mib:.0f} {granted_mib}")

    def finish(self, cause, message, code, once=False):
        """Write the record (see ledger.append), say what failed in one line, return the exit code."""
        record, settings = self.record, self.settings
        if cause == "killed" and os.path.exists(getattr(settings, "done", "")):  # a service that is not needed any more
            cause, message, code, record["signal"] = None, None, 0, None
        record.update(exit_code=code, cause=cause, message=message and message[:1000])
        if record["start"] is None:
            record["wait_s"] = self.waited_s()
        if cause:
            where = f" (log: {record['log']})" if record["log"] else ""
            say(f"{self.name}: {cause}: {record['message']}{where}")
        written = True
        try:
            append(settings.ledger, record, once)
        except OSError as error:  # the journal keeps the record until the ledger can take it
            written = False
            self.note()
            say(f"{settings.ledger}: the record of this job could not be written: {error.strerror}")
        remove_folder(self.folder)
        if written:
            self.journal.close()  # last: the process that finds it removes the rest of the folder
        return code
