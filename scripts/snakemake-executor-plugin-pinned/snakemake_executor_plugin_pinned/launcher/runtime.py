"""The folder in which the launchers of a user keep allocations, queues and journals, and a job's for temporary files.

The latter is its TMPDIR, below the launcher's own, which Snakemake sets to the rule's resource `tmpdir`. Its path is
noted in the journal before it is made, so that it is removed whichever of these is killed: the supervisor, the wrapper
that takes over, or the next launcher on the node, and none before the last process of the job is gone.
"""

import errno
import fcntl
import os

from .system import LauncherError, say

FULL = (errno.ENOSPC, errno.EDQUOT)
INHERITED_FD = 40  # above what shells and scripts take, below what they may where 64 files are all


def runtime_dir():
    """Return this user's private folder for allocations, checked; all runs on a node must use the same.

    Not XDG_RUNTIME_DIR: that vanishes when the user logs out, while a run under nohup goes on, and batch jobs lack it.
    """
    path = os.environ.get("GPD_RUNTIME_DIR") or f"/tmp/gpd-{os.geteuid()}"
    try:
        if not os.path.lexists(path):
            os.makedirs(path, 0o700, exist_ok=True)
    except OSError as error:
        why = f"cannot make it for allocations: {error.strerror}"
        raise LauncherError(f"{path}: {why}; set GPD_RUNTIME_DIR") from error
    found = os.lstat(path)
    if found.st_uid != os.geteuid() or found.st_mode & 0o170077 != 0o040000:
        raise LauncherError(f"{path}: not a private folder of this user; remove it or set GPD_RUNTIME_DIR")
    for name in ("jobs", "queue"):
        os.makedirs(f"{path}/{name}", 0o700, exist_ok=True)
    return path


def open_file(path, flags=0, access=os.O_RDWR):
    """Open a file of the runtime folder, make it where it is missing, and return its descriptor."""
    return os.open(path, access | os.O_CREAT | os.O_NOFOLLOW | flags, 0o600)


def open_locked(path, flags=0):
    """Open a file of the runtime folder, lock it (flock), and return its descriptor."""
    fd = open_file(path, flags)
    fcntl.flock(fd, fcntl.LOCK_EX)
    return fd


def lifted(low):
    """Move a descriptor that the job's processes inherit above those that shell scripts use by number."""
    fd = fcntl.fcntl(low, fcntl.F_DUPFD, INHERITED_FD)
    os.close(low)
    return fd


def place():
    """Return the folder below which jobs have theirs."""
    return os.environ.get("TMPDIR") or "/tmp"


def make_folder(path):
    """Make a job's folder, for this user alone; a link in its place is not followed.

    Raises LauncherError, and OSError where the disk is full.
    """
    try:
        os.mkdir(path, 0o700)
    except OSError as error:
        if error.errno in FULL:
            raise
        where = f"TMPDIR {place()}: no folder that can be written to"
        raise LauncherError(f"{where}: {error.strerror}; make it or unset TMPDIR") from error


def remove_folder(path):
    """Remove a job's folder with all that is in it; most are empty, and some were never made."""
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return
    except OSError:
        from shutil import rmtree

        rmtree(path, ignore_errors=True)
        try:
            if os.path.lexists(path):
                rmtree(path)
        except OSError as error:
            say(f"launcher: {path}: temporary files of a job stay: {error}; remove it yourself")
