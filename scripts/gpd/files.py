"""Files in a folder that may have come from anybody: only plain ones are read, and what is written stays within it."""

import csv
import errno
import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from gpd.errors import GpdError

MIB = 1024**2
MOST_BYTES = 64 * MIB  # of a record


class FileError(GpdError):
    """A file or folder that is not what it should be; the message is one line that names it."""


def read_text(path: Path, most: int | None = MOST_BYTES) -> str:
    """The text of a plain file, or of a link to one. Raises FileError, OSError, UnicodeDecodeError."""
    return read_bytes(path, most).decode("utf-8")


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a table of this project: tabs, a heading, no quotes; lines with # are comments. Raises OSError."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = (line for line in lines if not line.startswith("#"))
        return list(csv.DictReader(rows, delimiter="\t", quoting=csv.QUOTE_NONE))


def read_bytes(path: Path, most: int | None = MOST_BYTES) -> bytes:
    """What a plain file holds: a pipe would never end, nor would a device. Raises FileError, OSError."""
    if path.exists() and not path.is_file():
        raise FileError(f"{path}: not a plain file; remove it")
    if most is not None and path.stat().st_size > most:
        raise FileError(f"{path}: larger than {most // MIB} MiB")
    return path.read_bytes()


def own_folder(path: Path) -> Path:
    """A folder, made where it is missing; a link in its place would lead elsewhere. Raises FileError, OSError."""
    if path.is_symlink():
        raise FileError(f"{path}: a link, and what is written there would be elsewhere; remove it")
    path.mkdir(parents=True, exist_ok=True)
    return path


def open_plain(path: Path, mode: str, buffering: int = -1) -> IO[bytes]:
    """Open a file to write bytes to, which may lie where others write, too. Raises FileError, OSError."""
    return open(path, mode, buffering, opener=_plain)


def _plain(path: str | Path, flags: int, mode: int = 0o666) -> int:
    """Open a plain file; no link is followed, and no pipe waited for."""
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, mode)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise FileError(f"{path}: a link, and what is written there would be elsewhere; remove it") from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileError(f"{path}: not a plain file; remove it")
    os.set_blocking(descriptor, True)
    return descriptor


def open_lock(path: Path) -> int:
    """A file to be locked. To open it is to be able to lock it: so only its owner may, or the group that writes here.

    Raises FileError, OSError.
    """
    descriptor = _plain(path, os.O_RDWR | os.O_CREAT, 0o600)
    file, folder = os.fstat(descriptor), path.parent.stat()
    mode = 0o660 if folder.st_mode & stat.S_IWGRP and folder.st_gid == file.st_gid else 0o600
    if file.st_uid == os.geteuid() and stat.S_IMODE(file.st_mode) != mode:
        with suppress(PermissionError):  # a file system without modes of its own
            os.fchmod(descriptor, mode)
    return descriptor


def replace(path: Path, write_to: Callable[[Path], object]) -> None:
    """Write a file at once or not at all, also after a power cut; a link in its place is replaced, and not followed.

    The file in the making is new, and has a name that cannot be guessed: no link of another user is waiting there.
    """
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    try:
        write_to(unfinished)
        with unfinished.open("rb") as file:
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """As replace(), text in UTF-8."""
    replace(path, lambda unfinished: unfinished.write_text(text, encoding="utf-8"))
