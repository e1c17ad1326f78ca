"""The lock of a job's outputs: one launcher at a time works at them, on whatever node.

A launcher locks a file beside the job's log, LOG.owner, or the one that the executor names by the outputs, and names
itself there. All processes of the job inherit the lock, so that it is free when the last of them is gone. Another
launcher waits, and says for whom. A file system may have no locks, or none between nodes: so Slurm is asked, too,
where the file names a job of Slurm's and does not say that it has ended. The file goes when the attempt is recorded.
In a Slurm job that failed it stays, marked: the next attempt under the same id finds its number there. One that stays
unmarked is of a launcher that was killed: the next one records that attempt, for its node may not come back to do it.

To open the file is to be able to lock it: only its owner may, or the group that may write in the folder. Another
user's file is waited for, but what it says goes into no record of ours.
"""

import errno
import fcntl
import os
import stat
import time

from .journal import recover
from .ledger import append
from .node import ask_slurm, slurm_job_id
from .requester import end_if_gone
from .runtime import lifted
from .system import open_plain, other_owner, say, unlink

NEAREST_S, FARTHEST_S = 0.2, 10.0  # between looks at a lock that is held
SETTLE_S = 10.0  # the Snakemake behind a job that failed removes what that left
NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)  # of a file system
ENDED = "ended"
AT_WORK = ("RUNNING", "SUSPENDED", "STOPPED", "COMPLETING", "CONFIGURING", "SIGNALING", "STAGE_OUT", "RESIZING")
DIGITS = set("0123456789")
NAME = DIGITS.union("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.-")
MOST = 2**63
NEEDED = {"id", "attempt", "rule", "host", "node", "pid", "slurm_job_id"}  # what a launcher says of itself, at least


class OutputLock:
    """This launcher's claim to its job's outputs."""

    def __init__(self, attempt):
        self.attempt, self.record = attempt, attempt.record
        self.path = os.path.abspath(attempt.settings.owner or f"{self.record['log']}.owner")
        self.fd = None

    def claim(self):
        """Wait until no other job works at the outputs, and lock them. Raises Ended and OSError."""
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        shown, pause_s = None, NEAREST_S
        while True:
            fd, is_free = try_lock(self.path)
            user = other_owner(os.fstat(fd))
            text = os.pread(fd, 65536, 0).decode(errors="replace")
            owner, ended = read_owner(text), text.endswith(f"{ENDED}\n")
            if is_free and (ended or not is_at_work(owner and owner["slurm_job_id"])):
                if not (text and user):
                    break
                unlink(self.path)  # to be ours
            elif (line := waits_for(owner, user)) != shown:
                say(f"{self.attempt.name}: {line}")
                self.attempt.note(awaits="outputs")
                shown = line
            os.close(fd)
            end_if_gone(self.attempt.requester)
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, FARTHEST_S)
        self.fd = fd
        if owner:
            self.follow(owner, ended)
        self.write(repr(self.record), 0)  # json would have to be loaded
        if shown:
            time.sleep(SETTLE_S)
            self.attempt.note()

    def follow(self, owner, ended):
        """Number our attempt after one of the same Slurm job, and record that one where its launcher was killed.

        Slurm starts a job again under its id, and Snakemake knows nothing of it.
        """
        settings = self.attempt.settings
        if owner["slurm_job_id"] and owner["slurm_job_id"] == slurm_job_id():
            settings.attempt = self.record["attempt"] = max(settings.attempt, owner["attempt"] + 1)
        if ended:
            return
        recover(self.attempt.runtime)  # which knows more of it, where its journal is there
        lost = {"cause": "killed", "message": f"its launcher on {owner['node']} is gone; when is not known"}
        try:
            append(settings.ledger, owner | lost, once=True)
        except OSError as error:
            say(f"{settings.ledger}: the record of a lost job could not be written: {error.strerror}")

    def write(self, line, at):
        """Write a line of our file; a full disk must not stop a job that does not need that disk."""
        try:
            os.ftruncate(self.fd, at)
            os.pwrite(self.fd, line.encode() + b"\n", at)
        except OSError as error:
            say(f"launcher: {self.path}: {error.strerror}; others cannot see that this job is worked at")

    def release(self, code):
        """Give up the outputs, once the job is recorded."""
        if self.fd is None or not is_at(self.path, self.fd):
            return  # our file was removed, and another launcher may have made one
        if code and self.record["slurm_job_id"]:
            self.write(ENDED, os.fstat(self.fd).st_size)
        else:
            unlink(self.path)


def try_lock(path):
    """Return a file, made where it is missing, and whether we have its lock, or the file system has none."""
    while True:
        fd = lifted(open_plain(path, os.O_RDWR | os.O_CREAT, 0o600))
        close_to_readers(path, fd)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return fd, False
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
        if is_at(path, fd):
            return fd, True
        os.close(fd)  # its holder has removed it since


def close_to_readers(path, fd):
    """Have a file of ours opened, and so locked, only by us, or by the group that may write in its folder."""
    file, folder = os.fstat(fd), os.stat(os.path.dirname(path))
    mode = 0o660 if folder.st_mode & stat.S_IWGRP and folder.st_gid == file.st_gid else 0o600
    if file.st_uid == os.geteuid() and stat.S_IMODE(file.st_mode) != mode:
        try:
            os.fchmod(fd, mode)
        except PermissionError:
            return  # a file system without modes of its own, which the mount gives to whom it will


def is_at(path, fd):
    """Tell whether an open file is still the one of that name."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(fd))
    except FileNotFoundError:
        return False


def read_owner(text):
    """Return the record that a launcher wrote of its job, None where it is not whole: others may write there."""
    if not text:  # no job has worked there: each job's own case, and ast costs it more than all other imports
        return None
    from ast import literal_eval

    try:
        owner = literal_eval(text.partition("\n")[0])
    except (SyntaxError, TypeError, ValueError, MemoryError, RecursionError):
        return None
    return owner if is_record(owner) else None


def is_record(owner):
    """Tell whether this may be what a launcher said of its job.

    All of it fits in the ledger. What we print or ask Slurm of it are numbers and names: people paste them into shells.
    """
    if not isinstance(owner, dict) or not owner.keys() >= NEEDED or not all(map(is_plain, owner.items())):
        return False
    numbers, names = (owner["attempt"], owner["pid"]), (owner["id"], owner["rule"], owner["host"], owner["node"])
    job = owner["slurm_job_id"]
    return (
        all(type(number) is int and number > 0 for number in numbers)
        and all(isinstance(name, str) and 0 < len(name) < 256 and set(name) <= NAME for name in names)
        and (job is None or (isinstance(job, str) and 0 < len(job) < 20 and set(job) <= DIGITS))
    )


def is_plain(item):
    """Tell whether a field of a record is a text, a number, or the job's wildcards."""
    field, value = item
    if not isinstance(field, str):
        return False
    if field == "wildcards":
        return isinstance(value, dict) and all(isinstance(text, str) for pair in value.items() for text in pair)
    if isinstance(value, (int, float)):
        return -MOST < value < MOST  # neither NaN nor what is infinite
    return value is None or isinstance(value, str)


def waits_for(owner, user=""):
    """Name the launcher at the outputs, and how to end it; `user`: whose it is, if not ours, and not for us to end."""
    if user:
        return f"waits for a run of {user}'s, which makes the same outputs; {user} can end it"
    if not owner:
        return "waits for another launcher at the same outputs, which does not name itself"
    slurm_job, host, pid = owner["slurm_job_id"], owner["host"], owner["pid"]
    launcher = f"PID {pid} on {owner['node']}" + ("" if owner["node"] == host else f" (host {host})")
    how = f"kill {pid}" + ("" if host == os.uname().nodename else f" on {host}")
    if slurm_job:
        launcher += f", Slurm job {slurm_job}"
    if slurm_job and slurm_job != slurm_job_id():
        how = f"scancel {slurm_job}"
    return f"waits for another run's {owner['rule']}, which makes the same outputs: {launcher}; `{how}` ends it"


def is_at_work(slurm_job):
    """Tell whether Slurm knows a job to be at work; of our own we know that what ran under its id before is over."""
    if not slurm_job or slurm_job == slurm_job_id():
        return False
    states = ask_slurm(["squeue", "--noheader", f"--jobs={slurm_job}", "--format=%T"], timeout_s=30)
    return any(state in AT_WORK for state in states.split())
