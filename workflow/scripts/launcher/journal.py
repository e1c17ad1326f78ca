"""What is known of jobs that are not over, so that each is recorded even when everything around it is killed."""

import errno
import fcntl
import os

from launcher.cgroup import remove_cgroups
from launcher.ledger import append
from launcher.runtime import lifted, open_locked
from launcher.scratch import remove_folder
from launcher.system import read_text, say, unlink
from launcher.topology import parse_cpus


class Journal:
    """What is known of an unfinished job, in a file that its processes hold locked.

    Lines are only ever added, so that one which a full disk cuts short leaves those before it. One that begins
    with a brace holds notes; the job's bash adds `status` lines (PIPE_TRAP), its supervisor `memory` lines (Attempt).
    """

    def __init__(self, runtime, record):
        self.path = f"{runtime}/jobs/{record['id']}"
        self.fd = lifted(open_locked(self.path, os.O_APPEND))

    def write(self, record, ledger, cgroups=(), folder=None):
        """Note the record so far, as repr: only recovery reads it, and json would have to be loaded."""
        notes = {"record": record, "ledger": ledger, "cgroups": cgroups, "folder": folder}
        self.say(repr(notes | {"log": os.path.abspath(record["log"])}))

    def say(self, line):
        """Add a line."""
        try:
            append_line(self.fd, line.encode())
        except OSError as error:  # a full disk must not stop a job that does not need that disk
            say(f"launcher: {self.path}: {error.strerror}; a kill -9 of the whole job may go unrecorded")

    def notes(self):
        """Return what was noted last, or None."""
        return read_notes(read_text(self.path))

    def statuses(self):
        """Return the exit codes of each pipe that failed, as the job's bash told them."""
        lines = (line.split() for line in whole_lines(read_text(self.path)) if line.startswith("status "))
        return [[int(status) for status in words[1:]] for words in lines]

    def close(self):
        """The record is written: forget the job."""
        unlink(self.path)

    def drop(self):
        """Forget the job, of which another attempt begins in this process."""
        self.close()
        os.close(self.fd)
        self.fd = -1


def abandoned(runtime):
    """Yield (path, descriptor, notes) of journals that nobody holds: wrapper and supervisor were killed together.

    The lock is shared, so that two launchers that look at once both see what is abandoned.
    """
    for name in os.listdir(f"{runtime}/jobs"):
        path = f"{runtime}/jobs/{name}"
        try:
            fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            text = read_text(path)
            notes = read_notes(text)
            if notes and os.fstat(fd).st_nlink:
                yield path, fd, notes
            elif text and not notes:
                unlink(path)  # cut short by a full disk, as its launcher has said; no text: its job is just starting
        except BlockingIOError:
            continue  # its job is alive
        finally:
            os.close(fd)


def append_line(fd, line):
    """Append a line to a file, the whole of it or nothing. Raises OSError."""
    size = os.fstat(fd).st_size
    try:
        if os.write(fd, line + b"\n") <= len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except OSError:
        os.ftruncate(fd, size)
        raise


def whole_lines(text):
    """Return the lines of a text that were written to their end."""
    return text.split("\n")[:-1]


def read_notes(text):
    """Return what Journal.write noted last, None where nothing was noted whole."""
    noted = [line for line in whole_lines(text) if line.startswith("{")]
    if not noted:
        return None
    from ast import literal_eval

    return literal_eval(noted[-1])


def noted(runtime):
    """Return the notes of all jobs that are not over."""
    texts = (read_text(f"{runtime}/jobs/{name}") for name in os.listdir(f"{runtime}/jobs"))
    return [notes for notes in map(read_notes, texts) if notes]


def survivors(job_id):
    """Return a job's processes by the mark in their environment: some close all descriptors they inherit."""
    mark = f"GPD_JOB={job_id}\0"
    return [pid for pid in os.listdir("/proc") if pid.isdigit() and mark in read_text(f"/proc/{pid}/environ")]


def haunting(runtime):
    """Return the notes of abandoned jobs of which processes still run, though no lock tells so."""
    return [notes for _, _, notes in abandoned(runtime) if survivors(notes["record"]["id"])]


def haunted_cpus(runtime):
    """Return the CPUs on which processes of abandoned jobs still run."""
    return {cpu for notes in haunting(runtime) for cpu in parse_cpus(notes["record"]["cpus"] or "")}


def is_ours_alone(fd):
    """Lock an abandoned journal for ourselves; tell whether it is still there to be recorded."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False  # another launcher looks at it: it, or a later one, will record the job
    return os.fstat(fd).st_nlink > 0


def recover(runtime):
    """Record the abandoned jobs that are over, and remove what they left. Return how many."""
    count = 0
    for path, fd, notes in abandoned(runtime):
        record = notes["record"]
        if survivors(record["id"]) or not is_ours_alone(fd):
            continue
        remove_cgroups(notes["cgroups"])
        if folder := notes.get("folder"):  # another version's launchers may have none
            remove_folder(folder)
        if record["cause"] is None and record["exit_code"] is None:
            from launcher.diagnose import by_journal

            cause, message = by_journal(whole_lines(read_text(path)))
            record.update(cause=cause, message=message)
        try:
            append(notes["ledger"], record, once=True)
        except FileNotFoundError:
            say(f"launcher: {notes['ledger']}: its folder is gone, and a record of {record['rule']} with it")
        except OSError:
            continue  # a later launcher may succeed
        os.unlink(path)
        count += 1
    return count
