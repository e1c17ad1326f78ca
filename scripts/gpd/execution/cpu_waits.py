"""Jobs of other runs that hold CPUs: named before a run; and for how long jobs waited for CPUs, added up after it."""

import time
import warnings
from collections.abc import Iterable
from pathlib import Path

from gpd.errors import GpdError
from gpd.machines import launcher
from gpd.records.ledger import Attempt
from gpd.statistics.known import covered_s
from gpd.text.formats import listed

LONGEST_END_S = 60.0  # of jobs whose run was killed: they see it within 2 s, and have 8 s to end


def await_former(folder: Path) -> None:
    """Wait until jobs whose run was killed have ended, in a folder and below: two jobs must not write one file.

    Warns of other runs that are at work on this machine. Raises GpdError where jobs do not end.
    """
    deadline = time.monotonic() + LONGEST_END_S
    jobs = launcher.jobs()
    while left := [job.name for job in jobs if job.folder.is_relative_to(folder.resolve())]:
        if time.monotonic() > deadline:
            raise GpdError(f"{folder}: jobs of an earlier run are still at work: {', '.join(left)}; end them first")
        time.sleep(0.2)
        jobs = launcher.jobs()
    if others := sorted({str(job.folder) for job in jobs}):
        warnings.warn(f"{listed(others)}: a run is at work there and holds CPUs: jobs wait for them", stacklevel=2)


def waited_s(attempts: Iterable[Attempt]) -> float:
    """For how many seconds at least one job waited for its CPUs; that others ran meanwhile makes no difference.

    Where jobs ran on several hosts, whose clocks differ: on the host where it was longest.
    """
    waits: dict[str | None, list[tuple[float, float]]] = {}
    for each in attempts:
        if each.start is not None:
            start = each.start.timestamp()
            waits.setdefault(each.host, []).append((start - (each.wait_s or 0.0), start))
    return max(map(covered_s, waits.values()), default=0.0)
