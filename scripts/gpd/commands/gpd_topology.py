"""`gpd topology`: the CPUs of a machine, and the CPU sets that jobs get of them."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from gpd.commands.subcommands import Terminal, say
from gpd.machines import launcher, topology

Binding = Literal["compact", "scatter"]
Boundary = Literal["l3", "numa", "socket"]


def command(
    xml: Annotated[
        Path | None,
        typer.Option(help="Another machine, as 'lstopo --of xml' wrote it. Default: this one.", exists=True),
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads of a job.")] = 4,
    binding: Annotated[Binding, typer.Option(help="Fill one group after the other, or spread.")] = "compact",
    boundary: Annotated[Boundary, typer.Option(help="What a job should not cross.")] = "l3",
    smt: Annotated[bool, typer.Option("--smt", help="Hyperthreads are CPUs. Default: jobs get whole cores.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the machine's packages, NUMA nodes, L3 groups and cores, and the CPU sets that jobs get of them.

    Example: gpd topology --threads 8 --binding scatter --boundary numa
    """
    layout = launcher.lay_out(topology.Policy(threads, binding, boundary, smt), xml)
    if as_json:
        say(topology.to_json(layout))
    else:
        topology.show(layout, xml.stem if xml else "this machine", Terminal())
