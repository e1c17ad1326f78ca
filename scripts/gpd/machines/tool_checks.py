"""The tools that the pipelines need (`workflow/tools.tsv`): whether they are here, run and are new enough."""

import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from packaging.version import Version

from gpd import files
from gpd.machines import remedies
from gpd.paths import ROOT
from gpd.processes import ProcessError, run

TABLE = ROOT / "workflow" / "tools.tsv"
NOT_PIPELINES = {"demo", "lab", "setup"}
TIMEOUT_S = 60.0

_LEADING = re.compile(r"\d+(\.\d+)*")
_NUMBER = re.compile(r"(?<![\w.])[vV]?(\d+(?:\.\d+)+[\w.+-]*)")


@dataclass(frozen=True)
class Tool:
    """A row of the table; `status` is the exit status with which the tool prints its version."""

    command: str
    arguments: tuple[str, ...]
    status: int
    minimum: str
    apt: tuple[str, ...]
    conda: str
    needed_by: tuple[str, ...]
    purpose: str

    def remedy(self) -> str:
        """The command that brings the tool to this machine."""
        return remedies.remedy(self.apt, self.conda)


@dataclass(frozen=True)
class FoundTool:
    """One tool on this machine; `problem` is empty when it runs and is new enough."""

    command: str
    version: str
    path: str
    needed_by: tuple[str, ...]
    problem: str
    remedy: str


def read_table() -> list[Tool]:
    """The tools, in the order of the table."""
    rows = files.read_table(TABLE)
    return [_tool({name: "" if text == "-" else text for name, text in row.items()}) for row in rows]


def _tool(row: dict[str, Any]) -> Tool:
    row |= {"arguments": tuple(row["arguments"].split()), "status": int(row["status"])}
    row |= {"apt": tuple(filter(None, row["apt"].split("|"))), "needed_by": tuple(row["needed_by"].split(","))}
    return Tool(**row)


def pipelines(tools: Iterable[Tool]) -> list[str]:
    """The pipelines that the table knows."""
    return sorted({name for tool in tools for name in tool.needed_by} - NOT_PIPELINES)


def needed(tools: Iterable[Tool], pipeline: str) -> list[Tool]:
    """The tools that the pipeline runs; `germline-gatk3` is germline with all nine steps."""
    names = {pipeline, pipeline.partition("-")[0]}
    return [tool for tool in tools if names.intersection(tool.needed_by)]


def examine(tool: Tool) -> FoundTool:
    """Look for a tool on PATH and run it for its version."""
    path = shutil.which(tool.command) or ""
    version, problem = "", "missing"
    if path:
        try:
            done = run([path, *tool.arguments], TIMEOUT_S, stderr=subprocess.STDOUT)
            version, problem = _judge(tool, done.returncode, done.stdout)
        except ProcessError as error:
            problem = f"broken: {error}"
    return FoundTool(tool.command, version, path, tool.needed_by, problem, tool.remedy() if problem else "")


def _judge(tool: Tool, status: int, output: str) -> tuple[str, str]:
    """The version, and what is wrong with it. numactl prints none, and Debian's time UNKNOWN: these have no minimum."""
    version = version_in(output)
    if status != tool.status or (tool.minimum and not version):
        lines = output.strip().splitlines() or ["no output"]
        return "", f"broken: exit status {status}: {lines[-1].strip()}"
    if tool.minimum and not at_least(version, tool.minimum):
        return version, f"too old: {tool.minimum} or newer is needed"
    return version, ""


def source(pipeline: str, tools: Iterable[Tool], findings: Sequence[FoundTool], conda: str) -> str:
    """Where the pipeline's tools come from: `path`, `conda` (snakemake --sdm conda), or `no`: nowhere."""
    failed = {finding.command for finding in lacking(pipeline, tools, findings)}
    if not failed:
        return "path"
    return "conda" if conda and all(tool.conda for tool in tools if tool.command in failed) else "no"


def lacking(pipeline: str, tools: Iterable[Tool], findings: Iterable[FoundTool]) -> list[FoundTool]:
    """The findings that keep the pipeline from running with the tools on PATH."""
    commands = {tool.command for tool in needed(tools, pipeline)}
    return [finding for finding in findings if finding.problem and finding.command in commands]


def conda_options(pipeline: str) -> list[str]:
    """Snakemake's options for where tools come from: conda, where it is there and PATH lacks one."""
    missing = any(not shutil.which(tool.command) for tool in needed(read_table(), pipeline))
    return ["--sdm", "conda"] if missing and shutil.which("conda") else []


def version_in(output: str) -> str:
    """The first version number of what a tool printed, empty when there is none."""
    found = _NUMBER.search(output)
    return found[1] if found else ""


def at_least(version: str, minimum: str) -> bool:
    """Compare the leading numbers of two versions: 1.16.1-2 is at least 1.10, and 0.7.17-r1188 is 0.7.17."""
    found, least = _LEADING.match(version), _LEADING.match(minimum)
    return Version(found[0] if found else "0") >= Version(least[0] if least else "0")
