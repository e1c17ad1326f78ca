"""Start a measuring program, and say in one line why it measured nothing. The one module of this package that does."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from gpd.errors import GpdError


class NotMeasuredError(GpdError):
    """Why a figure is missing: what a record's `missing` says."""


def run(command: Sequence[str], timeout_s: float, folder: Path | None = None, given: str = "") -> str:
    """Return what a program printed. Raises NotMeasuredError where it is not here, fails or takes too long."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            input=given,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except FileNotFoundError as error:
        raise NotMeasuredError(f"{command[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise NotMeasuredError(f"{command[0]}: no end within {timeout_s:.0f} s") from error
    except OSError as error:
        raise NotMeasuredError(f"{command[0]}: {error.strerror}") from error
    if done.returncode:
        raise NotMeasuredError(
            f"{command[0]}: exit status {done.returncode}: {_first(done.stderr) or 'no word of why'}"
        )
    return done.stdout


def _first(said: str) -> str:
    """The first line that says something, without control characters."""
    lines = ("".join(char for char in line if char.isprintable()).strip() for line in said.splitlines())
    return next(filter(None, lines), "")[:200]
