"""Ask a program of the workflow on its command line; it is never imported."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpd.errors import GpdError

TIMEOUT_S = 120.0


class NoAnswerError(GpdError):
    """A program did not end in time."""


@dataclass(frozen=True)
class Answer:
    """A program's exit status, its output, and what it wrote to stderr."""

    status: int
    output: str
    complaint: str


def ask(program: Path, *arguments: str, python: Sequence[str] = ()) -> Answer:
    """Run a program with this Python, which may have options of its own. Raises NoAnswerError."""
    try:
        done = subprocess.run(
            [sys.executable, *python, str(program), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NoAnswerError(f"{program.name} {arguments[0]}: no answer within {TIMEOUT_S:.0f} s") from error
    return Answer(done.returncode, done.stdout, done.stderr.strip())
