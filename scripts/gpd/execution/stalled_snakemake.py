"""A Snakemake that hangs: it is there, none of its jobs is, and it takes no CPU time. It is killed, so that it is told.

One way to get there: where memory is too short for a thread to start, who started it waits for it for ever.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil

LOOK_S, PATIENCE_S = 30.0, 180.0


@contextmanager
def watch(pid: int) -> Iterator[threading.Event]:
    """Within, kill a Snakemake that hangs. The event: that it came to that."""
    over, hung = threading.Event(), threading.Event()

    def look() -> None:
        with suppress(psutil.NoSuchProcess):
            process, before, idle_s = psutil.Process(pid), -1.0, 0.0
            while not over.wait(LOOK_S):
                spent = _spent_s(process)
                idle_s = idle_s + LOOK_S if spent == before and _waits_for_nothing(process) else 0.0
                before = spent
                if idle_s >= PATIENCE_S:
                    hung.set()
                    process.kill()

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield hung
    finally:
        over.set()
        thread.join()


def _spent_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def _waits_for_nothing(process: psutil.Process) -> bool:
    """No job is below it; and it was neither stopped by a person nor is held up by a disk."""
    return process.status() == psutil.STATUS_SLEEPING and not any(
        child.status() != psutil.STATUS_ZOMBIE for child in process.children(recursive=True)
    )
