"""The command line `gpd`: it only registers the subcommands, each of which is a module of `commands`."""

import os
import sys
import warnings
from pathlib import Path

import typer

from gpd.commands import (
    benchmark,
    compare,
    demo,
    doctor,
    ledger,
    node,
    package,
    report,
    run,
    scaling,
    size,
    throughput,
    topology,
)
from gpd.commands.subcommands import Subcommands, say

EXIT_CODES = (
    "Exit codes: 0 done; 1 done, and something in it failed or does not hold (the output says what); "
    "2 not done: wrong arguments, settings or input; 130 ended by Ctrl-C (by another signal, 128 and its number)."
)
TO_SNAKEMAKE = {"allow_extra_args": True, "ignore_unknown_options": True}  # what a subcommand does not know

app = typer.Typer(cls=Subcommands, no_args_is_help=True, pretty_exceptions_enable=False, epilog=EXIT_CODES)


@app.callback()
def main() -> None:
    """Genomes per Day: run the workflows of this repository and measure them."""
    # tools are found as in the activated environment, also where it is not activated
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    warnings.showwarning = lambda message, *_: say(f"gpd: warning: {message}", err=True)


SUBCOMMANDS = (
    *(doctor, run, demo, benchmark, topology, node, throughput, scaling, report, compare, size, package, ledger),
)

for module in SUBCOMMANDS:
    name = module.__name__.rpartition(".")[2]
    if hasattr(module, "app"):
        app.add_typer(module.app, name=name)
    else:
        app.command(name, context_settings=TO_SNAKEMAKE if module is run else None)(module.command)
