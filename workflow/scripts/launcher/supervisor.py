"""The supervisor: the process that starts the job's command, measures it and writes its record."""

import os
import signal
import time

from launcher.command import start_shell
from launcher.failed_writes import Notes
from launcher.files import full_disk, output_fault, shared_files
from launcher.job_watch import exit_code, supervise
from launcher.ledger import utc
from launcher.measure import Meter
from launcher.system import PDEATHSIG, SUBREAPER, LauncherError, prctl


def keep(attempt, log_fd, allocation):
    """Be the supervisor: run the job, record it, return its exit code."""
    settle(attempt.requester, allocation)
    began, start_ns = time.monotonic(), time.time_ns()
    attempt.record.update(start=utc(start_ns), uptime_s=round(began, 6))
    attempt.note()
    meter, notes = Meter(allocation, attempt.note_memory), Notes()
    try:
        shell, policy = start_shell(attempt, log_fd, allocation, notes.preload())
    except LauncherError as error:
        return attempt.finish("launcher_error", str(error), 127)
    meter.sampler.sample()
    import hashlib
    import json  # noqa: F401 (for the record; the job runs meanwhile)

    digest = hashlib.sha256(os.fsencode(attempt.command)).hexdigest()
    attempt.record.update(memory_applied=policy, command_sha256=digest)
    outcome = supervise(shell, meter.sampler, attempt.settings.stall_s, began, attempt.requester)
    attempt.record.update(meter.measured(outcome, start_ns))
    return conclude(attempt, outcome, meter.ooms(), log_fd, notes)


def settle(requester, allocation):
    """Take the supervisor's place: parent of what the job leaves behind, on its CPUs, and never without the wrapper."""
    os.setsid()  # a Ctrl-C on the terminal reaches the wrapper, which passes it on
    prctl(SUBREAPER, 1)
    prctl(PDEATHSIG, signal.SIGTERM)
    if os.getppid() != requester.wrapper:
        os.kill(os.getpid(), signal.SIGTERM)  # pending until supervise() looks
    if allocation.cpus is not None:
        os.sched_setaffinity(0, allocation.cpus)


def conclude(attempt, outcome, ooms, log_fd, notes):
    """Say what came of the job, record it, return its exit code."""
    if os.getppid() != attempt.requester.wrapper:
        outcome = outcome._replace(ended="the launcher was killed")
    outputs, code = attempt.settings.outputs, exit_code(outcome) or int(notes.failed_write() is not None)
    attempt.record.update(shared_files(attempt.settings))
    attempt.record["signal"] = code - 128 if 128 < code <= 128 + 64 else None
    cause, message = None, None
    if code:
        from launcher.diagnose import diagnose

        statuses, settings = attempt.journal.statuses(), attempt.settings
        cause, message = diagnose(code, outcome.ended, settings, ooms, statuses, lambda: full_disk(outputs), notes)
    elif fault := output_fault(outputs, log_fd):
        (cause, message), code = fault, 1
    return attempt.finish(cause, message, code)
