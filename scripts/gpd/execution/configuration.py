"""The workflow's configuration and tables, as the workflow itself reads them: its script is run, never imported."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpd.paths import ROOT
from gpd.processes import run_script

TABLES = ROOT / "workflow" / "scripts" / "checks" / "tables.py"

Row = dict[str, str]


class ConfigurationError(ValueError):
    """A configuration or a table that the workflow would refuse; the message is one line a fault."""


@dataclass(frozen=True)
class Configuration:
    """A configuration, and the rows of its tables by column; what they leave out has the workflow's defaults."""

    config: Mapping[str, Any]
    samples: tuple[Row, ...]
    units: tuple[Row, ...]
    addresses: Mapping[str, str]  # by the file that is made of each


def read(configs: Sequence[Path], directory: Path, pipeline: str | None = None) -> Configuration:
    """Read a configuration as the workflow would in `directory`. Raises ConfigurationError."""
    chosen = ["--pipeline", pipeline] if pipeline else []
    files = [str(path.absolute()) for path in configs]
    done = run_script(TABLES, "--directory", str(directory), *chosen, "--", *files)
    if done.returncode:
        raise ConfigurationError(done.stderr.strip())
    found = json.loads(done.stdout)
    return Configuration(found["config"], tuple(found["samples"]), tuple(found["units"]), found["addresses"])
