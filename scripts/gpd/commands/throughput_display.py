"""What a person sees of a study: its plan, which run runs and how long it may take, and what it came to."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from gpd.commands.run_display import notes
from gpd.commands.subcommands import print_grids, print_lines
from gpd.execution import workflow
from gpd.lab import pool_files, runner, single_run
from gpd.lab.pool_files import GIGABYTE
from gpd.pipelines import PIPELINES
from gpd.records.run_spec import RunSpec
from gpd.records.study import AUTO
from gpd.tables import repeats
from gpd.text.formats import counted, number, of_copies, of_reads
from gpd.text.grid import Grid, group

MOST_LINES = 16  # of running jobs
WORDS = 3  # columns of a plan that are no numbers
HEADS = {"n": "samples at once", "estimate_s": "each about"}
COLUMNS = ("pipeline", "mode", "binding", "n", "nodes", "runs", "finished", "estimate_s")
COLUMNS_OF_STEPS = ("step", "binding", "occupancy", "threads", "copies", "runs", "finished", "estimate_s")


def show_plan(plan: runner.StudyPlan, console: Console) -> None:
    """Print the grid, a row a configuration, and how long it may take."""
    settings = plan.study
    cores = f"{counted(plan.cores, 'core')}{' a node' if settings.on_nodes else ''}"
    caption = f"Study {settings.name}: {cores}, seed {settings.seed}"
    every = COLUMNS_OF_STEPS if plan.steps else COLUMNS
    shown = [key for key in every if key != "nodes" or settings.on_nodes]
    configurations = described(plan)["configurations"]
    rows = [[_text(configuration[key]) for key in shown] for configuration in configurations]
    if rows:
        heads = tuple(HEADS.get(key, key) for key in shown)
        print_grids(console, [Grid(caption, heads, (group(rows),), words=WORDS)])
    seeks = "; N is sought with single runs, and then measured in one shuffled block"
    copies = of_copies(settings.copies)
    lines = [
        f"{name}: a pool of {len(pool)} samples{copies and f', {copies}'}{'' if settings.concurrent_samples else seeks}"
        for name, pool in plan.pools.items()
    ]
    lines += [line] if (line := _about_reads(plan)) else []
    lines += [f"repeats: {repeats.in_words(settings)}"] if settings.repeats == AUTO else []
    lines += [_about_streams(plan), *runner.short_windows(plan)] if settings.streams else []
    lines += [f"{plan.too_many}: a plan for another machine"] if plan.too_many else []
    left = _left(plan)
    lines += (
        [f"disk: a run takes about {number(mib / 1024)} GiB at most"] if (mib := runner.disk_mib(plan, left)) else []
    )
    lines += [line] if (line := _bought(plan, left)) else []
    searched = not plan.steps and not settings.concurrent_samples
    print_lines(console, [*lines, _outlook_of_search(plan, left) if searched else _outlook(configurations)])


def _about_reads(plan: runner.StudyPlan) -> str:
    """Say what part of the reads is measured, and what it takes to make that and copies; nothing where nothing is."""
    measured = [f"measured {part}"] if (part := of_reads(plan.study.fraction)) else []
    left = pool_files.missing(plan.made_files)
    if not left:
        return "; ".join(measured)
    needs = pool_files.outlook(plan.study.folder, left)
    took = "" if needs.seconds is None else f", about {timedelta(seconds=math.ceil(needs.seconds))}"
    disk = f"about {number(needs.bytes / GIGABYTE)} GB of disk"
    return "; ".join([*measured, f"{counted(len(left), 'file')} of reads to be made once: {disk}{took}"])


def _about_streams(plan: runner.StudyPlan) -> str:
    """Say how long a stream takes."""
    lengths_s = plan.study.window_warm_up_s or 0, plan.study.window_s or 0
    warm_up, window = (timedelta(seconds=round(length_s)) for length_s in lengths_s)
    return f"stream: a window of {window} after a warm-up of {warm_up}, then what is in flight runs to its end"


def _left(plan: runner.StudyPlan) -> list[RunSpec]:
    """The runs that are expected and have not ended."""
    return [spec for spec in runner.expected(plan) if not single_run.is_finished(plan.study.folder, spec)]


def _bought(plan: runner.StudyPlan, left: Sequence[RunSpec]) -> str:
    """Say what is left of the budget, and which of the runs that are left that buys; nothing without a budget."""
    budget = runner.budget_of(plan)
    if budget.limit_s is None:
        return ""
    spent = timedelta(seconds=round(budget.spent_s))
    bought = budget.buys(left)
    if bought is None:
        runs = "how many runs it buys shows when the first have ended"
    elif bought == len(left):
        runs = "it buys all that are left"
    else:
        runs = f"it buys {bought} of {counted(len(left), 'run')} that are left"
    return f"budget: {plan.study.budget}, of which {spent} is spent: {runs}"


def _outlook_of_search(plan: runner.StudyPlan, left: Sequence[RunSpec]) -> str:
    times = runner.estimates_s(plan, left)
    if not left:
        return "nothing is left to run"
    known = [seconds for seconds in times if seconds is not None]
    if len(known) < len(times):
        return "how long it takes shows when the first runs have ended"
    total = timedelta(seconds=round(sum(known)))
    return f"about {len(left)} runs are left, about {total}, if throughput rises no further than seen"


def described(plan: runner.StudyPlan) -> dict:
    """The plan for JSON: its configurations with runs planned and finished, and an estimate where there is one."""
    configurations: dict[tuple, list[RunSpec]] = {}
    for spec in plan.specs:
        configurations.setdefault(_place(spec), []).append(spec)
    ordered = [members for _, members in sorted(configurations.items())]
    estimates = runner.estimates_s(plan, [members[0] for members in ordered])
    return {
        "study": plan.study.name,
        "folder": str(plan.study.folder),
        "cores": plan.cores,
        "pools": {name: len(pool) for name, pool in plan.pools.items()},
        "fraction": plan.study.fraction,
        "copies": plan.study.copies,
        "configurations": [
            {
                **_configuration(members[0]),
                "runs": len(members),
                "finished": sum(single_run.is_finished(plan.study.folder, spec) for spec in members),
                "estimate_s": estimate_s,
            }
            for members, estimate_s in zip(ordered, estimates, strict=True)
        ],
    }


def _place(spec: RunSpec) -> tuple:
    """What the repeats of a run share, in the order in which it is shown: steps in that of the pipeline."""
    if step := spec.step:
        at = PIPELINES[spec.pipeline].steps.index(step.name)
        return at, spec.binding, step.occupancy, step.threads, step.scatter
    return spec.pipeline, spec.n, spec.mode, spec.binding, spec.nodes


def _configuration(spec: RunSpec) -> dict[str, object]:
    if step := spec.step:
        own = {name: getattr(step, name) for name in ("scatter", "occupancy", "threads", "copies")}
        return {"pipeline": spec.pipeline, "step": step.name, "binding": spec.binding, **own}
    return {name: getattr(spec, name) for name in ("pipeline", "n", "mode", "binding", "nodes")}


def _text(value: object) -> str:
    if isinstance(value, float):
        return str(timedelta(seconds=round(value)))
    return "" if value is None else str(value)


def _outlook(configurations: Sequence[Mapping[str, Any]]) -> str:
    """Say how long what is left of the configurations may take."""
    left = [
        (configuration["estimate_s"], configuration["runs"] - configuration["finished"])
        for configuration in configurations
    ]
    count = sum(count for _, count in left)
    if configurations and not count:
        return "nothing is left to run"
    if not count or None in (estimate_s for estimate_s, count in left if count):
        return "how long it takes shows when the first runs have ended"
    total = timedelta(seconds=round(sum(estimate_s * count for estimate_s, count in left if count)))
    return f"{count} runs are left, about {total}"


class StudyDisplay:
    """Follows a study; what is shown is made anew each time it is looked at, so that clocks go on between changes."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.title = ""
        self.began = time.monotonic()
        self.left_s: float | None = None
        self.bought = ""
        self.states: dict[str, workflow.Progress] = {}
        self.note = notes(console)

    def begin(self, spec: RunSpec | None, title: str, plan: runner.StudyPlan) -> None:
        """A run starts, or without one the preparations."""
        planned = runner.expected(plan)
        runs_left = [member for member in planned if not single_run.is_finished(plan.study.folder, member)]
        times = runner.estimates_s(plan, runs_left)
        known = [seconds for seconds in times if seconds is not None]
        done = len(planned) - len(runs_left)
        place = f"run {done + 1} of {len(planned)}: " if spec in planned else ""
        self.states, self.began, self.title = {}, time.monotonic(), f"{place}{title}"
        self.left_s = sum(known) if times and len(known) == len(times) else None
        self.bought = _bought(plan, runs_left)
        if not self.console.is_terminal:
            self.console.print(
                "; ".join(filter(None, (f"{self.title}{self.eta()}", self.bought))), highlight=False, soft_wrap=True
            )

    def changed(self, sample: str, state: workflow.Progress) -> None:
        self.states[sample] = state
        self.note(state)

    def end(self, spec: RunSpec, failed: Sequence[str]) -> None:
        """A run has ended: how long it took, or why it failed."""
        took = timedelta(seconds=round(time.monotonic() - self.began))
        print_lines(self.console, [f"{spec.name} failed: {line}" for line in failed] or [f"{spec.name}: {took}"])

    def eta(self) -> str:
        """How long what is left takes, as far as finished runs tell."""
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
        lines += [self.bought] if self.bought else []
        lines += [f"  {job}" for job in running[:MOST_LINES]]
        if len(running) > MOST_LINES:
            lines.append(f"  and {len(running) - MOST_LINES} more")
        return Group(*map(Text, lines))


@contextmanager
def follow(console: Console) -> Iterator[runner.StudyCallbacks]:
    """Show a study live on a terminal; elsewhere a line for each run's start and end."""
    shown = StudyDisplay(console)
    with Live(shown, console=console, transient=True, refresh_per_second=2) if console.is_terminal else nullcontext():
        yield runner.StudyCallbacks(shown.begin, shown.changed, shown.end)
