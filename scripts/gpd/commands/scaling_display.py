"""What a person sees of a scaling study: its plan, which cell runs, and what it came to."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from itertools import groupby

from rich.console import Console
from rich.table import Table

from gpd.commands.throughput_display import StudyDisplay, live
from gpd.records.scaling import Point, ScalingCell
from gpd.reports.grids import row_dicts
from gpd.scaling import plan, results
from gpd.scaling.results import Results
from gpd.scaling.run import Study, Watcher
from gpd.tables.rows import Row
from gpd.text.formats import counted, number, with_error

PLANNED = ("step", "threads", "binding", "occupancy", "copies", "cells", "finished", "each about")
CAME_TO = (
    "step",
    "binding",
    "occupancy",
    "threads",
    "copies",
    "runs",
    "step, s",
    "steps/hour",
    "CPU s",
    "efficiency",
    "peak, MiB",
)
WORDS = ("step", "binding", "occupancy")


def described(study: Study) -> dict:
    """Return the plan for JSON: its points with cells planned and finished, and an estimate where there is one."""
    records = results.read_records(study.folder)
    left = {cell.cell for cell in study.left}
    points = [(point, list(members)) for point, members in _points(study.cells)]
    estimates = plan.estimates_s([members[0] for _, members in points], records)
    return {
        "folder": str(study.folder),
        "pipeline": study.source.config["pipeline"],
        "cores": study.node.cores,
        "memory_mb": study.node.mem_mb,
        "points": [
            {
                **vars(point),
                "copies": members[0].copies,
                "cells": len(members),
                "finished": sum(cell.cell not in left for cell in members),
                "estimate_s": estimate_s,
            }
            for (point, members), estimate_s in zip(points, estimates, strict=True)
        ],
        "left_out": [str(one) for one in study.left_out],
    }


def _points(cells: Sequence[ScalingCell]) -> Iterator[tuple[Point, Iterator[ScalingCell]]]:
    """The cells of each point, warm-ups left out, in the order of the steps."""
    steps = list(dict.fromkeys(cell.step for cell in cells))

    def place(cell: ScalingCell) -> tuple:
        return steps.index(cell.step), cell.binding, cell.occupancy, cell.threads, cell.scatter

    counted_ones = sorted((cell for cell in cells if not cell.warm_up), key=place)
    return groupby(counted_ones, key=lambda cell: cell.point)


def show_plan(study: Study, console: Console) -> None:
    """Print the grid, a row a point, what is left out and why, and how long the rest may take."""
    told = described(study)
    table = Table(title=f"Scaling of {told['pipeline']}: {counted(study.node.cores, 'core')}", title_justify="left")
    for head in PLANNED:
        table.add_column(head, justify="left" if head in WORDS else "right")
    for point in told["points"]:
        about = "" if point["estimate_s"] is None else str(timedelta(seconds=round(point["estimate_s"])))
        table.add_row(*(str(point[head]) for head in PLANNED[:-1]), about)
    console.print(table)
    for line in (*told["left_out"], _outlook(study)):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _outlook(study: Study) -> str:
    left = study.left
    if not left:
        return "nothing is left to run"
    known = plan.estimates_s(left, results.read_records(study.folder))
    if None in known:
        return f"{counted(len(left), 'cell')} left; how long they take shows when one of each kind has ended"
    total = timedelta(seconds=round(sum(seconds for seconds in known if seconds is not None)))
    return f"{counted(len(left), 'cell')} left, about {total}"


@contextmanager
def follow(console: Console) -> Iterator[Watcher]:
    """Show a study live on a terminal; elsewhere a line for each start and end. Failures are told in any case."""
    shown = StudyDisplay(console)

    def end(name: str, failed: Sequence[str]) -> None:
        if not failed:
            shown.ended(name)
        for line in failed:
            console.print(f"{name} failed: {line}", highlight=False, markup=False, soft_wrap=True)

    with live(shown, console):
        yield Watcher(shown.start, shown.changed, shown.waits, end)


def points_table(found: Results) -> Table:
    """What each point came to: means over its repeats, and their standard errors."""
    table = Table(title="Mean ± standard error over repeats", title_justify="left")
    for head in CAME_TO:
        table.add_column(head, justify="left" if head in WORDS else "right")
    for point in row_dicts(found.points):
        efficiency = "" if point["efficiency"] is None else f"{number(100 * point['efficiency'])}%"
        figures = [_with_error(point, name) for name in ("step_s", "steps_per_hour", "cpu_s")]
        counts = [str(point[name]) for name in ("threads", "copies", "repeats")]
        words = [point[name] for name in WORDS]
        table.add_row(*words, *counts, *figures, efficiency, number(point["peak_rss_mib"]))
    return table


def _with_error(point: Row, name: str) -> str:
    return " ".join(filter(None, with_error(point[f"{name}_mean"], point[f"{name}_se"])))
