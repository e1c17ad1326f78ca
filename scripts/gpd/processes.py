"""Run a program to its end. Where it cannot be started, does not end or fails, the error is one line."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpd.errors import GpdError

TIMEOUT_S = 120.0
LONGEST_MESSAGE = 300  # characters


class ProcessError(GpdError):
    """A program that is not installed, did not end in time, or failed."""


def run(
    command: Sequence[str], timeout_s: float | None = TIMEOUT_S, name: str = "", **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a command, whatever its exit status; `options` are those of subprocess.run. Raises ProcessError."""
    name = name or command[0]
    settings: dict[str, Any] = {"input": "", "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    try:
        return subprocess.run(command, timeout=timeout_s, encoding="utf-8", errors="replace", check=False, **settings)
    except subprocess.TimeoutExpired as error:
        raise ProcessError(f"{name}: no end within {timeout_s:g} s") from error
    except OSError as error:
        missing = isinstance(error, FileNotFoundError) and "/" not in command[0]
        raise ProcessError(f"{name} is not installed" if missing else f"{name}: {error.strerror}") from error


def output_of(command: Sequence[str], timeout_s: float | None = TIMEOUT_S, name: str = "", **options: Any) -> str:
    """What a command prints. Raises ProcessError also where its exit status is not 0."""
    done = run(command, timeout_s, name, **options)
    if done.returncode:
        plain = ("".join(filter(str.isprintable, line)).strip() for line in (done.stderr or done.stdout).splitlines())
        lines = [line.removeprefix(f"{command[0]}: ").removeprefix("error: ") for line in plain if line]
        message = "; ".join(lines)[:LONGEST_MESSAGE] or f"exit status {done.returncode}"
        raise ProcessError(f"{name or command[0]}: {message}")
    return done.stdout


def run_script(script: Path, *arguments: str, python: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """Run a script of the workflow with this Python and these options of Python's. Raises ProcessError."""
    return run([sys.executable, *python, str(script), *arguments], TIMEOUT_S, " ".join([script.name, *arguments[:1]]))


def ask(script: Path, question: Any, **options: Any) -> Any:
    """What a script of the workflow answers to a question that it reads from a file, both JSON. Raises ProcessError."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as asked:
        json.dump(question, asked)
        asked.flush()
        return json.loads(output_of([sys.executable, str(script), asked.name], name=script.name, **options))
