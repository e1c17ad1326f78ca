"""`gpd doctor`: what is here of what the pipelines need."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import which
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from gpd.commands.subcommands import Terminal, say
from gpd.machines import launcher, this_host, tool_checks
from gpd.machines.launcher import Limits
from gpd.machines.tool_checks import FoundTool, Tool
from gpd.paths import ROOT
from gpd.pipelines import PIPELINES
from gpd.processes import run_script
from gpd.records.host import Host
from gpd.text.formats import counted
from gpd.text.grid import Entry, Grid, group, rich_table

REPACKAGED = ROOT / ".tools" / "cufflinks" / "status"  # scripts/setup/cufflinks.sh
APPCDS_ARCHIVE = ROOT / ".tools" / "gatk" / "classes" / "status"  # scripts/setup/gatk.sh
GATK3_JAVA = ROOT / "workflow" / "scripts" / "germline" / "gatk3_java.py"
MAPPERS = ROOT / "workflow" / "scripts" / "resources" / "mappers.py"
OPEN_FILES = 4096  # sambamba sort and GenomicsDBImport keep hundreds of files open, several jobs run at once
MIB_PER_GIB = 1024


@dataclass(frozen=True)
class Report:
    """All of `gpd doctor`; `sources` says of each pipeline where its tools come from: path, conda, or no (nowhere).

    `notes` are those that set-up left, what mappers' indexes take, and which Java a jar of GATK 3 would run under.
    """

    findings: tuple[FoundTool, ...]
    host: Host
    limits: Limits
    sources: dict[str, str]
    notes: tuple[str, ...] = ()

    @property
    def warnings(self) -> list[str]:
        """What makes runs fail although the tools are here."""
        limit = self.host.open_files
        if limit is None or limit >= OPEN_FILES:
            return []
        what = "sorting and joint calling may run out of open files"
        return [f"ulimit -n is {limit}: {what}; run 'ulimit -n {OPEN_FILES}' first"]


def command(
    pipeline: Annotated[
        list[str] | None,
        typer.Option(help="A pipeline that has to run here (repeatable; default: all)."),
    ] = None,
    directory: Annotated[Path, typer.Option(help="Where runs will write.", exists=True, file_okay=False)] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show each tool with version and path, and the machine; fail when a pipeline could not run."""
    table = tool_checks.read_table()
    known = tool_checks.pipelines(table)
    pipelines = pipeline or [name for name in PIPELINES if name in known]
    if unknown := set(pipelines).difference(known):
        raise typer.BadParameter(f"{', '.join(sorted(unknown))}: the pipelines are {', '.join(known)}")
    report = inspect(table, pipelines, directory.resolve())
    if as_json:
        say(json.dumps(asdict(report) | {"warnings": report.warnings}, indent=2))
    else:
        show(report, table, Terminal())
    raise typer.Exit(1 if "no" in report.sources.values() else 0)


def inspect(table: Sequence[Tool], pipelines: Sequence[str], directory: Path) -> Report:
    """Run every tool for its version and look at the machine, as a run in the directory would meet it."""
    with ThreadPoolExecutor(max_workers=4) as pool:
        findings = tuple(pool.map(tool_checks.examine, table))
    conda = which("conda") or ""
    return Report(
        findings,
        this_host.look({str(folder): folder for folder in (directory, Path(tempfile.gettempdir()))}, window_s=0),
        launcher.limits(),
        {name: tool_checks.source(name, table, findings, conda) for name in pipelines},
        tuple(_notes()),
    )


def _notes() -> Iterator[str]:
    for status, prefix in ((REPACKAGED, ""), (APPCDS_ARCHIVE, "gatk: ")):
        lines = status.read_text(encoding="utf-8").splitlines() if status.exists() else []
        yield from (f"{prefix}{line}" for line in lines)
    yield from run_script(MAPPERS).stdout.splitlines()
    done = run_script(GATK3_JAVA)
    yield f"gatk3_jar, where the config names one: {(done.stdout or done.stderr).strip()}"


def show(report: Report, table: Sequence[Tool], console: Console) -> None:
    """Print the report: tools, machine, then one line a pipeline."""
    rows = []
    for one in report.findings:
        version = Entry(one.version or "?", style="green")
        problem = Entry(one.problem, style="red" if one.path else "yellow")
        rows.append((one.command, problem if one.problem else version, ", ".join(one.needed_by), one.path))
    heads = ("tool", "version", "needed by", "path")
    console.print(rich_table(Grid("", heads, (group(rows),), numeric=False, framed=False)))
    console.print(rich_table(_machine(report.host, report.limits)))
    for note in report.notes:
        console.print(note, soft_wrap=True)
    for warning in report.warnings:
        console.print(Text.assemble(("warning", "yellow"), f": {warning}"), soft_wrap=True)
    for pipeline, source in report.sources.items():
        if source == "no":
            console.print(Text.assemble((f"{pipeline} cannot run", "red"), ":"))
            for finding in tool_checks.lacking(pipeline, table, report.findings):
                console.print(f"  {finding.command} {finding.problem}: {finding.remedy}", soft_wrap=True)
        else:
            conda = " with 'snakemake --sdm conda', which brings what PATH lacks" if source == "conda" else ""
            console.print(Text.assemble((f"{pipeline} can run", "green"), conda), soft_wrap=True)
    if other := _other(report, table):
        console.print("missing, and in the way of what is named alone:")
    for finding in other:
        what = f"{finding.command} ({', '.join(finding.needed_by)}) {finding.problem}"
        console.print(f"  {what}: {finding.remedy}", soft_wrap=True)


def _other(report: Report, table: Sequence[Tool]) -> list[FoundTool]:
    """What is missing and keeps none of these pipelines from running."""
    named = {one.command for name in report.sources for one in tool_checks.lacking(name, table, report.findings)}
    return [one for one in report.findings if one.problem and one.command not in named]


def _machine(host: Host, limits: Limits) -> Grid:
    counts = (
        *((host.sockets, "socket"), (host.numa_nodes, "NUMA node"), (host.l3_groups, "L3 group")),
        *((host.cores, "core"), (host.threads, "CPU")),
    )
    parts = [counted(count, name) for count, name in counts if count is not None]
    parts += [] if host.smt is None else ["SMT" if host.smt else "no SMT"]
    memory, available = limits.memory_mib / MIB_PER_GIB, limits.memory_available_mib / MIB_PER_GIB
    rows = [
        ("processor", host.cpu_model or "?"),
        ("topology", f"{', '.join(parts) or '?'} ({limits.cpus} usable here)"),
        ("memory", f"{memory:.1f} GiB, {available:.1f} GiB available"),
        *(("free disk", f"{disk.free_gib:.1f} GiB in {folder}") for folder, disk in host.file_systems.items()),
        ("ulimit -n", str(host.open_files or "unlimited")),
    ]
    return Grid("", ("", ""), (group(rows),), numeric=False, framed=False)
