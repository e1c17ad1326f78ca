"""What the launcher tells without running a job: topology, limits, jobs that are not over; all as JSON."""

import json
import os

from .cpu_choice import cpu_sets, units
from .journal import read_notes, recover
from .limits import limits, throttling, usable_cpus
from .runtime import runtime_dir
from .system import LauncherError, read_text
from .topology import cores_from_xml, format_cpus, machine_cores


def show_topology(settings):
    """Print the cores that may be allocated, and the CPU sets that the policy yields."""
    threads, policy = settings.threads, "compact" if settings.binding == "none" else settings.binding
    if settings.xml:
        cores = read_xml(settings.xml)
        at_once = len(units(cores, settings.smt))
    else:
        allowed = os.sched_getaffinity(0)
        cores = machine_cores(runtime_dir(), allowed)
        at_once = min(len(units(cores, settings.smt)), usable_cpus(allowed))
        threads = min(threads, usable_cpus(allowed))
    yielded = [format_cpus(cpus) for cpus in cpu_sets(cores, threads, policy, settings.boundary, settings.smt)]
    described = {"cores": [core._asdict() for core in cores], "threads_at_once": at_once, "cpu_sets": yielded}
    print(json.dumps(described))


def read_xml(path):
    """Return the cores of a file that lstopo made. Raises LauncherError, OSError."""
    try:
        with open(path, encoding="utf-8") as xml:
            return cores_from_xml(xml.read())
    except (SyntaxError, ValueError) as error:  # XML's own are SyntaxErrors
        raise LauncherError(f"not the output of lstopo --of xml: {error}") from error


def show_limits(_settings):
    """Print limits()."""
    print(json.dumps(limits()))


def show_throttling(_settings):
    """Print throttling()."""
    print(json.dumps(throttling()))


def show_jobs(_settings):
    """Print the jobs of this user's runs that are not over, a line each.

    A job without `start` waits for CPUs, since `since` (s, Unix time). One whose launcher was killed is there for as
    long as a process of it is left.
    """
    runtime = runtime_dir()
    recover(runtime)
    for name in os.listdir(f"{runtime}/jobs"):
        path = f"{runtime}/jobs/{name}"
        try:
            notes, since = read_notes(read_text(path)), os.stat(path).st_mtime
        except (OSError, SyntaxError, ValueError):
            continue  # just over, or being written
        if notes:  # else it is just starting
            print(json.dumps({**notes["record"], "ledger": notes["ledger"], "since": since}))
