"""What every module asks of the system, or says to it."""

import ctypes
import os
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


def unlink(path):
    """Remove a file if it is there."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


ORDERS = {code: f"\\x{code:02x}" for code in (*range(9), *range(11, 32), *range(127, 160))}


def say(line, fd=2):
    """Print one line to stderr, or to a log, no orders to a terminal; that nobody reads it is no reason to fail."""
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
