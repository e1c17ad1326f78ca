"""The keeper: the process that starts the job's command, measures it and writes its record."""

import os
import signal
import time
from functools import partial

from launcher.cgroup import make_cgroup, planned_cgroups, remove_cgroups
from launcher.command import job_environment, sha256, start_shell
from launcher.files import full_disk, output_fault
from launcher.journal import finish
from launcher.ledger import utc
from launcher.measure import Sampler, cpu_times, foreign_load, kernel_oom_kills, measured, own_maxrss
from launcher.supervise import exit_code, supervise
from launcher.system import PDEATHSIG, SUBREAPER, LauncherError, prctl


def keep(record, journal, command, log_fd, settings, lease, requester):
    """Be the keeper: run the job, record it, return its exit code."""
    os.setsid()  # a Ctrl-C on the terminal reaches the front, which passes it on
    prctl(SUBREAPER, 1)
    prctl(PDEATHSIG, signal.SIGTERM)
    if os.getppid() != requester.front:
        os.kill(os.getpid(), signal.SIGTERM)  # pending until supervise() looks
    if lease.cpus is not None:
        os.sched_setaffinity(0, lease.cpus)
    planned = planned_cgroups(record["id"])
    began, start_ns = time.monotonic(), time.time_ns()
    record.update(start=utc(start_ns), uptime_s=round(began, 6))
    journal.write(record, settings.ledger, planned)
    cgroup = make_cgroup(planned)
    oom_before, floor = kernel_oom_kills(), own_maxrss()
    sampler = Sampler(lease.cpus, cgroup)
    cpus_before, own_before = cpu_times(lease.held), time.process_time()
    try:
        environment = job_environment(record, settings, lease)
        started = start_shell(command, log_fd, journal.fd, environment, settings, lease, cgroup)
        shell, spent, record["memory_applied"] = started
    except LauncherError as error:
        remove_cgroups(planned)
        return finish(record, journal, settings, "launcher_error", str(error), 127)
    sampler.sample()
    record["command_sha256"] = sha256(command)
    import json  # noqa: F401 (for append(); the job runs meanwhile)

    outcome = supervise(shell, sampler, settings.stall_s, began, requester)
    ours_s = sum(outcome.usage) + time.process_time() - own_before
    cpus_after = cpu_times(lease.held)
    usage = tuple(max(0.0, whole - part) for whole, part in zip(outcome.usage, spent, strict=True))
    outcome = outcome._replace(usage=usage)
    if os.getppid() != requester.front:
        outcome = outcome._replace(ended="the launcher was killed")
    measured(record, outcome, sampler, cgroup, floor, start_ns)
    if record["binding_ok"]:  # one that left its CPUs used others' time, too
        record.update(foreign_load(cpus_before, cpus_after, ours_s, outcome.wall_s, len(lease.cpus)))
    ooms = (cgroup.oom_kills() if cgroup else 0, kernel_oom_kills() - oom_before)
    remove_cgroups(planned)
    code = exit_code(outcome)
    record["signal"] = code - 128 if 128 < code <= 128 + 64 else None
    cause, message = None, None
    if code:
        from launcher.diagnose import diagnose

        cause, message = diagnose(
            code, outcome.ended, settings, ooms, journal.statuses(), lambda: full_disk(settings.outputs)
        )
    elif fault := output_fault(settings.outputs, log_fd):
        (cause, message), code = fault, 1
    return finish(record, journal, settings, cause, message, code)
