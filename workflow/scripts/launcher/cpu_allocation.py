"""Take CPUs of one's own: locks on bytes of an open file, which all processes of the job inherit."""

import fcntl
import os
import struct
from collections import namedtuple

from launcher.cpu_choice import choose, granted, is_split, units
from launcher.cpu_queue import Releases, Turn
from launcher.limits import usable_cpus
from launcher.requester import end_if_gone
from launcher.runtime import lifted, open_file
from launcher.system import digest
from launcher.topology import format_cpus, machine_cores

Allocation = namedtuple("Allocation", "cpus held nodes split fd", defaults=(None, None, (), None, None))
Allocation.__doc__ = """The CPUs granted (None: unbound), these and the siblings that stay idle for them, their NUMA
nodes, is_split(), the descriptor of the locks."""
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
    """Return the units that nobody has; `fd`: the file of allocations, opened anew."""
    return [unit for unit in every if not any(is_allocated(fd, cpu) for cpu in unit.held)]


def acquire(runtime, settings, requester):
    """Wait for CPUs and return the allocation. Raises Ended when a signal comes first, or Snakemake is gone."""
    allowed = os.sched_getaffinity(0)
    cores = machine_cores(runtime, allowed)
    every = units(cores, settings.smt)
    threads = min(settings.threads, usable_cpus(allowed))
    count = min(threads, len(every))
    with Turn(f"{runtime}/queue/{digest(format_cpus(allowed))}"):
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
