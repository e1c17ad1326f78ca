"""The table `summary`: every quantity of every configuration over its repeats, of each step and of all together. Pure.

Terminal, report and comparison take the times of steps, and their errors, from here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import fsum
from typing import Any, NamedTuple

from gpd.statistics.estimates import Estimate, estimate
from gpd.tables.columns import CLOCKS, CONFIGURATION, TABLES, ConfigurationRow, RunRow, StepRow, SummaryRow
from gpd.tables.rows import averaged
from gpd.tables.sessions import between

OF_STEP = ("elapsed_h", "summed_h", "job_s", "cpu_s")  # of steps
A_GIGABASE = {clock: f"{clock}_per_gigabase" for clock in CLOCKS}  # of the samples that succeeded
SUMMED = "summed_h"  # of all steps: its sum over them, run by run
UNITS = {column.name: column.unit for table in ("steps", "runs") for column in TABLES[table]}
UNITS |= {"job_s": "s", **dict.fromkeys(A_GIGABASE.values(), "h/Gb")}

Key = tuple[Any, ...]
Place = tuple[str | None, str]  # a step, None of all together, and a metric
OfSession = tuple[int | None, float | None]  # a session, and a value


class Value(NamedTuple):
    """What a run came to in one metric, of a step or of all together; None: not known."""

    run: RunRow
    place: Place
    value: float | None


def values(runs: Iterable[RunRow], steps: Iterable[StepRow]) -> Iterator[Value]:
    """Every value of each run that counts: those of the run, then those of its steps in order."""
    steps_of: dict[str, list[StepRow]] = {}
    for step in steps:
        steps_of.setdefault(step.run, []).append(step)
    for run in runs:
        if run.counted:
            own = _of_run(run, steps_of.get(run.run, ()))
            yield from (Value(run, place, value) for place, value in own)


def _of_run(run: RunRow, steps: Sequence[StepRow]) -> Iterator[tuple[Place, float | None]]:
    for metric in averaged(ConfigurationRow):
        yield (None, metric), getattr(run, metric)
    known = [step.summed_h for step in steps if step.summed_h is not None]
    yield (None, SUMMED), fsum(known) if known else None
    for step in steps:
        for metric in OF_STEP:
            yield (step.step, metric), getattr(step, metric)
        for clock, metric in A_GIGABASE.items():
            taken = getattr(step, clock)
            yield (step.step, metric), taken / run.gigabases if taken and run.gigabases else None


def summary(
    configurations: Iterable[ConfigurationRow], runs: Iterable[RunRow], steps: Iterable[StepRow]
) -> list[SummaryRow]:
    """The rows of each configuration: those of its runs, then those of each step in order."""
    of: dict[Key, dict[Place, list[OfSession]]] = {}
    for run, place, value in values(runs, steps):
        of.setdefault(_key(run), {}).setdefault(place, []).append((run.session, value))
    return [row for each in configurations for row in _rows(each, of.get(_key(each), {}))]


def _key(row: RunRow | ConfigurationRow) -> Key:
    return tuple(getattr(row, name) for name in CONFIGURATION)


def _rows(configuration: ConfigurationRow, of: Mapping[Place, Sequence[OfSession]]) -> Iterator[SummaryRow]:
    """The rows of a configuration; a step that is known of no repeat has none."""
    for (step, metric), own in of.items():
        mean = getattr(configuration, metric, None) if step is None else None
        mean = mean or estimate(value for _, value in own)
        if step is None or mean.n:
            yield _row(configuration, step, metric, mean, own)


def _row(
    configuration: ConfigurationRow, step: str | None, metric: str, of: Estimate, values: Iterable[OfSession]
) -> SummaryRow:
    """A mean over repeats, and how much it differs between sessions."""
    return SummaryRow(
        **{name: getattr(configuration, name) for name in CONFIGURATION},
        step=step,
        metric=metric,
        unit=UNITS[metric] or None,
        repeats=of.n,
        mean=of.value,
        sd=of.sd,
        se=of.se,
        low=of.low,
        high=of.high,
        sessions_sd=between(values),
    )
