"""What a person sees of a study: its plan, which cell runs and how long it may take, and what it came to."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from gpd.commands.run_display import notes
from gpd.execution import workflow
from gpd.lab import cells, runner
from gpd.records.cell import Cell
from gpd.records.study import AUTO
from gpd.tables import repeats
from gpd.text.formats import counted

GO_ON = "the cells that have ended are kept, and this one is run again from its start: the same command goes on"
MOST_LINES = 16  # of running jobs
WORDS = ("pipeline", "mode", "binding")
COLUMNS = {
    "pipeline": "pipeline",
    "samples at once": "n",
    "mode": "mode",
    "binding": "binding",
    "nodes": "nodes",
    "cells": "cells",
    "finished": "finished",
    "each about": "estimate_s",
}


def show_plan(plan: runner.Plan, console: Console) -> None:
    """Print the grid, a row a point, and how long it may take."""
    settings = plan.study
    cores = f"{counted(plan.cores, 'core')}{' a node' if settings.on_nodes else ''}"
    table = Table(title=f"Study {settings.name}: {cores}, seed {settings.seed}", title_justify="left")
    shown = {head: key for head, key in COLUMNS.items() if key != "nodes" or settings.on_nodes}
    for column in shown:
        table.add_column(column, justify="left" if column in WORDS else "right")
    for point in described(plan)["points"]:
        table.add_row(*(_cell(point[key]) for key in shown.values()))
    if table.row_count:
        console.print(table)
    for name, source in plan.sources.items():
        seeks = "" if settings.concurrent_samples else "; its knee is sought, so the cells are not known beforehand"
        console.print(f"{name}: a pool of {len(source.members)} samples{seeks}", highlight=False, soft_wrap=True)
    if settings.repeats == AUTO:
        console.print(f"repeats: {repeats.in_words(settings)}", highlight=False, soft_wrap=True)
    if plan.too_wide:
        console.print(f"{plan.too_wide}: a plan for another machine", highlight=False, soft_wrap=True)
    console.print(_outlook(plan), highlight=False, soft_wrap=True)


def described(plan: runner.Plan) -> dict:
    """Return the plan for JSON: its points with cells planned and finished, and an estimate where there is one."""
    points: dict[tuple, list[Cell]] = {}
    for cell in plan.cells:
        points.setdefault((cell.pipeline, cell.n, cell.mode, cell.binding, cell.nodes), []).append(cell)
    ordered = sorted(points.items())
    estimates = runner.estimates_s(plan, [members[0] for _, members in ordered])
    return {
        "study": plan.study.name,
        "folder": str(plan.study.folder),
        "cores": plan.cores,
        "pools": {name: len(source.members) for name, source in plan.sources.items()},
        "points": [
            {
                **dict(zip(("pipeline", "n", "mode", "binding", "nodes"), point, strict=True)),
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


def _outlook(plan: runner.Plan) -> str:
    """Say how long what is left may take, and by what that is judged."""
    points = described(plan)["points"]
    left = [(point["estimate_s"], point["cells"] - point["finished"]) for point in points]
    if not sum(count for _, count in left):
        return "nothing is left to run" if points else "how long it takes shows when the first cells have ended"
    if None in (estimate_s for estimate_s, count in left if count):
        return "how long it takes shows when the first cells have ended: no run of this pool has left a ledger"
    total = timedelta(seconds=round(sum(estimate_s * count for estimate_s, count in left)))
    return f"{sum(count for _, count in left)} cells are left, about {total}"


# ---- while it runs -----------------------------------------------------------------------------------


class StudyDisplay:
    """Follows a study; what is shown is made anew each time it is looked at, so that clocks go on between changes."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.title = ""
        self.began = time.monotonic()
        self.left_s: float | None = None
        self.states: dict[str, workflow.Progress] = {}
        self.waiting = ""
        self.note = notes(console)

    def begin(self, cell: Cell | None, title: str, plan: runner.Plan) -> None:
        """A cell starts, or without one the preparations."""
        planned = plan.cells
        cells_left = [member for member in planned if not cells.is_finished(plan.study.folder, member)]
        times = runner.estimates_s(plan, cells_left)
        known = [seconds for seconds in times if seconds is not None]
        done = len(planned) - len(cells_left)
        place = f"cell {done + 1} of {len(planned)}: " if cell in planned else ""
        self.start(f"{place}{title}", sum(known) if times and len(known) == len(times) else None)

    def start(self, title: str, left_s: float | None) -> None:
        """Something starts; it and what comes after it take so long, as far as that is known."""
        self.states, self.began = {}, time.monotonic()
        self.title, self.left_s = title, left_s
        if not self.console.is_terminal:
            self.console.print(f"{self.title}{self.eta()}", highlight=False, soft_wrap=True)

    def changed(self, sample: str, state: workflow.Progress) -> None:
        self.states[sample] = state
        self.note(state)

    def waits(self, told: str) -> None:
        """Jobs wait for CPUs, or no longer; elsewhere than on a terminal it is said when they begin to."""
        if told and not self.waiting and not self.console.is_terminal:
            self.console.print(told, highlight=False, markup=False, soft_wrap=True)
        self.waiting = told

    def end(self, cell: Cell) -> None:
        self.ended(cell.cell)

    def ended(self, name: str) -> None:
        """A cell has ended; how long it took."""
        took = timedelta(seconds=round(time.monotonic() - self.began))
        self.console.print(f"{name}: {took}", highlight=False, soft_wrap=True)

    def eta(self) -> str:
        """How long what is left takes, as far as finished cells tell."""
        if self.left_s is None:
            return ""
        left = max(0, round(self.left_s - (time.monotonic() - self.began)))
        return f"; about {timedelta(seconds=left)} to go"

    def __rich__(self) -> Group:
        done = sum(state.done for state in self.states.values())
        total = sum(state.total or 0 for state in self.states.values())
        running = [job for state in self.states.values() for job in state.running.values()]
        took = timedelta(seconds=round(time.monotonic() - self.began))
        lines = [f"{self.title}, {done} of {total} jobs, {len(running)} running, {took}{self.eta()}"]
        lines += [f"  {self.waiting}"] if self.waiting else []
        lines += [f"  {job}" for job in running[:MOST_LINES]]
        if len(running) > MOST_LINES:
            lines.append(f"  and {len(running) - MOST_LINES} more")
        return Group(*map(Text, lines))


@contextmanager
def follow(console: Console) -> Iterator[runner.Watcher]:
    """Show a study live on a terminal; elsewhere a line for each cell's start and end."""
    shown = StudyDisplay(console)
    with live(shown, console):
        yield runner.Watcher(shown.begin, shown.changed, shown.waits, shown.end)


@contextmanager
def live(shown: StudyDisplay, console: Console) -> Iterator[None]:
    """Within, show it on a terminal; elsewhere it prints lines itself."""
    if not console.is_terminal:
        yield
        return
    with Live(shown, console=console, transient=True, refresh_per_second=2):
        yield
