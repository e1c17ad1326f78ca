"""The folder for temporary files that each job has for itself, as TMPDIR: what its tools leave there goes with the job.

It lies below the launcher's own TMPDIR, which Snakemake sets to the rule's resource `tmpdir`. Its path is planned, and
noted in the journal, before it is made, so that somebody removes it whoever is killed: the supervisor, the wrapper that
takes over, or the next launcher on the node, and none before the last process of the job is gone.
"""

import errno
import os

from launcher.system import LauncherError, say

FULL = (errno.ENOSPC, errno.EDQUOT)


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
            say(f"launcher: {path}: temporary files of a job stay: {error}; remove it by hand")
