"""Which run is at work in a folder: a lock that ends with its holder, and the files that Snakemake leaves as its locks.

Snakemake's locks are files that do not name the process that made them: a killed run leaves them.
Ours is the kernel's, on a file whose descriptor Snakemake inherits: it is free when gpd and its Snakemake are gone,
however they went. Its holder writes its name into that file, and takes it out when Snakemake's locks are gone, too. So
where the lock is free and names a process of this machine, Snakemake's locks are those of a `gpd run` that was killed.
Of another machine's that is not known: with `-o localflock` (Lustre), `local_lock` or `nolock` (NFS) each machine has
locks of its own.

Some file systems have no such locks (Lustre without `-o flock`, some of FUSE): there Snakemake's own count alone.
"""

import errno
import fcntl
import json
import os
import shlex
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypedDict

import msgspec
import psutil
from msgspec import Meta

from gpd.errors import GpdError
from gpd.files import open_lock

SNAKEMAKE = ".snakemake"
OURS = "gpd.lock"
THEIRS = "locks"
CLOCK = "%Y-%m-%d %H:%M:%S"
NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)  # of a file system


class Note(TypedDict):
    """What a holder says of itself: one that works at a folder."""

    pid: Annotated[int, Meta(gt=0, lt=2**31)]
    host: Annotated[str, Meta(max_length=255, pattern=r"\A[\w.-]+\Z")]
    since: Annotated[str, Meta(max_length=40, pattern=r"\A[\d :-]*\Z")]


class LockWarning(UserWarning):
    """The file system has no locks."""


@contextmanager
def hold(
    path: Path,
    folder: Path,
    holder: str,
    instead: str = "",
    check: Callable[[bool], None] = lambda killed: None,
) -> Iterator[int]:
    """Hold the lock at `path`; yields its descriptor, for what we start. Raises GpdError where another holds it.

    `check` is called with True where it names a process of this machine, which was killed then; else with False.
    Warns where the file system has no locks, and says what counts `instead`.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = open_lock(path)
    except PermissionError as error:
        raise GpdError(_closed(path, folder)) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise GpdError(f"{folder}: another {holder} is at work here{_named(descriptor)}") from error
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            instead = instead or f"so take care that no other {holder} works here"
            message = f"{folder}: its file system has no locks ({error.strerror}): going on, {instead}"
            warnings.warn(message, LockWarning, stacklevel=4)
            check(False)
        else:
            check(bool(note := _note(descriptor)) and _is_here(note))
            name = {"pid": os.getpid(), "host": os.uname().nodename, "since": f"{datetime.now():{CLOCK}}"}
            os.ftruncate(descriptor, os.pwrite(descriptor, json.dumps(name).encode(), 0))
        yield descriptor
    finally:
        os.close(descriptor)


def _closed(path: Path, folder: Path) -> str:
    """What to do where another user has this folder's runs; Snakemake and jobs would write there, too."""
    there = next(each for each in (path, path.parent, folder, *folder.absolute().parents) if os.path.lexists(each))
    try:
        owner = there.owner()
    except KeyError:  # of another machine
        owner = f"user {there.stat().st_uid}"
    return (
        f"{there}: {owner}'s, and you may not write there: run in a folder of your own (--directory), or have {owner} "
        f"share this one: chmod -R g+rwXs {shlex.quote(str(folder))}, of a group that you both are in, and umask 002"
    )


def _note(descriptor: int) -> dict[str, Any]:
    """What the holder noted of itself; empty where the file is new, cut short by a full disk, or by another program."""
    try:
        return dict(msgspec.json.decode(os.pread(descriptor, 1 << 20, 0), type=Note))
    except (ValueError, RecursionError):
        return {}


def _is_here(note: Mapping[str, Any]) -> bool:
    return note["host"] == os.uname().nodename


def _named(descriptor: int) -> str:
    """The holder's name; empty where it is not known."""
    if not (note := _note(descriptor)):
        return ""
    elsewhere = "" if _is_here(note) else f" on {note['host']}"
    return f" (pid {note['pid']}{elsewhere}, since {note['since']})"


@contextmanager
def hold_folder(directory: Path, unlock: str) -> Iterator[int]:
    """Hold a folder that Snakemake is to run in, and remove the locks that a killed run's Snakemake left.

    Raises GpdError where another is at work, or Snakemake may be; `unlock` is the command that removes Snakemake's
    locks, empty for a run that is this command itself.
    """
    directory = directory.resolve()
    check = partial(_remove, directory, unlock)
    with hold(directory / SNAKEMAKE / OURS, directory, "gpd run", "under Snakemake's own", check) as descriptor:
        try:
            yield descriptor
        finally:
            if not _locks(directory):
                os.ftruncate(descriptor, 0)


def _locks(directory: Path) -> list[Path]:
    return sorted((directory / SNAKEMAKE / THEIRS).glob("*.lock"))


def _remove(directory: Path, unlock: str, killed: bool) -> None:
    """Remove Snakemake's locks where a killed run left them."""
    locks = _locks(directory)
    if not locks or not unlock:
        return
    since = f"{datetime.fromtimestamp(min(path.stat().st_mtime for path in locks)):{CLOCK}}"
    pids = [
        str(process.pid)  # our own processes of Snakemake, which changes to the folder that it runs in
        for process in psutil.process_iter(["cmdline", "cwd"])  # None: it may not be read
        if process.info["cwd"] == str(directory) and "snakemake" in map(os.path.basename, process.info["cmdline"] or ())
    ]
    if pids:
        raise GpdError(f"{directory}: Snakemake is at work here (pid {', '.join(pids)}, since {since})")
    if not killed:
        raise GpdError(
            f"{directory}: locked by Snakemake since {since}, and none of yours is at work here on this machine: it "
            f"was killed, or is at work elsewhere (another machine, a container); if you know that it is gone: {unlock}"
        )
    for path in locks:
        path.unlink()
