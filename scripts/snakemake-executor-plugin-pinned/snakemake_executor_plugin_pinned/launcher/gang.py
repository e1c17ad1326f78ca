"""CPUs for jobs that run at once or not at all, as a pipe's members: taken at once, so that none waits for another."""

import os
import signal
import time

from .cpu_allocation import acquire
from .journal import recover, unfinished
from .requester import ENDINGS, Ended, Parent
from .runtime import runtime_dir
from .topology import format_cpus
from .wrapper import heed_signals

PATIENCE_S, LOOK_S = 30.0, 0.05  # with members that were asked to end: what is left then, cannot be ended


def hold(settings):
    """Take CPUs, print which, and keep them until stdin ends and no member is left; return the exit code."""
    requester, runtime, code = Parent(), runtime_dir(), 0
    try:
        heed_signals()
        allocation = acquire(runtime, settings, requester)
    except Ended as end:
        return 128 + end.signum
    try:
        print(format_cpus(allocation.cpus), flush=True)
        while os.read(0, 4096):
            continue
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)  # Snakemake's end may be told after that of its pipe
    except Ended as end:
        code = 128 + end.signum
    await_members(runtime, settings.gang)
    return code


def await_members(runtime, gang):
    """Wait until no job of the gang is left: Snakemake takes for over what it has asked to end, as services are."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        recover(runtime)
        if all(notes["record"].get("gang") != gang for notes in unfinished(runtime)):
            return
        time.sleep(LOOK_S)
