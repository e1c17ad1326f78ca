"""`gpd doctor`: what is here of what the pipelines need."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from gpd.commands.subcommands import Pipeline, Terminal, say
from gpd.machines.examine import Finding, Report, inspect, lacking, warnings
from gpd.machines.machine import Machine
from gpd.machines.tools import Tool, read_table
from gpd.machines.tools import pipelines as known_pipelines
from gpd.text.grid import Entry, Grid, group, rich_table


def command(
    pipeline: Annotated[
        list[str] | None,
        typer.Option(help="A pipeline that has to run here (repeatable; default: all)."),
    ] = None,
    directory: Annotated[Path, typer.Option(help="Where runs will write.", exists=True, file_okay=False)] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show each tool with version and path, and the machine; fail when a pipeline could not run."""
    table = read_table()
    pipelines = pipeline or [name for name in Pipeline if name in known_pipelines(table)]
    if unknown := set(pipelines).difference(known_pipelines(table)):
        raise typer.BadParameter(f"{', '.join(sorted(unknown))}: the pipelines are {', '.join(known_pipelines(table))}")
    report = inspect(table, pipelines, directory.resolve())
    if as_json:
        say(to_json(report))
    else:
        show(report, table, Terminal())
    raise typer.Exit(0 if report.healthy else 1)


def show(report: Report, tools: list[Tool], console: Console) -> None:
    """Print the report: tools, machine, then one line a pipeline."""
    console.print(rich_table(_tools(report.findings)))
    console.print(rich_table(_machine(report.machine)))
    for cure in report.cures:
        console.print(cure, soft_wrap=True)
    if report.class_archive:
        console.print(f"gatk: {report.class_archive}", soft_wrap=True)
    if report.gatk3_java:
        console.print(f"gatk3_jar, where the config names one: {report.gatk3_java}", soft_wrap=True)
    for warning in warnings(report.machine):
        console.print(Text.assemble(("warning", "yellow"), f": {warning}"), soft_wrap=True)
    for pipeline, how in report.verdicts.items():
        for line in _verdict_lines(pipeline, how, lacking(pipeline, tools, report.findings)):
            console.print(line, soft_wrap=True)


def _tools(findings: Iterable[Finding]) -> Grid:
    rows = ((one.command, _version(one), ", ".join(one.needed_by), one.path or "") for one in findings)
    heads = ("tool", "version", "needed by", "path")
    return Grid("", heads, (group(rows),), figures=False, framed=False)


def _version(finding: Finding) -> Entry:
    if finding.problem:
        return Entry(finding.problem, style="red" if finding.path else "yellow")
    return Entry(finding.version or "?", style="green")


def _machine(machine: Machine) -> Grid:
    topology = machine.topology
    counts = (
        (topology.sockets, "socket"),
        (topology.numa_nodes, "NUMA node"),
        (topology.l3_groups, "L3 group"),
        (topology.cores, "core"),
        (topology.cpus, "CPU"),
    )
    parts = [f"{count} {name}{'s' * (count != 1)}" for count, name in counts if count is not None]
    smt = {None: "", 1: ", no SMT"}.get(topology.threads_per_core, f", SMT {topology.threads_per_core}")
    rows = [
        ("processor", machine.model or "?"),
        ("topology", f"{', '.join(parts) or '?'}{smt} ({machine.usable_cpus} usable here)"),
        ("memory", f"{machine.memory_gib:.1f} GiB, {machine.available_gib:.1f} GiB available"),
        *(("free disk", f"{disk.free_gib:.1f} GiB in {disk.path}") for disk in machine.disks),
        ("ulimit -n", str(machine.open_files)),
    ]
    return Grid("", ("", ""), (group(rows),), figures=False, framed=False)


def _verdict_lines(pipeline: str, how: str, missing: list[Finding]) -> list[Text]:
    if how in ("path", "conda"):
        brings = " with 'snakemake --sdm conda', which brings what PATH lacks" if how == "conda" else ""
        return [Text.assemble((f"{pipeline} can run", "green"), brings)]
    faults = [Text(f"  {finding.command} {finding.problem}: {finding.remedy}") for finding in missing]
    return [Text.assemble((f"{pipeline} cannot run", "red"), ":"), *faults]


def to_json(report: Report) -> str:
    """Return the report as JSON, field names as in the classes above."""
    return json.dumps(asdict(report) | {"warnings": warnings(report.machine)}, indent=2)
