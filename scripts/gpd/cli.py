"""The command line `gpd`: it only finds the subcommands, each of which is a module of `commands`."""

import os
import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from gpd.commands.subcommands import Subcommands, say

EXIT_CODES = (
    "Exit codes: 0 done; 1 done, and something in it failed or does not hold (the output says what); "
    "2 not done: wrong arguments, settings or input; 130 ended by Ctrl-C (by another signal, 128 and its number)."
)
TO_SNAKEMAKE = {"allow_extra_args": True, "ignore_unknown_options": True}  # what a subcommand does not know
NAMES = (
    *(
        "doctor",
        "init",
        "reference",
        "fetch",
        "run",
        "deliver",
        "demo",
        "benchmark",
        "topology",
        "node",
        "throughput",
        "scaling",
    ),
    *("report", "compare", "size", "package", "ledger"),
)


class Lazy(Subcommands):
    """Imports a subcommand's module when it is asked for: all of them take as long as a short one does its work."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override] # typer's own kind of context
        return list(NAMES)

    def get_command(self, ctx: typer.Context, cmd_name: str) -> object:  # type: ignore[override] # likewise
        if cmd_name in NAMES and cmd_name not in self.commands:
            self.add_command(subcommand(cmd_name), cmd_name)
        return self.commands.get(cmd_name)


def subcommand(name: str) -> Any:
    """One of the subcommands, of its module."""
    module = import_module(f"gpd.commands.gpd_{name}")
    if hasattr(module, "app"):
        group = typer.main.get_group(module.app)
        group.name = name  # help shows it
        return group
    alone = typer.Typer(add_completion=False)
    alone.command(name, context_settings=TO_SNAKEMAKE if name == "run" else None)(module.command)
    return typer.main.get_command(alone)


app = typer.Typer(cls=Lazy, no_args_is_help=True, pretty_exceptions_enable=False, epilog=EXIT_CODES)


@app.callback()
def main() -> None:
    """Genomes per Day: run the workflows of this repository and measure them."""
    # tools are found as in the activated environment, also where it is not activated
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    warnings.showwarning = lambda message, *_: say(f"gpd: warning: {message}", err=True)
