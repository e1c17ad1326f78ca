"""The table `summary`: every quantity of every configuration over its repeats, of each step and of all together. Pure.

Terminal and report take the times of steps, and their errors, from here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import fsum
from typing import Any

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
Repeat = tuple[RunRow, Mapping[str, StepRow]]  # with what its steps came to
OfSession = tuple[int | None, float | None]  # a session, and a value


def summary(
    configurations: Iterable[ConfigurationRow], runs: Iterable[RunRow], steps: Iterable[StepRow]
) -> list[SummaryRow]:
    """The rows of each configuration: those of its runs, then those of each step in order."""
    runs_of: dict[Key, list[RunRow]] = {}
    for run in runs:
        if run.counted:
            runs_of.setdefault(_key(run), []).append(run)
    steps_of: dict[str, dict[str, StepRow]] = {}
    for step in steps:
        steps_of.setdefault(step.run, {})[step.step] = step
    found: list[SummaryRow] = []
    for configuration in configurations:
        repeats = [(run, steps_of.get(run.run, {})) for run in runs_of.get(_key(configuration), ())]
        found += _rows(configuration, repeats)
    return found


def _key(row: RunRow | ConfigurationRow) -> Key:
    return tuple(getattr(row, name) for name in CONFIGURATION)


def _rows(configuration: ConfigurationRow, runs: Sequence[Repeat]) -> Iterator[SummaryRow]:
    """The rows of a configuration, of its repeats."""
    for metric in averaged(ConfigurationRow):
        values = [(run.session, getattr(run, metric)) for run, _ in runs]
        yield _row(configuration, None, metric, getattr(configuration, metric), values)
    totals = [(run.session, _total(steps.values())) for run, steps in runs]
    yield _row(configuration, None, SUMMED, estimate(total for _, total in totals), totals)
    for step in dict.fromkeys(step for _, steps in runs for step in steps):
        for metric, values in _of_step([(run, steps[step]) for run, steps in runs if step in steps]):
            of = estimate(value for _, value in values)
            if of.n:
                yield _row(configuration, step, metric, of, values)


def _of_step(runs: Sequence[tuple[RunRow, StepRow]]) -> Iterator[tuple[str, list[OfSession]]]:
    """Each quantity of one step, and its value in each run."""
    for metric in OF_STEP:
        yield metric, [(run.session, getattr(step, metric)) for run, step in runs]
    for clock, metric in A_GIGABASE.items():
        yield metric, [(run.session, _ratio(getattr(step, clock), run.gigabases)) for run, step in runs]


def _ratio(amount: float | None, divisor: float | None) -> float | None:
    return amount / divisor if amount and divisor else None


def _total(steps: Iterable[StepRow]) -> float | None:
    """What the steps of one run took together, h; None where nothing of it is known."""
    known = [step.summed_h for step in steps if step.summed_h is not None]
    return fsum(known) if known else None


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
