"""Ctrl-C, and other requests to end, while Snakemake runs: the first one lets it tidy up, a second one kills."""

import os
import signal
import threading
from _thread import start_new_thread
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import psutil

from gpd.errors import Interrupted

AGAIN_S = 0.5  # a job that was just being started when the others were asked to end has not heard it


@dataclass
class _State:
    """What runs, each process leading a group of its own, with the signal that ends it; and the one that we got."""

    running: dict[int, signal.Signals] = field(default_factory=dict)
    signum: int | None = None


_state = _State()


@contextmanager
def catching() -> Iterator[None]:
    """Within, a signal ends what runs, and then what follows it raises Interrupted. For the main thread."""
    global _state
    wanted = [signum for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if not _is_ignored(signum)]
    before = {signum: signal.signal(signum, _caught) for signum in wanted}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
        _state = _State()


def _is_ignored(signum: int) -> bool:
    """As SIGHUP is under nohup."""
    return signal.getsignal(signum) is signal.SIG_IGN


@contextmanager
def reaching(pid: int, elsewhere: bool = False) -> Iterator[None]:
    """Within, a signal to us reaches this Snakemake. Raises Interrupted when it has ended for that.

    By SIGTERM it starts no more jobs, and those on this machine are ended by us. Jobs `elsewhere` it ends itself, by
    SIGINT alone; which it does not hear where we don't, as in the background of a script: there it waits for them.
    """
    _state.running[pid] = signal.SIGINT if elsewhere and not _is_ignored(signal.SIGINT) else signal.SIGTERM
    try:
        yield
    finally:
        _state.running.pop(pid, None)
    check()


def check() -> None:
    """Raise Interrupted where a signal has asked us to end: nothing more is to be started."""
    if _state.signum is not None:
        raise Interrupted(_state.signum)


def _caught(signum: int, _frame: object) -> None:
    if _state.signum is None and _state.running:
        _state.signum = signum
        start_new_thread(_end, (_state.running,))  # threading.Thread takes a lock, which we may have interrupted
        return
    for pid in list(_state.running):
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # each job's supervisor sees its launcher gone, and ends the job
    _state.signum = signum
    raise Interrupted(signum)


def _end(running: dict[int, signal.Signals]) -> None:
    """Ask Snakemake to end, once, and its jobs on this machine until all of them have.

    Where it ends its jobs itself, by a command that is its child, only Snakemake must hear of it. Elsewhere not as a
    terminal does it, with SIGINT to all: Snakemake then leaves what the jobs have half written.
    """
    ended, asked = threading.Event(), set[int]()
    while running:
        for pid, signum in list(running.items()):
            if pid not in asked:
                asked.add(pid)
                with suppress(ProcessLookupError):
                    os.kill(pid, signum)
            for member in _group(pid) if signum == signal.SIGTERM else ():
                with suppress(ProcessLookupError):
                    os.kill(member, signal.SIGINT)
        ended.wait(AGAIN_S)


def _group(leader: int) -> Iterator[int]:
    """The other processes of a group: the shells and launchers of jobs, for what they run is in groups of its own."""
    for pid in psutil.pids():
        with suppress(ProcessLookupError):
            if pid != leader and os.getpgid(pid) == leader:
                yield pid
