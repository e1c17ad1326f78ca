"""Run one job: the wrapper is the process that was called. It takes the allocation and attends to the supervisor."""

import fcntl
import os
import signal
import time

from .attempt import Attempt
from .cpu_allocation import Allocation, acquire
from .files import input_fault
from .journal import recover
from .ledger import utc
from .measure import cpu_seconds
from .node import own_ledger
from .own_parts import OwnParts
from .processes import has_children, reap
from .requester import ENDINGS, Ended, Requester, end_if_gone
from .runtime import FULL, make_folder, runtime_dir
from .supervisor import Ending, keep
from .system import PDEATHSIG, SUBREAPER, LauncherError, open_plain, prctl, say
from .topology import format_cpus, parse_cpus

LOOK_S = 2.0  # how often a wrapper looks whether Snakemake is still there


def run(settings):
    """Run one job, its command on stdin; return its exit code."""
    return as_owner(begun(settings))


def begun(settings, command=None, requester=None):
    """Return an attempt at a job, its command on stdin if not given; from now on it is known that it is not over."""
    for name in ("step", "rule", "log") if command is None else ():
        if not getattr(settings, name):
            raise LauncherError(f"--{name} is missing; see launcher --help")
    requester = requester or Requester(settings.asked_by)
    settings.ledger = own_ledger(settings.ledger)
    runtime = runtime_dir()
    # systemd-tmpfiles leaves alone what lies in a locked folder, however old it is
    folder = os.open(runtime, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_SH)
    except OSError as error:
        why = f"cannot be locked ({error.strerror}), as allocations need it"
        raise LauncherError(f"{runtime}: {why}; set GPD_RUNTIME_DIR to a folder on a disk of this machine") from error
    recover(runtime)
    if command is None:
        with open(0, "rb", closefd=False) as stdin:
            command = os.fsdecode(stdin.read())
    return Attempt(settings, command, requester, runtime)


def as_owner(attempt):
    """Make the job's outputs, as the only launcher that does on any node; return the exit code."""
    settings, outputs, awaited = attempt.settings, None, "CPUs"
    try:
        heed_signals()
        # else it is not known by what, or it is a part of a job, which is their owner
        if (settings.owner or settings.log) and not settings.id and "GPD_JOB" not in os.environ:
            from .output_lock import OutputLock

            outputs, awaited = OutputLock(attempt), "another run's job at its outputs"
            outputs.claim()
            awaited = "CPUs"
        code = retried(attempt) or run_attempt(attempt)
    except Ended as end:
        code = end_waiting(attempt, end, awaited)
    except (LauncherError, OSError) as error:
        full = getattr(error, "errno", None) in FULL
        code = attempt.finish("disk_full" if full else "launcher_error", str(error), 1)
    if outputs:
        outputs.release(code)
    return code


def retried(attempt):
    """Return the exit code of an attempt that cannot do better than the one before, else 0."""
    if attempt.settings.attempt == 1 or attempt.settings.retries == "all":
        return 0
    from .retry import refusal

    refused = refusal(attempt.settings)
    return attempt.finish(*refused, 1) if refused else 0


def end_waiting(attempt, end, what):
    """Record that an attempt was ended while it waited for something; return the exit code."""
    attempt.record["signal"] = int(end.signum)
    from .diagnose import by_slurm

    cause, why = by_slurm() or ("killed", attempt.requester.gone_soon() or end.why)
    return attempt.finish(cause, f"{why} while it waited for {what}", 128 + end.signum)


def heed_signals():
    """Have signals end the wait for CPUs, and the death of our caller end the job."""
    for signum in ENDINGS:
        signal.signal(signum, raise_ended)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, it would make children vanish unmeasured
    prctl(PDEATHSIG, signal.SIGTERM)


def raise_ended(signum, _frame):
    """Turn a signal into an exception, while waiting; one is enough."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)
    raise Ended(signum)


def run_attempt(attempt):
    """Run one job, once nothing stands in its way; return its exit code. Raises Ended, LauncherError and OSError."""
    settings, record = attempt.settings, attempt.record
    if "GPD_JOB" in os.environ:  # within another job (Snakemake run by a job) there is nothing to allocate
        settings.binding = "none"
    log_fd = 2 if settings.shell else own_log(settings.log)
    make_folder(attempt.folder)
    if fault := input_fault(settings.inputs, log_fd):
        return attempt.finish("broken_input", fault, 1)
    bound = settings.binding != "none"
    allocation = allocated(attempt) if bound else Allocation()
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS | {signal.SIGCHLD})
    end_if_gone(attempt.requester)
    record.update(binding=settings.binding, split=allocation.split, wait_s=attempt.waited_s())
    record["cpus"] = format_cpus(allocation.cpus) if bound else None
    return attend(start_supervisor(attempt, log_fd, allocation), attempt)


def own_log(path):
    """Return the descriptor of a job's log, emptied of what an earlier attempt wrote."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    return open_plain(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)


def allocated(attempt):
    """Return CPUs of the job's own, or those that its gang holds."""
    settings = attempt.settings
    if not settings.cpus:
        return acquire(attempt.runtime, settings, attempt.requester)
    cpus = parse_cpus(settings.cpus)
    return Allocation(cpus, cpus, split=False)


def start_supervisor(attempt, log_fd, allocation):
    """Start the supervisor; return its pid."""
    prctl(SUBREAPER, 1)
    supervisor = os.fork()
    if supervisor == 0:
        code = 1
        try:
            code = keep(attempt, log_fd, allocation)
        except Exception as error:
            say(f"launcher: {type(error).__name__}: {error}")
            os.kill(os.getpid(), signal.SIGKILL)  # the wrapper takes over
        finally:
            os._exit(code)
    return supervisor


def attend(supervisor, attempt):
    """Be the wrapper while the job runs: pass on signals, end it with Snakemake, return the exit code."""
    while True:
        caught = signal.sigtimedwait(ENDINGS | {signal.SIGCHLD}, LOOK_S)
        ended = os.waitid(os.P_PID, supervisor, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended:
            break
        if caught and caught.si_signo in ENDINGS:
            os.kill(supervisor, caught.si_signo)
        elif attempt.requester.gone():
            os.kill(supervisor, signal.SIGTERM)
    _, _, usage = os.wait4(supervisor, 0)
    if ended.si_code == os.CLD_EXITED:
        return ended.si_status
    return take_over(ended.si_status, usage, attempt)


def take_over(signum, usage, attempt):
    """The supervisor was killed: its processes are ours now. End them, and record what is known.

    `usage`: what the supervisor used, and processes that it had waited for.
    """
    user, system, parts = usage.ru_utime, usage.ru_stime, OwnParts(attempt.journal)
    parts.look()
    ending = Ending(parts)
    ending.begin("supervisor")
    while has_children():
        signal.sigtimedwait({signal.SIGCHLD}, min(0.1, ending.next_s()))
        for pid, _, usage in reap():
            if not parts.took(pid):
                user, system = user + usage.ru_utime, system + usage.ru_stime
        ending.press()
    record, code = attempt.record, 128 + signum
    if not os.path.exists(attempt.journal.path):
        return code  # the supervisor had written the record
    notes = attempt.journal.notes() or {"record": record}
    record.update(notes["record"], end=utc(time.time_ns()), signal=signum)
    user, system, _ = parts.taken_off(user, system, 0)
    if record["uptime_s"] is not None:
        record.update(wall_s=round(time.monotonic() - record["uptime_s"], 6), **cpu_seconds(user, system))
    return attempt.finish("killed", "the job's supervisor was killed", code, once=True)
