"""Who is at work in a folder: a lock that ends with its holder, and the files that Snakemake leaves as its locks.

Snakemake's locks are files that name neither who made them nor whether that process lives: a killed run leaves them.
Ours is the kernel's, on a file whose descriptor Snakemake inherits: it is free when gpd and its Snakemake are gone,
however they went. Its holder notes in that file which locks its Snakemake made: the next holder may remove those.

Some file systems have no such locks (Lustre without `-o flock`, some of FUSE): there Snakemake's own count alone.
"""

import errno
import fcntl
import json
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil

from gpd.errors import GpdError

SNAKEMAKE = ".snakemake"
OURS = "gpd.lock"
THEIRS = "locks"
CLOCK = "%Y-%m-%d %H:%M:%S"
NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)  # of a file system


class LockWarning(UserWarning):
    """The file system has no locks."""


class Lock:
    """A lock: `descriptor` is for what we start; `theirs` are the locks that our Snakemake made, noted.

    Where the file system has none it is not `held`: the note may be another's, who is at work, and stays as it is.
    """

    def __init__(self, descriptor: int, held: bool) -> None:
        self.descriptor = descriptor
        self.held = held
        self.since = f"{datetime.now():{CLOCK}}"
        self.note((held and _read(descriptor).get(THEIRS)) or [])

    def note(self, theirs: list) -> None:
        """Write who holds the lock, and which locks are its Snakemake's."""
        self.theirs = theirs
        if self.held:
            holder = {"pid": os.getpid(), "host": os.uname().nodename, "since": self.since, THEIRS: theirs}
            os.ftruncate(self.descriptor, os.pwrite(self.descriptor, json.dumps(holder).encode(), 0))


@contextmanager
def hold(path: Path, folder: Path, holder: str, theirs: bool = False) -> Iterator[Lock]:
    """Hold the lock at `path` for us and what we start. Raises GpdError, naming the holder, where it is held.

    Warns where the file system has no locks, and says whether Snakemake has `theirs`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    held = True
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise GpdError(f"{folder}: another {holder} is at work here{_who(_read(descriptor))}") from error
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            held = False
            instead = "under Snakemake's own" if theirs else f"so take care that no other {holder} works here"
            message = f"{folder}: its file system has no locks ({error.strerror}): going on, {instead}"
            warnings.warn(message, LockWarning, stacklevel=4)
        yield Lock(descriptor, held)
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> dict[str, Any]:
    """What was noted; nothing where the file is new, or cut short by a full disk."""
    try:
        noted = json.loads(os.pread(descriptor, 1 << 20, 0))
    except ValueError:
        return {}
    return noted if isinstance(noted, dict) else {}


def _who(noted: dict[str, Any]) -> str:
    if not {"pid", "host", "since"} <= set(noted):
        return ""
    elsewhere = f" on {noted['host']}" if noted["host"] != os.uname().nodename else ""
    return f" (pid {noted['pid']}{elsewhere}, since {noted['since']})"


# ---- a folder that Snakemake runs in -----------------------------------------------------------------


@contextmanager
def hold_folder(directory: Path, unlock: str) -> Iterator[Lock]:
    """Hold a folder for a `gpd run`, and remove the locks that a killed one's Snakemake left.

    Where the file system has no locks, Snakemake's own keep others out, and none of them is removed. Raises GpdError
    where another is at work, or Snakemake may be; `unlock` is the command that removes Snakemake's locks, empty for a
    run that is this command itself.
    """
    directory = directory.resolve()
    with hold(directory / SNAKEMAKE / OURS, directory, "gpd run", theirs=True) as lock:
        if unlock:
            _remove(directory, lock, unlock)
        yield lock


def note_snakemakes(directory: Path, lock: Lock) -> None:
    """Note which locks our Snakemake made, once it has begun: all that are there, for there were none before."""
    if not lock.theirs:
        lock.note(_locks(directory))


def _locks(directory: Path) -> list[list]:
    """Snakemake's locks, each by what distinguishes it from one that is made later under its name."""
    found = sorted((directory / SNAKEMAKE / THEIRS).glob("*.lock"))
    return [[path.name, path.stat().st_ino, path.stat().st_mtime_ns] for path in found]


def _remove(directory: Path, lock: Lock, unlock: str) -> None:
    """Remove Snakemake's locks where the last holder of ours noted them."""
    present = _locks(directory)
    if unknown := [each for each in present if each not in lock.theirs]:
        since = f"{datetime.fromtimestamp(min(made_ns for *_, made_ns in unknown) / 1e9):{CLOCK}}"
        pids = [
            str(process.pid)  # our own processes of Snakemake, which changes to the folder that it runs in
            for process in psutil.process_iter(["cmdline", "cwd"])  # None is what may not be read
            if process.info["cwd"] == str(directory)
            and "snakemake" in map(os.path.basename, process.info["cmdline"] or ())
        ]
        if pids:
            raise GpdError(f"{directory}: Snakemake is at work here (pid {', '.join(pids)}, since {since})")
        raise GpdError(
            f"{directory}: locked by Snakemake since {since}, and none of yours is at work here on this machine: it "
            f"was killed, or is at work elsewhere (another machine, a container); if you know that it is gone: {unlock}"
        )
    for name, *_ in present:
        (directory / SNAKEMAKE / THEIRS / name).unlink()
    lock.note([])
