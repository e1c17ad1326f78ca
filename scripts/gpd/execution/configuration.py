"""Ask the workflow what a configuration and its tables say, through its command line; it is never imported."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpd.paths import ROOT

TABLES = ROOT / "workflow" / "scripts" / "tables.py"
TIMEOUT_S = 120.0

Row = dict[str, str]


class ConfigurationError(ValueError):
    """A configuration or a table that the workflow would refuse; the message is one line a fault."""


@dataclass(frozen=True)
class Configuration:
    """A configuration, and the rows of its tables by column; what they leave out has the workflow's defaults."""

    config: Mapping[str, Any]
    samples: tuple[Row, ...]
    units: tuple[Row, ...]


def read(configs: Sequence[Path], directory: Path, pipeline: str | None = None) -> Configuration:
    """Read a configuration as the workflow would in `directory`. Raises ConfigurationError."""
    chosen = ["--pipeline", pipeline] if pipeline else []
    command = [
        sys.executable,
        str(TABLES),
        "--directory",
        str(directory),
        *chosen,
        "--",
        *(str(path.absolute()) for path in configs),
    ]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ConfigurationError(f"{TABLES.name}: no answer within {TIMEOUT_S:.0f} s") from error
    if done.returncode:
        raise ConfigurationError(done.stderr.strip())
    told = json.loads(done.stdout)
    return Configuration(told["config"], tuple(told["samples"]), tuple(told["units"]))
