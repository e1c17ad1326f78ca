"""What a person sees: the progress of a run, and its tables. Holds no figure of its own."""

import csv
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from gpd.commands.subcommands import print_lines
from gpd.execution import workflow
from gpd.files import read_bytes
from gpd.outcomes import COHORT, owner
from gpd.paths import ROOT
from gpd.pipelines import ALTERNATIVES
from gpd.records.ledger import Attempt
from gpd.tables.summary import Summary
from gpd.text.formats import brief, counted, some
from gpd.text.grid import Grid, group, rich_table

MOST_SAMPLES = 4
MOST_NAMED = 20
NOT_RUN = "not run"
LEDGER = "ledger.jsonl"
WORST_FIRST = ("fail", "warn")  # verdicts
WHAT_TO_DO = [
    "  no verdict removes a result; what to do about each:",
    f"  {ROOT / 'docs/how-to/which-sample-is-wrong.md'}",
    "  other limits: qc.thresholds in the config; to go on without a sample: leave_out",
]
_WILDCARD = re.compile(r"{(\w+)}")


class RunDisplay:
    """Shows how far a run is: a live bar on a terminal, elsewhere a line for each tenth of the jobs."""

    def __init__(self, console: Console, bar: Progress) -> None:
        self.console, self.bar = console, bar
        self.task = bar.add_task("planning", total=None)
        self.note, self.tenths = notes(console), 0

    def changed(self, state: workflow.Progress) -> None:
        self.note(state)
        running = ", ".join(state.running.values())
        self.bar.update(self.task, completed=state.done, total=state.total, description=running)
        tenths = 10 * state.done // state.total if state.total else 0
        if tenths > self.tenths and not self.console.is_terminal:
            self.console.print(f"{state.done} of {state.total} jobs done", highlight=False)
        self.tenths = tenths


@contextmanager
def progress(console: Console) -> Iterator[RunDisplay]:
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("jobs"),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        yield RunDisplay(console, bar)


def notes(console: Console) -> Callable[[workflow.Progress], None]:
    """Print the notes of runs, each line once, whichever run has it."""
    printed: set[str] = set()

    def show(state: workflow.Progress) -> None:
        print_lines(console, [line for line in state.notes if line not in printed])
        printed.update(state.notes)

    return show


def seconds(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f}"


def step_table(summary: Summary) -> Table:
    """A row a step, summed seconds: a column a sample, or for larger cohorts the median over samples."""
    samples = [column for column in summary.columns if column != COHORT]
    many = len(samples) > MOST_SAMPLES
    columns = {"median sample": samples} if many else {name: [name] for name in samples}
    columns |= {COHORT: [COHORT]} if COHORT in summary.columns else {}

    def of_columns(summed_s: Mapping[str, float]) -> list[str]:
        values = ([summed_s[name] for name in names if name in summed_s] for names in columns.values())
        return [seconds(statistics.median(found) if found else None) for found in values]

    steps = [
        (step, *of_columns(by_sample), seconds(sum(by_sample.values())) if by_sample else NOT_RUN)
        for step, by_sample in summary.steps.items()
        if by_sample or step not in ALTERNATIVES
    ]
    summed = {column: summary.summed_s(column) for column in summary.columns}
    total = ("total", *of_columns(summed), seconds(sum(summed.values())))
    caption = "Runtime a step, seconds (the sum over its jobs)"
    return rich_table(Grid(caption, ("step", *columns, "total"), (group(steps), group([total]))))


def finished_lines(summary: Summary, waited: str = "") -> list[str]:
    """How many samples finished, and the makespan; `waited` says how long jobs waited for CPUs."""
    samples = len([column for column in summary.columns if column != COHORT])
    which = "samples with work left" if summary.resumed else "samples"
    done = f"{len(summary.succeeded)} of {samples} {which} finished" if samples else "only steps of the cohort ran,"
    lines = [f"{done} in {seconds(summary.makespan_s)} s"]
    if summary.of_run:
        lines.append("jobs ran on several hosts, whose clocks differ: the time is the whole run's, by this one's clock")
    if summary.resumed:
        lines.append("part of the work was done before: the time is that of the rest")
    return [*lines, *([f"{waited}: this is no figure of the machine alone"] if waited else [])]


def verdict_lines(table: Path) -> list[str]:
    """How many samples pass by the table of samples, and which do not, with the reason; none without a table."""
    if not table.exists():
        return []
    lines = read_bytes(table).decode(errors="replace").splitlines()
    rows = [row for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE) if row.get("verdict")]
    found = sorted((row for row in rows if row["verdict"] in WORST_FIRST), key=_how_bad)
    named = [f"  {row['verdict']}: {row['sample_name']}: {row['reason']}" for row in found[:MOST_NAMED]]
    more = [f"  and {len(found) - MOST_NAMED} more: {table}"] if len(found) > MOST_NAMED else []
    return [_counted_verdicts(row["verdict"] for row in rows), *named, *more, *(WHAT_TO_DO if found else [])]


def _how_bad(row: Mapping[str, str]) -> int:
    return WORST_FIRST.index(row["verdict"])


def _counted_verdicts(verdicts: Iterable[str]) -> str:
    counts = Counter(verdicts)
    others = [f"{counts[verdict]} {verdict}" for verdict in WORST_FIRST if counts[verdict]]
    return ", ".join([f"quality: {counts['pass']} of {counted(counts.total(), 'sample')} pass", *others])


def result_lines(directory: Path, results: Mapping[str, str]) -> list[str]:
    """Where in `directory` that lies which one opens first, of the kinds of `results` that are there."""
    found = {kind: path for kind, path in results.items() if any(directory.glob(_WILDCARD.sub("*", path)))}
    if not found:
        return []
    shown = {kind: str(directory / _WILDCARD.sub(lambda name: name[1].upper(), path)) for kind, path in found.items()}
    shown["jobs"] = f"{directory / LEDGER} (gpd ledger show {directory})"
    width = max(map(len, shown))
    in_folder = f" --directory {directory}" if directory != Path() else ""
    hand_on = f"to hand them on: gpd deliver FOLDER{in_folder}"
    return ["look at:", *(f"  {kind:{width}}  {path}" for kind, path in shown.items()), hand_on]


def failure_table(failures: Iterable[Attempt]) -> Table:
    """What failed for good, a row a job."""
    rows = (
        (one.rule, owner(one), brief(": ".join(filter(None, (one.cause, one.message or "no message")))), one.log)
        for one in failures
    )
    return rich_table(Grid("Failed", ("step", "sample", "cause", "log"), (group(rows),), numeric=False))


def unfinished_lines(summary: Summary) -> list[str]:
    """Samples of which no job failed, and that did not come to their end: by the step that they never went through."""
    waiting: dict[str, list[str]] = {}
    for outcome in summary.unfinished:
        waiting.setdefault(outcome.step or "its run", []).append(outcome.sample)
    failed = [outcome.sample for outcome in summary.outcomes if outcome.own]
    held_up = ""
    if failed and all(owner(failure) != COHORT for failure in summary.failures):
        held_up = (
            f", held up by {some(failed, MOST_NAMED)} (failed_samples in the config says whether others go on without)"
        )
    return [f"not finished: {some(names, MOST_NAMED)}: before {step}{held_up}" for step, names in waiting.items()]
