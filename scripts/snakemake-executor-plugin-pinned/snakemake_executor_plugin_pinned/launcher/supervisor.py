"""The supervisor: the process that starts the job's command, watches and measures it, and writes its record."""

import os
import signal
import time
from collections import namedtuple
from functools import partial

from .command import start_shell
from .failed_writes import Notes
from .files import full_disk, output_fault, shared_files
from .ledger import utc
from .measure import LONGEST_S, Meter
from .own_parts import OwnParts
from .processes import descendants, end_tree, has_children, io_counts, reap, stat_fields
from .requester import ENDINGS
from .system import PDEATHSIG, SUBREAPER, TICK_S, LauncherError, prctl

LINGER_S = 10.0  # what a finished command leaves running may stay so long
GRACE_S = 8.0  # between SIGTERM and SIGKILL: ten seconds after a Ctrl-C nothing is left
PARTS_S = 1.5  # that launchers of parts have more, to kill what they run and to record it
IDLE_SHARE = 0.005  # of a CPU, which an idle JVM takes
Outcome = namedtuple("Outcome", "status ended usage maxrss wall_s")
Outcome.__doc__ = "bash's wait status, why the job was ended, (user, system) CPU s, largest process in bytes, s."


def keep(attempt, log_fd, allocation):
    """Be the supervisor: run the job, record it, return its exit code."""
    settle(attempt.requester, allocation)
    began, start_ns = time.monotonic(), time.time_ns()
    attempt.record.update(start=utc(start_ns), uptime_s=round(began, 6))
    attempt.note()
    try:
        meter = Meter(allocation, attempt.note_memory, attempt.folder, OwnParts(attempt.journal))
        notes = Notes(attempt.settings)
        output = output_of(attempt, log_fd)
        shell, policy = start_shell(attempt, output, allocation, notes.preload())
        if output not in (log_fd, None):
            os.close(output)  # else the process that passes it on would wait for us
    except (LauncherError, OSError) as error:
        return attempt.finish("launcher_error", str(error), 127)
    meter.sample()
    import hashlib
    import json  # noqa: F401 (for the record; the job runs meanwhile)

    digest = hashlib.sha256(os.fsencode(attempt.command)).hexdigest()
    attempt.record.update(memory_applied=policy, command_sha256=digest)
    outcome = supervise(shell, meter, attempt.settings.stall_s, began, attempt.requester)
    attempt.record.update(meter.measured(outcome, start_ns))
    attempt.record.update(meter.parts.fields(attempt.record))
    return conclude(attempt, outcome, meter, log_fd, notes)


def output_of(attempt, log_fd):
    """Return where the job's output goes: to its log, as Snakemake has it, or to what keeps the end of stderr."""
    settings = attempt.settings
    if not settings.shell:
        return log_fd
    if not settings.keeps_stderr:
        return None
    from .kept_stderr import keep_stderr

    settings.stderr = f"{attempt.folder}/.stderr"  # for diagnose.py
    return keep_stderr(settings.stderr)


def settle(requester, allocation):
    """Take the supervisor's place: parent of what the job leaves behind, on its CPUs, and never without the wrapper."""
    os.setsid()  # a Ctrl-C on the terminal reaches the wrapper, which passes it on
    prctl(SUBREAPER, 1)
    prctl(PDEATHSIG, signal.SIGTERM)
    if os.getppid() != requester.wrapper:
        os.kill(os.getpid(), signal.SIGTERM)  # pending until supervise() looks
    if allocation.cpus is not None:
        os.sched_setaffinity(0, allocation.cpus)


class Stall:
    """Notices that a job does nothing: under IDLE_SHARE of a CPU, not a byte moved."""

    def __init__(self, limit_s):
        self.limit_s = limit_s
        self.since, self.cpu_s, self.moved = time.monotonic(), 0.0, 0
        self.next_look = self.since

    def is_stalled(self, reaped_cpu_s):
        """Look, at most ten times within the limit, whether anything happened."""
        now = time.monotonic()
        if not self.limit_s or now < self.next_look:
            return False
        self.next_look = now + self.limit_s / 10
        pids = descendants(os.getpid())
        cpu_s = reaped_cpu_s + sum(sum(map(int, stat_fields(pid)[11:15])) for pid in pids) * TICK_S
        moved = sum(sum(io_counts(pid)[:2]) for pid in pids) + sum(io_counts("self")[2:4])
        if cpu_s - self.cpu_s > IDLE_SHARE * (now - self.since) + TICK_S or moved != self.moved:
            self.since, self.cpu_s, self.moved = now, cpu_s, moved
        return now - self.since >= self.limit_s


class Ending:
    """Ends a job's processes: SIGTERM first, SIGKILL after a time of grace, until all are gone."""

    def __init__(self, parts=None):
        self.reason, self.kill_at, self.parts = None, None, parts
        self.is_asked = False  # by a signal

    def begin(self, reason):
        """Ask the processes to end, once."""
        if self.kill_at is None:
            more_s = PARTS_S if self.parts and self.parts.starters else 0
            self.reason, self.kill_at = reason, time.monotonic() + GRACE_S + more_s
            end_tree(signal.SIGTERM)

    def press(self):
        """Kill processes that have not gone in time."""
        if self.kill_at is not None and time.monotonic() >= self.kill_at:
            end_tree(signal.SIGKILL)

    def next_s(self):
        """Return in how many seconds `press` has something to do."""
        return LONGEST_S if self.kill_at is None else max(0.01, self.kill_at - time.monotonic())


def supervise(shell, meter, stall_s, began, requester):
    """Watch the job until its last process is gone, and add up what it used.

    The supervisor is a subreaper: what outlives its parent becomes the supervisor's child, and is waited for and
    counted too. Processes that a command leaves behind are ended, after some seconds if it succeeded, at once
    if it did not.
    """
    ending, stall = Ending(meter.parts), Stall(stall_s)
    status, linger_until = None, None
    user = system = maxrss = 0
    while True:
        meter.sample()
        caught = signal.sigtimedwait(ENDINGS | {signal.SIGCHLD}, min(meter.interval_s, ending.next_s()))
        stall.since += meter.note_pause()
        if caught and caught.si_signo in ENDINGS:
            ending.begin(f"{signal.Signals(caught.si_signo).name} to the launcher")
            if not ending.is_asked:
                meter.parts.journal.say(f"ended {ending.reason}")  # we may be killed before the job is over
            ending.is_asked = True
        for pid, exit_status, usage in reap():
            if meter.parts.took(pid):
                continue
            user, system = user + usage.ru_utime, system + usage.ru_stime
            maxrss = max(maxrss, usage.ru_maxrss)
            if pid == shell:
                status = exit_status
                linger_until = time.monotonic() + (LINGER_S if status == 0 else 0)
        if not has_children():
            wall_s = time.monotonic() - began
            user, system, maxrss = meter.parts.taken_off(user, system, maxrss)
            reason = (ending.is_asked and requester.gone_soon()) or ending.reason
            return Outcome(status, reason, (user, system), maxrss * 1024, wall_s)
        if linger_until is not None and time.monotonic() >= linger_until:
            ending.begin(None)
        if stall.is_stalled(user + system):
            ending.begin("stalled")
        ending.press()


def conclude(attempt, outcome, meter, log_fd, notes):
    """Say what came of the job, record it, return its exit code."""
    if os.getppid() != attempt.requester.wrapper:
        outcome = outcome._replace(ended="the launcher was killed")
    outputs, code = attempt.settings.outputs, os.waitstatus_to_exitcode(outcome.status)
    code = 128 - code if code < 0 else code  # as a shell says it
    if code == 0 and outcome.ended:
        code = 128 + signal.SIGTERM  # what was ended never counts as success
    code = code or int(notes.failed_write() is not None)
    attempt.record.update(shared_files(attempt.settings))
    attempt.record["signal"] = code - 128 if 128 < code <= 128 + 64 else None
    cause, message = None, None
    if code:
        cause, message = why_failed(attempt, outcome, meter, code, notes)
    elif fault := output_fault(outputs, log_fd):
        (cause, message), code = fault, 1
    return attempt.finish(cause, message, code)


def why_failed(attempt, outcome, meter, code, notes):
    """Return (cause, message) of a failure: that of a part, which knows most of it, if one failed."""
    if not outcome.ended and (failure := meter.parts.failure()):
        return failure
    from .diagnose import diagnose

    statuses, settings = attempt.journal.statuses(), attempt.settings
    find_full_disk = partial(full_disk, [*settings.outputs, settings.log])
    return diagnose(code, outcome.ended, settings, meter.ooms(), statuses, find_full_disk, notes)
