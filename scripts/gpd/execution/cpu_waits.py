"""Jobs of other runs that hold CPUs: named before a run."""

import time
import warnings
from pathlib import Path

from gpd.errors import GpdError
from gpd.machines import launcher
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
