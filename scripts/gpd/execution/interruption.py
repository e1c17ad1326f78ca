"""Ctrl-C, and other requests to end, while Snakemake runs: the first one lets it tidy up, a second one kills."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil

from gpd.errors import Interrupted

AGAIN_S = 0.5  # a job that was just being started when the others were asked to end has not heard it


class _State:
    """What runs, each process the leader of a group of its own, and the signal that asked it to end."""

    def __init__(self) -> None:
        self.running: set[int] = set()
        self.signum: int | None = None


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
def reaching(pid: int) -> Iterator[None]:
    """Within, a signal to us reaches this Snakemake. Raises Interrupted when it has ended for that."""
    _state.running.add(pid)
    try:
        yield
    finally:
        _state.running.discard(pid)
    check()


def check() -> None:
    """Raise Interrupted where a signal has asked us to end: nothing more is to be started."""
    if _state.signum is not None:
        raise Interrupted(_state.signum)


def _caught(signum: int, _frame: object) -> None:
    if _state.signum is None and _state.running:
        _state.signum = signum
        threading.Thread(target=_end, args=(_state.running,), daemon=True).start()
        return
    for pid in list(_state.running):
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # each job's keeper sees its launcher gone, and ends the job
    _state.signum = signum
    raise Interrupted(signum)


def _end(running: set[int]) -> None:
    """Ask Snakemake to start no more jobs (SIGTERM), and its jobs to end, until all of them have.

    Not as a terminal does it, with SIGINT to all: Snakemake then leaves what the jobs have half written.
    """
    ended = threading.Event()
    while running:
        for pid in list(running):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            for member in _group(pid):
                with suppress(ProcessLookupError):
                    os.kill(member, signal.SIGINT)
        ended.wait(AGAIN_S)


def _group(leader: int) -> Iterator[int]:
    """The other processes of a group: the shells and launchers of jobs, for what they run is in groups of its own."""
    for pid in psutil.pids():
        with suppress(ProcessLookupError):
            if pid != leader and os.getpgid(pid) == leader:
                yield pid
