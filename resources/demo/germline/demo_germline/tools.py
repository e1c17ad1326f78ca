"""The external tools, always started from argument lists and never through a shell."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

NEEDED = ("dwgsim", "samtools", "bgzip", "tabix")


class ToolError(RuntimeError):
    """A tool is missing or failed; the message is one line."""


def require_tools() -> None:
    """Raise ToolError naming every tool that is not on the PATH."""
    missing = [tool for tool in NEEDED if shutil.which(tool) is None]
    if missing:
        raise ToolError(f"not found on the PATH: {', '.join(missing)}; `make setup` installs them")


def run(command: list[str], data: bytes | None = None) -> bytes:
    """Run a command with `data` as its input and return its output.

    Raises:
        ToolError: it ended with an exit code other than zero; the message holds the last line it printed.
    """
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    if done.returncode:
        output = done.stderr.decode(errors="replace").strip().splitlines() or ["(no message)"]
        raise ToolError(f"{command[0]} failed with exit code {done.returncode}: {output[-1]}")
    return done.stdout


def bgzip(data: bytes, path: Path) -> None:
    """Write `data` gzipped in blocks; the same data give the same bytes, since no time is stored."""
    path.write_bytes(run(["bgzip", "-c", "-l", "4"], data))


def write_indexed_vcf(text: str, path: Path) -> None:
    """Write a VCF compressed, with its tabix index beside it."""
    bgzip(text.encode("ascii"), path)
    run(["tabix", "-f", "-p", "vcf", str(path)])
