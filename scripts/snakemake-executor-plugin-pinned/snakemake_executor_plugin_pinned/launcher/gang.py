"""CPUs for jobs that run at once or not at all, as a pipe's members: taken at once, so that none waits for another."""

import os

from .cpu_allocation import acquire
from .requester import Ended, Parent
from .runtime import runtime_dir
from .topology import format_cpus
from .wrapper import heed_signals


def hold(settings):
    """Take CPUs, print which, and keep them until stdin ends; return the exit code."""
    requester = Parent()
    try:
        heed_signals()
        allocation = acquire(runtime_dir(), settings, requester)
        print(format_cpus(allocation.cpus), flush=True)
        while os.read(0, 4096):
            continue
    except Ended as end:
        return 128 + end.signum
    return 0
