"""Pass on what a job without a log says on stderr, and keep the end of it: the cause of a failure is there."""

import os
import signal

from .requester import ENDINGS

KEPT_BYTES = 1 << 20


def keep_stderr(path):
    """Start a process that passes on what is written to the descriptor returned, and writes the end of it to a file.

    It is a process of the job: that is over when nobody writes there any more.
    """
    reading, writing = os.pipe()
    if os.fork() == 0:
        try:
            os.close(writing)
            for signum in ENDINGS:
                signal.signal(signum, signal.SIG_IGN)  # the last words come after them
            kept = pass_on(reading)
            with open(path, "wb") as file:
                file.write(kept)
        finally:
            os._exit(0)
    os.close(reading)
    return writing


def pass_on(reading):
    """Copy a pipe to stderr until it ends; return the end of it."""
    kept, is_read = b"", True
    while data := os.read(reading, 1 << 16):
        try:
            is_read and os.write(2, data)
        except OSError:
            is_read = False  # the terminal is gone; the job goes on
        kept += data
        if len(kept) > 2 * KEPT_BYTES:
            kept = kept[-KEPT_BYTES:]
    return kept
