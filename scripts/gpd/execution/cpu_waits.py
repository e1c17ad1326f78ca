"""Jobs that wait for CPUs which other jobs hold: told while a run goes on, and added up when it is over."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gpd.errors import GpdError
from gpd.machines import launcher
from gpd.records.ledger import Attempt
from gpd.text.formats import counted

LOOK_S = 5.0
LONGEST_END_S = 60.0  # of jobs whose run was killed: they see it within 2 s, and have 8 s to end
PATIENCE_S = 5.0  # a shorter wait is not worth a word


class StillRunningError(GpdError):
    """Jobs of an earlier run in a folder do not end; the message names them."""


@contextmanager
def watch(directory: Path, tell: Callable[[str], None]) -> Iterator[None]:
    """Within, look from time to time whether jobs of runs in `directory` or below wait, and tell it in words.

    "" says that none does.
    """
    over = threading.Event()

    def look() -> None:
        while not over.wait(LOOK_S):
            try:
                tell(in_words(launcher.jobs(), directory.resolve(), time.time()))
            except GpdError as error:
                tell(f"whether jobs wait for CPUs is not known: {error}")

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def in_words(jobs: Sequence[launcher.Job], directory: Path, now: float) -> str:
    """Say how many jobs of runs in `directory` or below wait for CPUs, and which other runs hold some."""
    own = [job for job in jobs if job.folder.is_relative_to(directory)]
    waiting = [job for job in own if job.waits and now - job.since >= PATIENCE_S]
    if not waiting:
        return ""
    holders = sorted({str(job.folder) for job in jobs if not job.waits and job not in own})
    held = f" that another run holds ({', '.join(holders)})" if holders else ""
    return f"{counted(len(waiting), 'job')} wait{'s' if len(waiting) == 1 else ''} for CPUs{held}"


def waited_s(attempts: Iterable[Attempt]) -> float:
    """For how many seconds at least one job waited for its CPUs; that others ran meanwhile makes no difference.

    Where jobs ran on several hosts, whose clocks differ: on the host where it was longest.
    """
    waits: dict[str | None, list[tuple[float, float]]] = {}
    for each in attempts:
        if each.start is not None:
            waits.setdefault(each.host, []).append((each.start.timestamp(), each.wait_s or 0.0))
    return max(map(_waited_s, waits.values()), default=0.0)


def _waited_s(waits: Iterable[tuple[float, float]]) -> float:
    """The same, of (start, time waited before it)."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted((start - wait, start) for start, wait in waits):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


def await_former(folder: Path) -> None:
    """Wait until jobs whose run was killed have ended, in a folder and below: two jobs must not write one file.

    Raises StillRunningError where they do not end.
    """
    deadline = time.monotonic() + LONGEST_END_S
    while left := [job.name for job in launcher.jobs() if job.folder.is_relative_to(folder.resolve())]:
        if time.monotonic() > deadline:
            raise StillRunningError(
                f"{folder}: jobs of an earlier run are still at work: {', '.join(left)}; end them first"
            )
        time.sleep(0.2)
