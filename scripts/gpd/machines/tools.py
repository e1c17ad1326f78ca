"""The table of tools (`tools.tsv`, beside this file) and what can be said of a tool without running it."""

import csv
import re
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

TABLE = Path(__file__).with_name("tools.tsv")
NOT_PIPELINES = {"demo", "lab", "setup"}

_LEADING = re.compile(r"\d+(\.\d+)*")
_NUMBER = re.compile(r"(?<![\w.])[vV]?(\d+(?:\.\d+)+[\w.+-]*)")


@dataclass(frozen=True)
class Tool:
    """A row of the table; `status` is the exit status with which the tool says its version."""

    command: str
    arguments: tuple[str, ...]
    status: int
    minimum: str
    apt: tuple[str, ...]
    conda: str
    needed_by: tuple[str, ...]
    purpose: str

    def remedy(self) -> str:
        """Say how to get the tool."""
        ways = ["make setup" if self.apt == (".",) else f"apt-get install {self.apt[0]}"] if self.apt else []
        if self.conda:
            ways.append(f"snakemake --sdm conda (envs/{self.conda})")
        return ", or ".join(ways) or "yours to bring, or its jar (gatk3_jar in docs/how-to/install.md)"


def read_table(path: Path = TABLE) -> list[Tool]:
    """Read the table; an error names the line that does not have the form."""
    with path.open(encoding="utf-8") as lines:
        rows = [(number, line) for number, line in enumerate(lines, 1) if not line.startswith("#")]
    table = csv.reader((line for _, line in rows), delimiter="\t", quoting=csv.QUOTE_NONE)
    _, *records = table
    return [_tool(path, number, record) for (number, _), record in zip(rows[1:], records, strict=True)]


def _tool(path: Path, number: int, record: list[str]) -> Tool:
    try:
        command, arguments, status, minimum, apt, conda, needed_by, purpose = (
            "" if field == "-" else field for field in record
        )
        return Tool(
            command,
            tuple(arguments.split()),
            int(status),
            minimum,
            tuple(filter(None, apt.split("|"))),
            conda,
            tuple(needed_by.split(",")),
            purpose,
        )
    except ValueError as error:
        raise ValueError(f"{path.name} line {number}: {error}") from None


def pipelines(tools: list[Tool]) -> list[str]:
    """Return the pipelines that the table knows."""
    return sorted({name for tool in tools for name in tool.needed_by} - NOT_PIPELINES)


def needed(tools: list[Tool], pipeline: str) -> list[Tool]:
    """Return the tools that the pipeline runs; `germline-gatk3` is germline with all nine steps."""
    names = {pipeline, pipeline.partition("-")[0]}
    return [tool for tool in tools if names.intersection(tool.needed_by)]


def version_in(output: str) -> str:
    """Return the first version number of what a tool printed, empty when there is none."""
    found = _NUMBER.search(output)
    return found.group(1) if found else ""


def at_least(version: str, minimum: str) -> bool:
    """Compare the leading numbers of two versions: 1.16.1-2 is at least 1.10."""
    return _leading(version) >= _leading(minimum)


def _leading(version: str) -> Version:
    """The numbers alone: what follows them is each tool's own (0.7.17-r1188), and no release of Python's to compare."""
    found = _LEADING.match(version)
    return Version(found[0] if found else "0")
