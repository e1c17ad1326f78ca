"""`gpd throughput`: plan a study, and run what is left of it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from gpd.commands import gpd_report
from gpd.commands.subcommands import Subcommands, print_lines, say, terminal
from gpd.errors import Interrupted

if TYPE_CHECKING:
    from gpd.lab.study_state import StudyPlan

GO_ON = "the runs that have ended are kept, and this one is run again from its start: the same command goes on"

app = typer.Typer(
    cls=Subcommands, no_args_is_help=True, help="Measure how many samples a day this machine runs, for many N."
)
StudyFile = Annotated[Path, typer.Argument(help="The study's settings.")]


@app.command()
def plan(
    settings: StudyFile = Path("config/throughput.yaml"),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the plan of a study, what of it is done, and about how long the rest takes.

    Example: gpd throughput plan config/throughput.yaml
    """
    from gpd.commands import throughput_display
    from gpd.lab import study_plan

    planned = study_plan.make_plan(settings)
    if as_json:
        say(json.dumps(throughput_display.described(planned), indent=2))
    else:
        throughput_display.show_plan(planned, terminal())


@app.command()
def run(
    settings: StudyFile = Path("config/throughput.yaml"),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and check the pools; run nothing.")] = False,
) -> None:
    """Run a study, or what is left of it, and write its tables and report.

    A sample that fails is part of the result: the exit code is 0. It is 1 where samples that ran in several runs gave
    different results, and 2 where the study can't be run.

    Example: gpd throughput run config/throughput.yaml
    """
    from gpd.commands import throughput_display
    from gpd.lab import runner, study_plan
    from gpd.lab.study_runs import StudyError

    planned = study_plan.make_plan(settings)
    if dry_run:
        throughput_display.show_plan(planned, terminal())
        runner.check(planned.sources.values())
    elif planned.too_many:
        raise StudyError(f"{settings}: {planned.too_many}: leave cores out, or name no more")
    else:
        raise typer.Exit(measure(planned, terminal()))


def measure(plan: "StudyPlan", console: Console, after_run: Callable[[], None] | None = None) -> int:
    """Run what is left of a study, write its tables and report, and print what it came to; 1 where outputs disagree.

    Where a signal ends it, so do the runs that have ended, before Interrupted is raised.
    """
    from gpd.lab import node_record

    folder = plan.study.folder
    if warning := node_record.take(folder):
        print_lines(console, [warning])
    run_runs(plan, console, lambda: gpd_report.write(folder, console), after_run)
    return gpd_report.write(folder, console)


def run_runs(
    plan: "StudyPlan", console: Console, write: Callable[[], object], after_run: Callable[[], None] | None = None
) -> list[str]:
    """Run what is left of a study, shown live; the names of runs that failed.

    Where a signal or bad data ends it, runs that have ended are written before Interrupted or BadDataError is raised.
    """
    from gpd.commands import throughput_display
    from gpd.lab import failed_samples, runner, single_run

    try:
        with throughput_display.follow(console, after_run) as callbacks:
            return runner.run(plan, callbacks)
    except Interrupted as interrupted:
        if any(plan.study.folder.glob(f"*/{single_run.RECORD}")):
            write()
        raise Interrupted(interrupted.signum, interrupted.jobs, GO_ON) from interrupted
    except failed_samples.BadDataError:
        write()
        raise
