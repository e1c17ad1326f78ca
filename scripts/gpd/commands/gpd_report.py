"""`gpd report`: the tables and the report of a study, made anew."""

from itertools import chain
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from gpd.commands.subcommands import print_grids, print_lines, terminal

ON_TERMINAL = 4  # columns


def command(
    study: Annotated[Path, typer.Argument(help="A study's folder, as runs/study.", exists=True, file_okay=False)],
) -> None:
    """Write a study's tables and its report anew from the runs that have ended.

    The exit code is 1 where samples that ran in several runs gave different results, 2 where no run has ended.

    Example: gpd report runs/study
    """
    raise typer.Exit(write(study, terminal()))


def write(study: Path, console: Console) -> int:
    """Collect a study's runs, write tables and report, and print the tables; 1 where outputs disagree.

    Raises CollectError where no run has ended, and where they are of several machines.
    """
    from gpd.comparison import agreement
    from gpd.reports import grids, report
    from gpd.tables import collect, disturbances, repeats
    from gpd.tables.columns import CLOCKS

    tables = collect.of_one_machine(study)
    if not tables.records:
        raise collect.CollectError(f"{study}: no run of a study has ended here")
    collect.write(tables, study / collect.FOLDER)
    html = report.write(tables, study)
    of_curves = [
        (
            grids.search_grid(curve_key, tables),
            grids.configurations_grid(curve_key, tables.configurations),
            *(
                grid
                for clock in CLOCKS
                for grid in grids.step_grids(curve_key, clock, tables.summary, tables.configurations, ON_TERMINAL)
            ),
        )
        for curve_key in grids.searched_curves(tables)
    ]
    found = (*chain.from_iterable(of_curves), grids.stream_grid(tables.streams))
    print_grids(console, [grid for grid in found if grid is not None and grid.groups[0].lines])
    print_lines(console, disturbances.lines(disturbances.in_means(tables.runs)))
    print_lines(console, map(str, repeats.stops(tables.plan, tables.configurations)))
    disagreements = agreement.disagreements(tables.records)
    for output in disagreements:
        console.print(
            f"outputs disagree: {output.kind} of {', '.join(output.samples)}", style="bold red", soft_wrap=True
        )
    print_lines(console, [f"report: {html}", f"tables: {study / collect.FOLDER}"])
    return 1 if disagreements else 0
