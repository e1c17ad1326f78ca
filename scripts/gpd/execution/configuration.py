"""Ask the workflow what a configuration and its tables say, through its command line; it is never imported."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpd.asking import ask
from gpd.paths import ROOT

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


def read(configs: Sequence[Path], directory: Path, pipeline: str | None = None) -> Configuration:
    """Read a configuration as the workflow would in `directory`. Raises ConfigurationError."""
    chosen = ["--pipeline", pipeline] if pipeline else []
    files = [str(path.absolute()) for path in configs]
    answer = ask(TABLES, "--directory", str(directory), *chosen, "--", *files)
    if answer.status:
        raise ConfigurationError(answer.complaint)
    told = json.loads(answer.output)
    return Configuration(told["config"], tuple(told["samples"]), tuple(told["units"]))
