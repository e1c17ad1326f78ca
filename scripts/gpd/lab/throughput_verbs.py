"""The verbs of a study: show its plan, run it, and write its tables and report."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.table import Table

from gpd.comparison import agreement
from gpd.errors import Interrupted
from gpd.lab import cells, study_display, throughput
from gpd.lab.study import Cell
from gpd.reports import formats, report
from gpd.tables import collect
from gpd.tables.collect import CollectError, Tables

GO_ON = "the cells that have ended are kept, and this one is run again from its start: the same command goes on"
WORDS = ("pipeline", "mode", "binding")
FIGURES = {
    "genomes/day": "genomes_per_day",
    "30x human/day": "human_30x_per_day",
    "makespan, s": "makespan_s",
    "packing": "packing",
}
COLUMNS = {
    "pipeline": "pipeline",
    "samples at once": "n",
    "mode": "mode",
    "binding": "binding",
    "cells": "cells",
    "finished": "finished",
    "each about": "estimate_s",
}


def show_plan(plan: throughput.Plan, console: Console) -> None:
    """Print the grid, a row a point, and how long it may take."""
    settings = plan.study
    table = Table(title=f"Study {settings.name}: {plan.cores} cores, seed {settings.seed}", title_justify="left")
    for column in COLUMNS:
        table.add_column(column, justify="left" if column in WORDS else "right")
    for point in described(plan)["points"]:
        table.add_row(*(_cell(point[column]) for column in COLUMNS.values()))
    if table.row_count:
        console.print(table)
    for name, source in plan.sources.items():
        seeks = "" if settings.concurrent_samples else "; its knee is sought, so the cells are not known beforehand"
        console.print(f"{name}: a pool of {len(source.members)} samples{seeks}", highlight=False, soft_wrap=True)
    console.print(_outlook(plan), highlight=False, soft_wrap=True)


def described(plan: throughput.Plan) -> dict:
    """Return the plan for JSON: its points with cells planned and finished, and an estimate where there is one."""
    points: dict[tuple, list[Cell]] = {}
    for cell in plan.cells:
        points.setdefault((cell.pipeline, cell.n, cell.mode, cell.binding), []).append(cell)
    ordered = sorted(points.items())
    estimates = throughput.estimates_s(plan, [members[0] for _, members in ordered])
    return {
        "study": plan.study.name,
        "folder": str(plan.study.folder),
        "cores": plan.cores,
        "pools": {name: len(source.members) for name, source in plan.sources.items()},
        "points": [
            {
                **dict(zip(("pipeline", "n", "mode", "binding"), point, strict=True)),
                "cells": len(members),
                "finished": sum(cells.is_finished(plan.study.folder, cell) for cell in members),
                "estimate_s": estimate_s,
            }
            for (point, members), estimate_s in zip(ordered, estimates, strict=True)
        ],
    }


def _cell(value: object) -> str:
    if isinstance(value, float):
        return str(timedelta(seconds=round(value)))
    return "" if value is None else str(value)


def _outlook(plan: throughput.Plan) -> str:
    """Say how long what is left may take, and by what that is judged."""
    points = described(plan)["points"]
    left = [(point["estimate_s"], point["cells"] - point["finished"]) for point in points]
    if not sum(count for _, count in left):
        return "nothing is left to run" if points else "how long it takes shows when the first cells have ended"
    if None in (each for each, count in left if count):
        return "how long it takes shows when the first cells have ended: no run of this pool has left a ledger"
    total = timedelta(seconds=round(sum(each * count for each, count in left)))
    return f"{sum(count for _, count in left)} cells are left, about {total}"


def run(plan: throughput.Plan, console: Console) -> int:
    """Run what is left of a study, write its tables and report, and print what it came to; 1 where outputs disagree.

    Where a signal ends it, so do the cells that have ended, before Interrupted is raised.
    """
    try:
        with study_display.follow(console) as watcher:
            throughput.run(plan, watcher)
    except Interrupted as interrupted:
        if any(plan.study.folder.glob(f"*/{cells.RECORD}")):
            write(plan.study.folder, console)
        raise Interrupted(interrupted.signum, interrupted.jobs, GO_ON) from interrupted
    return write(plan.study.folder, console)


def write(study: Path, console: Console) -> int:
    """Collect a study's cells, write tables and report, and print the figures; 1 where outputs disagree.

    Raises CollectError where no cell has ended.
    """
    tables = collect.collect(study)
    if not tables.runs_json:
        raise CollectError(f"{study}: no cell of a study has ended here")
    collect.write(tables, study / collect.FOLDER)
    html, markdown = report.write(tables, study)
    for table in points_tables(tables):
        console.print(table)
    disagreements = agreement.disagreements(tables.runs_json)
    for each in disagreements:
        console.print(f"outputs disagree: {each.kind} of {', '.join(each.samples)}", style="bold red", soft_wrap=True)
    console.print(
        f"report: {html}\n        {markdown}\ntables: {study / collect.FOLDER}", highlight=False, soft_wrap=True
    )
    return 1 if disagreements else 0


def points_tables(tables: Tables) -> Iterator[Table]:
    """What each series came to, N by N: means over its repeats, and their standard errors."""
    for series, points in tables.points.groupby(list(WORDS), sort=False):
        table = Table(title=f"{', '.join(series)}: mean ± standard error over repeats", title_justify="left")
        for column in ("N", "runs", "failed", *FIGURES):
            table.add_column(column, justify="right")
        for point in points.itertuples():
            counts = (point.n, point.repeats, _failed(point))
            table.add_row(*map(str, counts), *(_with_error(point, name) for name in FIGURES.values()))
        yield table


def _failed(point) -> str:
    return f"{point.failed} ({point.failed_data} for bad data)" if point.failed_data else str(point.failed)


def _with_error(point, name: str) -> str:
    mean, error = (getattr(point, f"{name}_{part}") for part in ("mean", "se"))
    return " ".join(formats.with_error(_known(mean), _known(error))).strip()


def _known(value: float) -> float | None:
    return None if pd.isna(value) else value
