"""What is known of jobs that are not over, so that each is recorded even when everything around it is killed."""

import errno
import fcntl
import os

from .ledger import append
from .processes import end_orphans
from .runtime import lifted, open_locked, remove_folder
from .system import read_text, say, unlink


class Journal:
    """What is known of an unfinished job, in a file that its processes hold locked.

    Lines are only ever added, so that one which a full disk cuts short leaves those before it. One that begins
    with a brace holds notes; the job's bash adds `status` lines (PIPE_TRAP), its supervisor `memory` and `ended` lines,
    and the starter of its parts those that own_parts.py reads.
    """

    def __init__(self, runtime, record):
        self.path = f"{runtime}/jobs/{record['id']}"
        self.fd = lifted(open_locked(self.path, os.O_APPEND))

    @classmethod
    def of(cls, runtime, job_id):
        """Return the journal of a job that is at work, for one of its processes; the lock stays with its launcher."""
        self = cls.__new__(cls)
        self.path = f"{runtime}/jobs/{job_id}"
        self.fd = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW)
        return self

    def write(self, record, ledger, folder=None, awaits=None, for_parts=None):
        """Note the record so far, as repr, for json would have to be loaded; recovery and parts.py read it."""
        noted = {"record": record, "ledger": ledger, "folder": folder, "awaits": awaits, "for_parts": for_parts}
        self.say(repr(noted))

    def say(self, line):
        """Add a line, the whole of it or nothing."""
        size = os.fstat(self.fd).st_size
        try:
            if os.write(self.fd, line.encode() + b"\n") <= len(line.encode()):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:  # a full disk must not stop a job that does not need that disk
            os.ftruncate(self.fd, size)
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


def whole_lines(text):
    """Return the lines of a text that were written to their end."""
    return text.split("\n")[:-1]


def read_notes(text):
    """Return what Journal.write noted last, None where nothing was noted whole."""
    found = [line for line in whole_lines(text) if line.startswith("{")]
    if not found:
        return None
    from ast import literal_eval

    for line in reversed(found):
        try:
            return literal_eval(line)
        except (SyntaxError, ValueError):
            continue  # torn by a full disk, before the job's bash added a line
    return None


SEEN = {}  # by journal: its size, and what it said then


def unfinished(runtime):
    """Return the notes of all jobs that are not over; only files that grew since the last call are read."""
    paths = [f"{runtime}/jobs/{name}" for name in os.listdir(f"{runtime}/jobs")]
    for path in SEEN.keys() - set(paths):
        del SEEN[path]
    return [notes for notes in map(newest_notes, paths) if notes]


def newest_notes(path):
    """Return what a journal says, None where its job is over or just begins."""
    try:
        size = os.stat(path).st_size
    except FileNotFoundError:
        return None
    if SEEN.get(path, (None,))[0] != size:
        SEEN[path] = size, read_notes(read_text(path))
    return SEEN[path][1]


def recover(runtime):
    """Record the jobs that are over without a record, and remove what they left: all of their processes were killed."""
    for name in os.listdir(f"{runtime}/jobs"):
        path = f"{runtime}/jobs/{name}"
        try:
            fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(fd).st_nlink and (text := read_text(path)):  # without, its job is just starting
                record_lost(path, text)
        except BlockingIOError:
            continue  # its job is alive, or another launcher looks at it
        finally:
            os.close(fd)


def record_lost(path, text):
    """Record the job of a journal that is not locked, and remove the journal."""
    notes = read_notes(text)
    if not notes:
        unlink(path)  # cut short by a full disk, as its launcher has said
        return
    record = notes["record"]
    if not end_orphans(record["id"]):
        return  # a later launcher finds them gone
    if notes["folder"]:
        remove_folder(notes["folder"])
    if record["cause"] is None and record["exit_code"] is None:
        from .diagnose import by_journal

        cause, message = by_journal(whole_lines(text))
        record.update(cause=cause, message=message)
    try:
        append(notes["ledger"], record, once=True)
    except FileNotFoundError:
        say(f"launcher: {notes['ledger']}: its folder is gone, and a record of {record['rule']} with it")
    except OSError:
        return  # a later launcher may succeed
    unlink(path)
