"""What a person sees of a study: its plan, which run runs and how long it may take, and what it came to."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from gpd.commands.run_display import notes
from gpd.commands.subcommands import print_grids, print_lines
from gpd.execution import workflow
from gpd.lab import pool_files, study_plan
from gpd.lab.runner import StudyCallbacks
from gpd.lab.study_state import StudyPlan, StudyState
from gpd.pipelines import PIPELINES
from gpd.records.run_spec import RunSpec
from gpd.records.study import AUTO, Study
from gpd.tables import repeats
from gpd.text.formats import counted, in_gigabytes, number, of_copies, of_reads
from gpd.text.grid import Grid, group

MOST_LINES = 16  # of running jobs
WORDS = 3  # columns of a plan that are no numbers
HEADS = {"n": "samples at once", "estimate_s": "each about"}
COLUMNS = ("pipeline", "mode", "binding", "n", "runs", "finished", "estimate_s")
COLUMNS_OF_STEPS = ("step", "binding", "occupancy", "threads", "copies", "runs", "finished", "estimate_s")


def show_plan(plan: StudyPlan, console: Console) -> None:
    """Print the plan, a row a configuration, and how long it may take."""
    settings, state = plan.study, StudyState(plan)
    caption = f"Study {settings.name}: {counted(plan.cores, 'core')}, seed {settings.seed}"
    shown = COLUMNS_OF_STEPS if plan.steps else COLUMNS
    configurations = _configurations(state)
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
    lines += [_about_streams(settings), *study_plan.short_windows(state)] if settings.streams else []
    lines += [f"{plan.too_many}: a plan for another machine"] if plan.too_many else []
    mib = state.disk_mib(state.left)
    lines += [f"disk: a run takes about {number(mib / 1024)} GiB at most"] if mib else []
    lines += [line] if (line := _about_budget(state)) else []
    print_lines(console, [*lines, _outlook(state)])


def _about_reads(plan: StudyPlan) -> str:
    """Say what part of the reads is measured, and what it takes to make that and copies; nothing where nothing is."""
    measured = [f"measured {part}"] if (part := of_reads(plan.study.fraction)) else []
    left = pool_files.missing(plan.made_files)
    if not left:
        return "; ".join(measured)
    needs = pool_files.outlook(plan.study.folder, left)
    took = "" if needs.seconds is None else f", about {timedelta(seconds=math.ceil(needs.seconds))}"
    disk = f"about {in_gigabytes(needs.bytes)} of disk"
    return "; ".join([*measured, f"{counted(len(left), 'file')} of reads to be made once: {disk}{took}"])


def _about_streams(settings: Study) -> str:
    """Say how long a stream takes."""
    lengths_s = settings.window_warm_up_s or 0, settings.window_s or 0
    warm_up, window = (timedelta(seconds=round(length_s)) for length_s in lengths_s)
    return f"stream: a window of {window} after a warm-up of {warm_up}, then what is in flight runs to its end"


def _about_budget(state: StudyState) -> str:
    """Say what of the budget is spent; nothing without a budget."""
    if state.plan.study.budget is None:
        return ""
    spent = timedelta(seconds=round(state.spent_s))
    over = ": no run begins any more" if state.is_over else ""
    return f"budget: {state.plan.study.budget}, of which {spent} is spent{over}"


def _outlook(state: StudyState) -> str:
    """Say how long what is left may take."""
    count, left_s = len(state.left), state.left_s
    if not count:
        return "nothing is left to run"
    if left_s is None:
        return "how long it takes shows when the first runs have ended"
    total = timedelta(seconds=round(left_s))
    if state.plan.searches:
        return f"about {count} runs are left, about {total}, if throughput rises no further than seen"
    return f"{count} runs are left, about {total}"


def described(plan: StudyPlan) -> dict[str, Any]:
    """The plan for JSON: its configurations with runs planned and finished, and an estimate where there is one."""
    return {
        "study": plan.study.name,
        "folder": str(plan.study.folder),
        "cores": plan.cores,
        "pools": {name: len(pool) for name, pool in plan.pools.items()},
        "fraction": plan.study.fraction,
        "copies": plan.study.copies,
        "configurations": _configurations(StudyState(plan)),
    }


def _configurations(state: StudyState) -> list[dict[str, Any]]:
    """The runs that are known by configuration: how many there are, how many have ended, how long each takes."""
    configurations: dict[tuple, list[RunSpec]] = {}
    for spec in state.specs:
        configurations.setdefault(_place(spec), []).append(spec)
    ordered = [members for _, members in sorted(configurations.items())]
    estimates = state.estimates_s([members[0] for members in ordered])
    return [
        {
            **_configuration(members[0]),
            "runs": len(members),
            "finished": sum(spec.name in state.finished for spec in members),
            "estimate_s": estimate_s,
        }
        for members, estimate_s in zip(ordered, estimates, strict=True)
    ]


def _place(spec: RunSpec) -> tuple:
    """What the repeats of a run share, in the order in which it is shown: steps in that of the pipeline."""
    if step := spec.step:
        at = PIPELINES[spec.pipeline].steps.index(step.name)
        return at, spec.binding, step.occupancy, step.threads, step.scatter
    return spec.pipeline, spec.n, spec.mode, spec.binding


def _configuration(spec: RunSpec) -> dict[str, object]:
    if step := spec.step:
        own = {name: getattr(step, name) for name in ("scatter", "occupancy", "threads", "copies")}
        return {"pipeline": spec.pipeline, "step": step.name, "binding": spec.binding, **own}
    return {name: getattr(spec, name) for name in ("pipeline", "n", "mode", "binding")}


def _text(value: object) -> str:
    if isinstance(value, float):
        return str(timedelta(seconds=round(value)))
    return "" if value is None else str(value)


class StudyDisplay:
    """Follows a study; what is shown is made anew each time it is looked at, so that clocks go on between changes."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.title = ""
        self.began = time.monotonic()
        self.left_s: float | None = None
        self.budget = ""
        self.states: dict[str, workflow.Progress] = {}
        self.note = notes(console)

    def begin(self, spec: RunSpec | None, title: str, state: StudyState) -> None:
        """A run starts, or without one the preparations."""
        planned = state.expected
        place = f"run {len(planned) - len(state.left) + 1} of {len(planned)}: " if spec in planned else ""
        self.states, self.began, self.title = {}, time.monotonic(), f"{place}{title}"
        self.left_s = state.left_s
        self.budget = _about_budget(state)
        if not self.console.is_terminal:
            self.console.print(
                "; ".join(filter(None, (f"{self.title}{self.eta()}", self.budget))), highlight=False, soft_wrap=True
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
        lines += [self.budget] if self.budget else []
        lines += [f"  {job}" for job in running[:MOST_LINES]]
        if len(running) > MOST_LINES:
            lines.append(f"  and {len(running) - MOST_LINES} more")
        return Group(*map(Text, lines))


@contextmanager
def follow(console: Console, after_run: Callable[[], None] | None = None) -> Iterator[StudyCallbacks]:
    """Show a study live on a terminal; elsewhere a line for each run's start and end. After each, do what is asked."""
    shown = StudyDisplay(console)

    def end(spec: RunSpec, failed: Sequence[str]) -> None:
        shown.end(spec, failed)
        if after_run:
            after_run()

    with Live(shown, console=console, transient=True, refresh_per_second=2) if console.is_terminal else nullcontext():
        yield StudyCallbacks(shown.begin, shown.changed, end)
