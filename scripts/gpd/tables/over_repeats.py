"""The table `summary`: every quantity of every configuration over its repeats, of each step and of all together. Pure.

Terminal and report take the times of steps, and their errors, from here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import fsum
from typing import Any

from gpd.statistics.estimates import Estimate, estimate
from gpd.tables.columns import CONFIGURATION, TABLES, ConfigurationRow, RunRow, StepRow, SummaryRow
from gpd.tables.rows import averaged

OF_STEP = ("elapsed_h", "summed_h", "job_s", "cpu_s")  # of steps
SUMMED = "summed_h"  # of all steps: its sum over them, run by run
UNITS = {column.name: column.unit for table in ("steps", "runs") for column in TABLES[table]} | {"job_s": "s"}

Key = tuple[Any, ...]


def summary(
    configurations: Iterable[ConfigurationRow], runs: Iterable[RunRow], steps: Iterable[StepRow]
) -> list[SummaryRow]:
    """The rows of each configuration: those of its runs, then those of each step in order."""
    runs_of: dict[Key, list[str]] = {}
    for run in runs:
        if run.counted:
            runs_of.setdefault(_key(run), []).append(run.run)
    steps_of: dict[str, dict[str, StepRow]] = {}
    for step in steps:
        steps_of.setdefault(step.run, {})[step.step] = step
    return [
        row
        for configuration in configurations
        for row in _rows(configuration, [steps_of.get(run, {}) for run in runs_of.get(_key(configuration), ())])
    ]


def _key(row: RunRow | ConfigurationRow) -> Key:
    return tuple(getattr(row, name) for name in CONFIGURATION)


def _rows(configuration: ConfigurationRow, runs: Sequence[Mapping[str, StepRow]]) -> Iterator[SummaryRow]:
    """The rows of a configuration; `runs` has for each repeat what its steps came to."""
    for metric in averaged(ConfigurationRow):
        yield _row(configuration, None, metric, getattr(configuration, metric))
    yield _row(configuration, None, SUMMED, estimate(_total(run.values()) for run in runs))
    for step in dict.fromkeys(step for run in runs for step in run):
        for metric in OF_STEP:
            of = estimate(getattr(run[step], metric) for run in runs if step in run)
            if of.n:
                yield _row(configuration, step, metric, of)


def _total(steps: Iterable[StepRow]) -> float | None:
    """What the steps of one run took together, h; None where nothing of it is known."""
    known = [step.summed_h for step in steps if step.summed_h is not None]
    return fsum(known) if known else None


def _row(configuration: ConfigurationRow, step: str | None, metric: str, of: Estimate) -> SummaryRow:
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
    )
