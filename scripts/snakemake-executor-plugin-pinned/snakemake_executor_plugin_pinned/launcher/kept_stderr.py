"""Pass on what a job says on stderr, not to its log, and keep the end of it: the cause of a failure may be there."""

import os
import select
import signal
import time

from .requester import ENDINGS

KEPT_BYTES = 1 << 20
MOST_WAITING = 1 << 16  # bytes that are not read yet; with more of them the job waits, as it would without us
PIPE_BUF = 4096  # what a pipe takes at once where it takes anything
PAUSE_S = 0.01  # where another program was faster to fill the pipe


def keep_stderr(path):
    """Start a process that passes on what is written to the descriptor returned, and writes the end of it to a file.

    It is a process of the job: that is over when no process writes there any more.
    """
    reading, writing = os.pipe()
    if os.fork() == 0:
        try:
            os.close(writing)
            for signum in ENDINGS:
                signal.signal(signum, signal.SIG_IGN)  # the last words come after them
            pass_on(reading, path)
        finally:
            os._exit(0)
    os.close(reading)
    return writing


def pass_on(reading, path):
    """Copy a pipe to stderr until it ends, and write the end of it to a file.

    The file comes before the last of the copy: a terminal that is held (Ctrl-S) must not cost us the cause.
    """
    kept, waiting, has_more, is_read = b"", b"", True, True
    while has_more or waiting:
        can_read, can_write = look(reading if has_more else None, waiting)
        if can_read:
            data = os.read(reading, 1 << 16)
            kept, waiting = keep_end(kept + data), waiting + data if is_read else b""
            if not data:
                has_more = False
                save(path, kept)
        if can_write and waiting:
            waiting, is_read = write_some(waiting)


def look(reading, waiting):
    """Wait for something to do; return whether there is something to read, and whether stderr takes some."""
    poll = select.poll()
    if reading is not None:
        poll.register(reading, select.POLLIN if len(waiting) < MOST_WAITING else 0)  # 0: its end alone
    if waiting:
        poll.register(2, select.POLLOUT)
    ready = dict(poll.poll())
    return reading in ready, 2 in ready


def write_some(waiting):
    """Write the next of what waits to stderr; return what waits then, and whether anybody reads it."""
    try:
        return waiting[os.write(2, waiting[:PIPE_BUF]) :], True
    except BlockingIOError:
        time.sleep(PAUSE_S)
        return waiting, True
    except OSError:
        return b"", False  # the terminal is gone; the job goes on


def keep_end(kept):
    """Return the end of what was said, cut now and then."""
    return kept if len(kept) <= 2 * KEPT_BYTES else kept[-KEPT_BYTES:]


def save(path, kept):
    """Write what was kept to a file."""
    with open(path, "wb") as file:
        file.write(kept)
