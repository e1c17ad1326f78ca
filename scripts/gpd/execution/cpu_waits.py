"""Jobs that wait for CPUs which other jobs hold: shown while a run goes on, and added up when it is over."""

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
PATIENCE_S = 5.0  # shorter waits are not shown


@contextmanager
def watch(directory: Path, show: Callable[[str], None]) -> Iterator[None]:
    """Within, look from time to time whether jobs of runs in `directory` or below wait, and show it; "": none does."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(LOOK_S):
            try:
                show(in_words(launcher.jobs(), directory.resolve(), time.time()))
            except GpdError as error:
                show(f"whether jobs wait for CPUs is not known: {error}")

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
            start = each.start.timestamp()
            waits.setdefault(each.host, []).append((start - (each.wait_s or 0.0), start))
    return max(map(_union_s, waits.values()), default=0.0)


def _union_s(spans: Iterable[tuple[float, float]]) -> float:
    """The time that any of the spans covers."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


def await_former(folder: Path) -> None:
    """Wait until jobs whose run was killed have ended, in a folder and below: two jobs must not write one file.

    Raises GpdError where they do not end.
    """
    deadline = time.monotonic() + LONGEST_END_S
    while left := [job.name for job in launcher.jobs() if job.folder.is_relative_to(folder.resolve())]:
        if time.monotonic() > deadline:
            raise GpdError(f"{folder}: jobs of an earlier run are still at work: {', '.join(left)}; end them first")
        time.sleep(0.2)
