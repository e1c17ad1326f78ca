"""Which of the tools that the pipelines need are here, and whether they run and are new enough.

`inspect` looks at this machine; `verdict` and the functions below it only judge what was seen.
"""

import shutil
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from gpd.machines.machine import TIMEOUT_S, Machine, answer, look
from gpd.machines.tools import Tool, at_least, needed, version_in
from gpd.paths import ROOT

CURES = ROOT / ".tools" / "cufflinks" / "status"  # scripts/setup/cufflinks.sh
CLASS_ARCHIVE = ROOT / ".tools" / "gatk" / "classes" / "status"  # scripts/setup/gatk.sh
GATK3_JAVA = ROOT / "workflow" / "scripts" / "germline" / "gatk3_java.py"
OPEN_FILES = 4096  # sambamba sort and GenomicsDBImport keep hundreds of files open, several jobs run at once


@dataclass(frozen=True)
class Finding:
    """One tool on this machine; `problem` is empty when it runs and is new enough."""

    command: str
    version: str
    path: str
    needed_by: tuple[str, ...]
    problem: str
    remedy: str


@dataclass(frozen=True)
class Report:
    """All of `gpd doctor`; `verdicts` names for each pipeline how it runs: path, conda, or not at all; `cures` are the
    packaging defects that set-up found, and what it did about them; `class_archive` says whether gatk starts from an
    archive of its classes; `gatk3_java` is the Java 8 that a jar of GATK 3 would run under, or why there is none."""

    findings: tuple[Finding, ...]
    machine: Machine
    verdicts: dict[str, str]
    cures: tuple[str, ...] = ()
    class_archive: str = ""
    gatk3_java: str = ""

    @property
    def healthy(self) -> bool:
        """Whether every pipeline that was asked for can run."""
        return "no" not in self.verdicts.values()


def judge(tool: Tool, path: str, status: int | None, output: str) -> Finding:
    """Judge a tool by how it answered; no path: not found, no status: it had to be stopped."""

    def finding(version: str, problem: str) -> Finding:
        return Finding(tool.command, version, path, tool.needed_by, problem, tool.remedy() if problem else "")

    if not path:
        return finding("", "missing")
    if status is None:
        return finding("", f"broken: no answer within {TIMEOUT_S:.0f} s")
    version = version_in(output)
    if status != tool.status or not (version or _silent_about_version(tool)):
        return finding("", f"broken: exit status {status}: {_last_line(output)}")
    if tool.minimum and not at_least(version, tool.minimum):
        return finding(version, f"too old: {tool.minimum} or newer is needed")
    return finding(version, "")


def _silent_about_version(tool: Tool) -> bool:
    # numactl has no way to say its version, and Debian's time says UNKNOWN
    return not tool.minimum


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


def verdict(pipeline: str, tools: list[Tool], findings: Iterable[Finding], conda: str) -> str:
    """Say where the pipeline's tools come from: `path`, `conda` (snakemake --sdm conda), or `no`: nowhere."""
    failed = {finding.command for finding in findings if finding.problem}
    lacking = [tool for tool in needed(tools, pipeline) if tool.command in failed]
    if not lacking:
        return "path"
    return "conda" if conda and all(tool.conda for tool in lacking) else "no"


def lacking(pipeline: str, tools: list[Tool], findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that keep the pipeline from running with the tools on PATH."""
    commands = {tool.command for tool in needed(tools, pipeline)}
    return [finding for finding in findings if finding.problem and finding.command in commands]


def warnings(machine: Machine) -> list[str]:
    """Name what lets runs fail that the tools alone would not."""
    found = []
    if machine.open_files < OPEN_FILES:
        found.append(
            f"ulimit -n is {machine.open_files}: sorting and joint calling may run out of open files; "
            f"run 'ulimit -n {OPEN_FILES}' first"
        )
    return found


# ---- looking at this machine --------------------------------------------------------------------------


def inspect(tools: list[Tool], pipelines: list[str], directory: Path) -> Report:
    """Run every tool for its version and look at the machine, as a run in the directory would meet it."""
    with ThreadPoolExecutor(max_workers=4) as pool:
        findings = tuple(pool.map(examine, tools))
    machine = look(directory)
    return Report(
        findings,
        machine,
        {pipeline: verdict(pipeline, tools, findings, machine.conda) for pipeline in pipelines},
        tuple(said_by_set_up(CURES).splitlines()),
        said_by_set_up(CLASS_ARCHIVE).strip(),
        answer([sys.executable, str(GATK3_JAVA)])[1].strip(),
    )


def said_by_set_up(status: Path) -> str:
    """What a step of set-up left for this command to show; nothing where it had nothing to do."""
    return status.read_text(encoding="utf-8") if status.exists() else ""


def examine(tool: Tool) -> Finding:
    """Look for a tool on PATH and run it."""
    path = shutil.which(tool.command)
    if path is None:
        return judge(tool, "", None, "")
    status, output = answer([path, *tool.arguments])
    return judge(tool, path, status, output)
