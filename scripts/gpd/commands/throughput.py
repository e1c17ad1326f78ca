"""`gpd throughput`: plan a study, and run what is left of it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from gpd.commands import report
from gpd.commands.verbs import Verbs, terminal
from gpd.errors import Interrupted

if TYPE_CHECKING:
    from gpd.lab.runner import Plan

GO_ON = "the cells that have ended are kept, and this one is run again from its start: the same command goes on"

app = typer.Typer(cls=Verbs, no_args_is_help=True, help="Measure how many samples a day this machine runs, for many N.")
StudyFile = Annotated[Path, typer.Argument(help="The study's settings.")]


@app.command()
def plan(
    settings: StudyFile = Path("config/throughput.yaml"),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the grid of a study, what of it is done, and about how long the rest takes.

    Example: gpd throughput plan config/throughput.yaml
    """
    from gpd.commands import throughput_display
    from gpd.lab import runner

    planned = runner.make_plan(settings)
    if as_json:
        typer.echo(json.dumps(throughput_display.described(planned), indent=2))
    else:
        throughput_display.show_plan(planned, terminal())


@app.command()
def run(
    settings: StudyFile = Path("config/throughput.yaml"),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and check the pools; run nothing.")] = False,
) -> None:
    """Run a study, or what is left of it, and write its tables and report.

    A sample that fails is part of the result: the exit code is 0. It is 1 where samples that ran in several cells gave
    different results, and 2 where the study can't be run.

    Example: gpd throughput run config/throughput.yaml
    """
    from gpd.commands import throughput_display
    from gpd.lab import runner

    planned = runner.make_plan(settings)
    if dry_run:
        throughput_display.show_plan(planned, terminal())
        runner.check(planned)
    else:
        raise typer.Exit(measure(planned, terminal()))


def measure(plan: "Plan", console: Console) -> int:
    """Run what is left of a study, write its tables and report, and print what it came to; 1 where outputs disagree.

    Where a signal ends it, so do the cells that have ended, before Interrupted is raised.
    """
    from gpd.commands import throughput_display
    from gpd.lab import cells, runner

    folder = plan.study.folder
    try:
        with throughput_display.follow(console) as watcher:
            runner.run(plan, watcher)
    except Interrupted as interrupted:
        if any(folder.glob(f"*/{cells.RECORD}")):
            report.write(folder, console)
        raise Interrupted(interrupted.signum, interrupted.jobs, GO_ON) from interrupted
    return report.write(folder, console)
