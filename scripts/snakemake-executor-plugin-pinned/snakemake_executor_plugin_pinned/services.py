"""Services: jobs that Snakemake ends once all that use them are done. Their end is then no failure.

What tells is a file, which is there before Snakemake sends SIGTERM: that alone may also come of a killed Snakemake.
"""

from collections.abc import Iterable
from concurrent.futures import Future
from pathlib import Path
from typing import Any


class Services:
    """The services of a group of jobs, and which of the others still use them."""

    def __init__(self, jobs: Iterable[Any], done: Iterable[Path]) -> None:
        """`done`: for each service, the file that says that it is not used any more."""
        self.users = {job for job in jobs if not job.is_service}
        self.done = list(done)

    def ended(self, job: Any, future: Future[Any]) -> None:
        """Take note of the end of a job; one that failed stays a user."""
        if future.exception() is None:
            self.users.discard(job)
        for path in () if self.users else self.done:
            path.touch()
