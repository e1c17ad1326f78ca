"""`gpd node`: what this node can do, measured: memory bandwidth, latency from core to core, clocks, disks."""

from pathlib import Path
from typing import Annotated

import typer

from gpd.commands.subcommands import say, terminal
from gpd.node.plan import REPEATS


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
        bool, typer.Option("--busy", help="Measure although others are at work on the node; the record says so.")
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
    import json
    import platform

    from gpd.commands import node_display
    from gpd.node import measure
    from gpd.records import node

    if schema:
        say(json.dumps(node.schema(), indent=1))
        return
    console = terminal()
    here = folder or measure.default_folder(platform.node())
    here.mkdir(parents=True, exist_ok=True)
    with node_display.progress(quiet=as_json) as tell:
        record = measure.measure(here, repeats, busy, tell)
    path = measure.write(record, here)
    if as_json:
        say(record.to_json().removesuffix("\n"))
    else:
        node_display.show(record, path, console)
