"""What a person sees of a study while it runs: which cell, the step of each sample, and how long it may take."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from gpd import workflow
from gpd.lab import cells, throughput
from gpd.lab.study import Cell

MOST_LINES = 16


class StudyDisplay:
    """Follows a study; what is shown is made anew each time it is looked at, so that clocks go on between changes."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.title = ""
        self.began = time.monotonic()
        self.left_s: float | None = None
        self.states: dict[str, workflow.Progress] = {}
        self.waiting = ""

    def begin(self, cell: Cell | None, title: str, plan: throughput.Plan) -> None:
        """A cell starts, or without one the preparations."""
        self.states, self.began = {}, time.monotonic()
        planned = plan.cells
        cells_left = [each for each in planned if not cells.is_finished(plan.study.folder, each)]
        times = throughput.estimates_s(plan, cells_left)
        self.left_s = sum(times) if times and None not in times else None
        done = len(planned) - len(cells_left)
        place = f"cell {done + 1} of {len(planned)}: " if cell in planned else ""
        self.title = f"{place}{title}"
        if not self.console.is_terminal:
            self.console.print(f"{self.title}{self.eta()}", highlight=False, soft_wrap=True)

    def changed(self, sample: str, state: workflow.Progress) -> None:
        self.states[sample] = state

    def waits(self, told: str) -> None:
        """Jobs wait for CPUs, or no longer; elsewhere than on a terminal it is said when they begin to."""
        if told and not self.waiting and not self.console.is_terminal:
            self.console.print(told, highlight=False, markup=False, soft_wrap=True)
        self.waiting = told

    def end(self, cell: Cell) -> None:
        took = timedelta(seconds=round(time.monotonic() - self.began))
        self.console.print(f"{cell.cell}: {took}", highlight=False, soft_wrap=True)

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
def follow(console: Console) -> Iterator[throughput.Watcher]:
    """Show a study live on a terminal; elsewhere a line for each cell's start and end."""
    shown = StudyDisplay(console)
    watcher = throughput.Watcher(shown.begin, shown.changed, shown.waits, shown.end)
    if not console.is_terminal:
        yield watcher
        return
    with Live(shown, console=console, transient=True, refresh_per_second=2):
        yield watcher
