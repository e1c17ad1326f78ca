"""How launchers wait for CPUs: in a queue, and at its head for the end of an allocation."""

import fcntl
import os
import select

from launcher.runtime import open_locked
from launcher.system import LIBC, unlink


class Turn:
    """A place in a first-come, first-served queue; leaving the block gives the place up.

    A ticket is a numbered file, locked while its owner waits or is served. Waiting is a blocking lock on each
    lower ticket, so that it costs nothing, and a killed waiter's lock is gone with it.
    """

    def __init__(self, folder):
        os.makedirs(folder, 0o700, exist_ok=True)
        self.folder = folder

    def __enter__(self):
        counter = open_locked(f"{self.folder}/counter")
        lower = sorted((int(name) for name in os.listdir(self.folder) if name.isdigit()), reverse=True)
        self.path = f"{self.folder}/{lower[0] + 1 if lower else 1}"
        self.ticket = open_locked(self.path, os.O_EXCL)
        os.close(counter)
        try:
            for number in lower:
                self.wait_for(f"{self.folder}/{number}")
        except BaseException:
            self.__exit__()
            raise
        return self

    @staticmethod
    def wait_for(path):
        try:
            fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        except FileNotFoundError:
            return  # served and gone
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            unlink(path)  # there only if its owner was killed
        finally:
            os.close(fd)

    def __exit__(self, *_):
        unlink(self.path)
        os.close(self.ticket)


class Releases:
    """Tells the head of the queue when to look for free CPUs again.

    inotify reports each close of the file of allocations, that is, the end of an allocation however it came. The kernel
    drops the locks just after that report, and processes that closed the file early make none, so one looks
    again after 1 ms, 2 ms, ... up to 2 s (0.2 s where there is no inotify).
    """

    CLOSE_WRITE, NONBLOCK_CLOEXEC = 0x8, 0o2004000

    def __init__(self, path):
        self.delay_ms = 1
        self.fd = LIBC.inotify_init1(self.NONBLOCK_CLOEXEC)
        self.watched, self.longest_ms = ([self.fd], 2000) if self.fd >= 0 else ([], 200)
        LIBC.inotify_add_watch(self.fd, os.fsencode(path), self.CLOSE_WRITE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.watched:
            os.close(self.fd)

    def wait(self):
        """Return after a release, or when it is time to look anyhow."""
        ready, _, _ = select.select(self.watched, [], [], self.delay_ms / 1000)
        if ready:
            os.read(self.fd, 65536)
        self.delay_ms = 1 if ready else min(2 * self.delay_ms, self.longest_ms)
