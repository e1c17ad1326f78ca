"""A Snakemake that hangs is killed: none of its jobs is there, and it uses no CPU time.

Where memory is too short for a thread to start, what starts it waits for it for ever.
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
            process, before, idle_s = psutil.Process(pid), None, 0.0
            while not over.wait(LOOK_S):
                used = process.cpu_times()[:2]
                idle_s = idle_s + LOOK_S if used == before and _waits_for_nothing(process) else 0.0
                before = used
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


def _waits_for_nothing(process: psutil.Process) -> bool:
    """No job is below it; and it was neither stopped by a person nor is held up by a disk."""
    return process.status() == psutil.STATUS_SLEEPING and all(
        child.status() == psutil.STATUS_ZOMBIE for child in process.children(recursive=True)
    )
