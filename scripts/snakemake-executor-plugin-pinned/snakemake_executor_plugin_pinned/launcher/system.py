"""What every module asks of the system, or says to it."""

import ctypes
import errno
import os
import stat
from binascii import crc32

LIBC = ctypes.CDLL(None, use_errno=True)
PDEATHSIG, SUBREAPER = 1, 36  # of prctl(2), for which Python has no name
MIB = 1024 * 1024
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class LauncherError(Exception):
    """The job could not be started: what, where, what to do."""


def read_text(path):
    """Return a file's text, "" where it is gone or closed to us: processes end while one looks at them."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def open_plain(path, flags, mode=0o666):
    """Open a file to write to, in a folder where others may write, too: no link is followed, and no pipe waited for.

    Raises LauncherError where another is at fault, else OSError. An `opener` of open(), too.
    """
    try:
        fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, mode)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise LauncherError(f"{path}: a link, and what is written there would be elsewhere; remove it") from error
        if error.errno == errno.EACCES and os.path.lexists(path) and (owner := other_owner(os.lstat(path))):
            raise LauncherError(f"{path}: is {owner}'s, and closed to you; remove it once their run is over") from error
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise LauncherError(f"{path}: not a plain file; remove it")
    os.set_blocking(fd, True)
    return fd


def other_owner(found):
    """Return the name of the user that a file belongs to, by its stat, "" where that is us."""
    if found.st_uid == os.geteuid():
        return ""
    import pwd

    try:
        return pwd.getpwuid(found.st_uid).pw_name
    except KeyError:
        return f"user {found.st_uid}"


def unlink(path):
    """Remove a file if it is there."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


ORDERS = {code: f"\\x{code:02x}" for code in (*range(9), *range(11, 32), *range(127, 160))}


def say(line, fd=2):
    """Print one line to stderr, or to a log, no orders to a terminal; that it is not read is no reason to fail."""
    try:
        os.write(fd, (line.translate(ORDERS) + "\n").encode(errors="replace"))
    except OSError:
        return  # there is no other place to say so


def boot_id():
    """Return the name that the kernel gave to this boot, "" where it has none."""
    return read_text("/proc/sys/kernel/random/boot_id").strip()


def digest(text):
    """Return a short name for a text."""
    return f"{crc32(text.encode()):08x}"


def prctl(option, value):
    """Call prctl(2) on this process."""
    LIBC.prctl(option, ctypes.c_ulong(value), 0, 0, 0)
