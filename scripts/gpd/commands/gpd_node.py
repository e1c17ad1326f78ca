"""`gpd node`: what this node can do, measured: memory bandwidth, latency from core to core, clocks, disks."""

import json
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from gpd.commands.subcommands import Terminal, print_grids, print_lines, say, terminal
from gpd.node.node_plan import REPEATS

if TYPE_CHECKING:
    from gpd.records.node import NodeRecord


def command(
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Where the record goes, in the file system that studies write to. Default: runs/node/HOSTNAME.",
            file_okay=False,
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, max=20, help="Repeats of each bandwidth.")] = REPEATS,
    busy: Annotated[
        bool,
        typer.Option("--busy", help="Measure although other processes are at work on the node; the record says so."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the record.")] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of records, and measure nothing.")
    ] = False,
) -> None:
    """Measure this node: memory bandwidth by likwid-bench, latency from core to core, clocks, disks, and its test bed.

    On an idle machine it takes about 2 minutes on 2 cores, some 10 on 128, and no superuser. What can't be measured
    is missing, with the reason. The record, node.json, goes with each study that 'gpd throughput run' makes here from
    then on.

    Example: gpd node
    """
    from gpd.node import node_measuring
    from gpd.records import node

    if schema:
        say(json.dumps(node.schema(), indent=1))
        return
    here = folder or node_measuring.default_folder(platform.node())
    here.mkdir(parents=True, exist_ok=True)
    with Terminal(stderr=True, quiet=as_json).status("") as status:  # a line that is overwritten
        record = node_measuring.measure(here, repeats, busy, lambda what: status.update(Text(what)))
    path = node_measuring.write(record, here)
    if as_json:
        say(record.to_json().removesuffix("\n"))
    else:
        show(record, path, terminal())


def show(record: "NodeRecord", path: Path, console: Console) -> None:
    """Print the tables of the report."""
    from gpd.reports import node_findings

    for warning in record.warnings:
        console.print(Text(f"warning: {warning}", "yellow"), soft_wrap=True)
    for grid in node_findings.grids(record):
        print_grids(console, [grid])
        console.print()
    print_lines(console, [node_findings.about(record), f"record: {path}"])
