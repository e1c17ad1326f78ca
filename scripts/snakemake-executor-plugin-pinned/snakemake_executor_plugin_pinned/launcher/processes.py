"""Processes and what /proc tells of them; any may be gone while one looks."""

import os
import signal
import time

from .system import MIB, read_text

ORPHANS_S = 5.0  # how long killed processes may take to go
PAGE = os.sysconf("SC_PAGE_SIZE")


def children(pid):
    """Return the children of a process, those of its threads included."""
    texts = (read_text(f"/proc/{pid}/task/{tid}/children") for tid in threads_of(pid))
    return [int(child) for text in texts for child in text.split()]


def threads_of(pid):
    """Return the thread ids of a process, none where it is gone."""
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def stat_fields(pid, task=""):
    """Return the fields of /proc/PID/stat from the third (state) on; the second may contain anything."""
    return read_text(f"/proc/{pid}{task}/stat").rpartition(")")[2].split()


def parent_of(pid):
    """Return the parent's pid as text, "" where unknown."""
    return "".join(stat_fields(pid)[1:2])


def descendants(pid):
    """Return all processes below one, parents first."""
    found = children(pid)
    for process in found:  # grows as it goes
        found += children(process)
    return found


def io_counts(pid):
    """Return (rchar, wchar, read_bytes, write_bytes) of a process and the children that it has reaped."""
    counts = dict(line.split(": ") for line in read_text(f"/proc/{pid}/io").splitlines())
    return tuple(int(counts.get(name, 0)) for name in ("rchar", "wchar", "read_bytes", "write_bytes"))


def reaped_io():
    """Return io_counts() of what this process has reaped, without its own."""
    return tuple(map(int.__sub__, io_counts("self"), io_counts(f"self/task/{os.getpid()}")))


def rss_mib(pid):
    """Return the memory of a process, MiB; 0 where it is gone."""
    pages = read_text(f"/proc/{pid}/statm").split()[1:2]
    return sum(map(int, pages)) * PAGE / MIB


def open_files(pid):
    """Return how many files a process has open; 0 where it is gone."""
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def end_orphans(job_id):
    """Kill what is left of a job whose launchers are gone; return whether all of it went.

    Their locks do not tell: GATK's own script starts the JVM without descriptors, and so without the job's locks.
    """
    deadline = time.monotonic() + ORPHANS_S
    while orphans := marked(f"GPD_JOB={job_id}\0"):
        if time.monotonic() > deadline:
            return False
        for pid in orphans:
            send(pid, signal.SIGKILL)
        time.sleep(0.01)
    return True


def marked(variable):
    """Return the processes that have a variable in their environment; those of others do not show theirs."""
    return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and variable in read_text(f"/proc/{pid}/environ")]


def send(pid, signum):
    """Send a signal to a process that may be gone."""
    try:
        os.kill(pid, signum)
    except ProcessLookupError:
        return


def end_tree(signum):
    """Send a signal to every process below this one."""
    for pid in descendants(os.getpid()):
        try:
            os.kill(pid, signum)
        except OSError:
            continue  # gone, or by set-user-id not ours


def reap():
    """Yield (pid, status, usage) of children that have ended."""
    while has_children():
        pid, status, usage = os.wait4(-1, os.WNOHANG)
        if pid == 0:
            return
        yield pid, status, usage


def has_children():
    """Tell whether any child is left, running or not."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True
