"""Take CPUs of one's own: locks on bytes of an open file, which all processes of the job inherit.

Launchers wait for them in a queue, and at its head for the end of an allocation.
"""

import fcntl
import os
import select
import signal
import struct
from collections import namedtuple
from functools import partial

from .cpu_choice import choose, granted, is_split, units
from .limits import usable_cpus
from .requester import end_if_gone
from .runtime import lifted, open_file, open_locked
from .system import LIBC, digest, unlink
from .topology import format_cpus, machine_cores

Allocation = namedtuple("Allocation", "cpus held nodes split fd", defaults=(None, None, (), None, None))
Allocation.__doc__ = """The CPUs granted (None: unbound), these and the siblings that stay idle for them, their NUMA
nodes, is_split(), the descriptor of the locks."""
LOOK_S = 2.0  # how often a job in the queue looks whether Snakemake is still there
OFD_LOCK = "hhqqi4x"  # struct flock


def byte_lock(fd, command, kind, byte):
    """Lock, unlock or test one byte of a file; return the kind of lock in the way."""
    reply = fcntl.fcntl(fd, command, struct.pack(OFD_LOCK, kind, os.SEEK_SET, byte, 1, 0))
    return struct.unpack(OFD_LOCK, reply)[0]


def is_allocated(fd, cpu):
    """Tell whether another open file holds the lock of a CPU."""
    return byte_lock(fd, fcntl.F_OFD_GETLK, fcntl.F_WRLCK, cpu) != fcntl.F_UNLCK


def take(fd, cpus):
    """Lock all these CPUs or none."""
    for done, cpu in enumerate(cpus):
        try:
            byte_lock(fd, fcntl.F_OFD_SETLK, fcntl.F_WRLCK, cpu)
        except OSError:  # a launcher of another queue (other allowed CPUs) was faster
            for taken in cpus[:done]:
                byte_lock(fd, fcntl.F_OFD_SETLK, fcntl.F_UNLCK, taken)
            return False
    return True


def free_units(fd, every):
    """Return the units that are free; `fd`: the file of allocations, opened anew."""
    return [unit for unit in every if not any(is_allocated(fd, cpu) for cpu in unit.held)]


class Turn:
    """A place in a first-come, first-served queue; leaving the block gives the place up.

    A ticket is a numbered file, locked while its owner waits or is served. Waiting is a blocking lock on each lower
    ticket, so that it costs nothing, and a killed waiter's lock is gone with it. An alarm interrupts it to `look`: that
    may raise.
    """

    def __init__(self, folder, look):
        os.makedirs(folder, 0o700, exist_ok=True)
        self.folder, self.look = folder, look

    def __enter__(self):
        counter = open_locked(f"{self.folder}/counter")
        lower = sorted((int(name) for name in os.listdir(self.folder) if name.isdigit()), reverse=True)
        self.path = f"{self.folder}/{lower[0] + 1 if lower else 1}"
        self.ticket = open_locked(self.path, os.O_EXCL)
        os.close(counter)
        before = signal.signal(signal.SIGALRM, lambda *_: self.look())
        signal.setitimer(signal.ITIMER_REAL, LOOK_S, LOOK_S)
        try:
            for number in lower:
                self.wait_for(f"{self.folder}/{number}")
        except BaseException:
            self.__exit__()
            raise
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
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

    def __init__(self, path, signals=False):
        """Begin to watch; with `signals` the kernel sends this process SIGIO after each release."""
        self.delay_ms = 1
        self.fd = LIBC.inotify_init1(self.NONBLOCK_CLOEXEC)
        self.watched, self.longest_ms = ([self.fd], 2000) if self.fd >= 0 else ([], 200)
        LIBC.inotify_add_watch(self.fd, os.fsencode(path), self.CLOSE_WRITE)
        if signals and self.watched:
            fcntl.fcntl(self.fd, fcntl.F_SETOWN, os.getpid())
            fcntl.fcntl(self.fd, fcntl.F_SETFL, os.O_NONBLOCK | os.O_ASYNC)

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

    def heard(self):
        """Take note of the releases so far: another one like the last, if that is unread, makes no signal."""
        try:
            os.read(self.fd, 65536)
        except BlockingIOError:
            return  # of one that was read before its signal came


def acquire(runtime, settings, requester):
    """Wait for CPUs and return the allocation. Raises Ended when a signal comes first, or Snakemake is gone."""
    allowed = os.sched_getaffinity(0)
    cores = machine_cores(runtime, allowed)
    every = units(cores, settings.smt)
    threads = min(settings.threads, usable_cpus(allowed))
    count = min(threads, len(every))
    with Turn(f"{runtime}/queue/{digest(format_cpus(allowed))}", partial(end_if_gone, requester)):
        fd = lifted(open_file(f"{runtime}/cpus"))
        with Releases(f"{runtime}/cpus") as releases:
            while True:
                end_if_gone(requester)
                chosen = choose(every, free_units(fd, every), count, settings.binding, settings.boundary)
                if chosen and take(fd, [cpu for unit in chosen for cpu in unit.held]):
                    break
                releases.wait()
    nodes = {unit.numa for unit in chosen if unit.numa >= 0}
    cpus = granted(chosen, every, cores, threads)
    held = cpus.union(*(unit.held for unit in chosen))
    return Allocation(cpus, held, nodes, is_split(chosen, every, settings.boundary), fd)
