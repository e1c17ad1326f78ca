"""What ends a subcommand without a traceback: the base of errors, and an interruption. `cli.py` has the one handler."""

import signal
from collections.abc import Sequence


class GpdError(Exception):
    """What files, arguments or the machine do not allow: a line a fault, which says what, where and what to do."""


class Interrupted(Exception):  # noqa: N818 (no error)
    """A signal ended the work, and what was at work has tidied up; the message says how to go on."""

    def __init__(self, signum: int, jobs: Sequence[str] = (), advice: str = "") -> None:
        super().__init__(signum, jobs, advice)
        self.signum, self.jobs, self.advice = signum, tuple(jobs), advice

    @property
    def exit_code(self) -> int:
        return 128 + self.signum

    def __str__(self) -> str:
        what = f" while at work: {', '.join(self.jobs)}" if self.jobs else ""
        return "\n".join(filter(None, (f"ended by {signal.Signals(self.signum).name}{what}", self.advice)))
