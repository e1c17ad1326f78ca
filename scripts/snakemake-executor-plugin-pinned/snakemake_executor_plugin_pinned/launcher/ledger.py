"""The record of an attempt at a job, and the file that it goes to."""

import errno
import fcntl
import os
import time

from .node import where
from .system import boot_id, say

SCHEMA = 1
PATIENCE_S, LOOK_S = 10.0, 0.01  # with other processes that lock the ledger: any that may read it can
MEASURED = (
    *("cpus", "split", "wait_s", "start", "uptime_s", "end", "wall_s", "cpu_user_s", "cpu_system_s", "cpu_s"),
    *("peak_rss_mib", "peak_rss_source", "read_mib", "write_mib", "read_calls_mib", "write_calls_mib"),
    *("peak_open_files", "peak_temporary_mib", "paused_s"),
    *("shared_inputs_mib", "shared_outputs_mib", "exit_code", "signal", "cause", "message"),
    *("cpus_allowed", "cpus_seen", "binding_ok", "memory_applied", "cpu_contention", "other_cpu_s", "steal_s"),
)


def utc(ns):
    """Write a time as UTC ISO 8601 with nanoseconds."""
    seconds, rest = divmod(ns, 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest:09d}Z"


def new_record(settings):
    """Return the record of an attempt of which nothing is known yet but what was asked for."""
    return {
        "schema": SCHEMA,
        "id": settings.id or os.urandom(8).hex(),
        "run": settings.run or None,
        "rule": settings.rule,
        "step": settings.step,
        "wildcards": settings.wildcards,
        "shard": settings.shard or None,
        "gang": settings.gang or None,
        "attempt": settings.attempt,
        "threads": settings.threads,
        "mem_mb": settings.mem_mb or None,
        "binding": settings.binding,
        "boundary": settings.boundary,
        "memory": settings.memory,
        "smt": settings.smt,
        **dict.fromkeys(MEASURED),
        "boot": boot_id() or None,
        **where(),
        "pid": os.getpid(),
        "command_sha256": None,
        "log": stored_name(settings.log, settings.local_storage),
    }


def stored_name(path, local_storage):
    """Return a file's path in the run's folder, where a storage plugin of Snakemake has jobs write to copies of it.

    Those are at PREFIX/PROVIDER/path, on a disk of the node's own maybe.
    """
    below = path.removeprefix(f"{local_storage}/")
    return path if below == path or not local_storage else below.partition("/")[2]


def append(path, record, once=False):
    """Append a record to a ledger as one line.

    `once`: not where it is there already, or in the ledger of another node beside it. For a killed process this
    must be asked: it may have been killed just after it wrote.

    The lock is for network file systems, where O_APPEND is not atomic, and guards the look at the last byte: a line
    that was cut short is closed first, so that it spoils no other. What a full disk lets through of one is taken back.
    """
    import json

    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    try:
        locked = has_lock(fd, path)
        size = os.fstat(fd).st_size
        if once and any(recorded(file, record["id"]) for file in beside(path)):
            return
        end = "\n" if size and os.pread(fd, 1, size - 1) != b"\n" else ""
        line = json.dumps({**record, "recorded": utc(time.time_ns())}, ensure_ascii=False)
        data = f"{end}{line}\n".encode(errors="replace")
        if os.write(fd, data) != len(data):
            if locked:
                os.ftruncate(fd, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(fd)


def has_lock(fd, path):
    """Lock a ledger; say so where that cannot be, or where others that may read it keep it locked."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError as error:
            if not isinstance(error, BlockingIOError) or time.monotonic() > until:
                say(f"launcher: {path}: cannot be locked ({error.strerror}); appending all the same")
                return False
        time.sleep(LOOK_S)


def beside(path):
    """Return the files that may be of one ledger: this one, and those of nodes."""
    folder, name = os.path.split(path)
    stem, extension = name.partition(".")[0], os.path.splitext(name)[1]
    names = os.listdir(folder or ".")
    return [os.path.join(folder, each) for each in names if each.startswith(stem) and each.endswith(extension)]


def recorded(path, job_id):
    """Return the record of an attempt, None where a ledger does not hold it, or but the beginning of it."""
    with open(path, "rb") as ledger:
        found = [whole(line) for line in ledger if f'"id": "{job_id}"'.encode() in line]
    return next((record for record in reversed(found) if record), None)


def whole(line):
    """Return the record that a line holds, None where a full disk has cut it short."""
    import json

    try:
        return json.loads(line)
    except ValueError:
        return None
