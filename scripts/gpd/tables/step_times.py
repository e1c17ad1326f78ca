"""What the repeats of each configuration took in each step, with errors. Pure."""

from collections.abc import Iterable

from gpd.statistics.estimates import Estimate, estimate
from gpd.tables.columns import RunRow, StepRow, StepTimesRow

SECONDS_PER_HOUR = 3600
KEYS = ("study", "pipeline", "mode", "binding", "nodes", "n")


def step_times(steps: Iterable[StepRow], runs: Iterable[RunRow]) -> list[StepTimesRow]:
    """A row for each step of each configuration, steps in the order in which runs have them; machines are not pooled.

    Of runs that count alone. A step that did not run has no time.
    """
    of_run = {run.run: run for run in runs}
    found: dict[tuple, list[StepRow]] = {}
    for row in steps:
        if row.counted:
            run = of_run[row.run]
            place = (*(getattr(row, key) for key in KEYS), run.sku, run.machine, row.step)
            found.setdefault(place, []).append(row)
    return [_row(place, own) for place, own in found.items()]


def _row(place: tuple, own: list[StepRow]) -> StepTimesRow:
    *key, sku, machine, step = place
    return StepTimesRow(
        **dict(zip(KEYS, key, strict=True)),
        sku=sku,
        machine=machine,
        step=step,
        repeats=len(own),
        elapsed_s=_seconds(row.elapsed_h for row in own),
        summed_s=_seconds(row.summed_h for row in own),
        job_s=_seconds(row.summed_h / row.jobs if row.jobs and row.summed_h is not None else None for row in own),
    )


def _seconds(hours: Iterable[float | None]) -> Estimate:
    return estimate(None if one is None else one * SECONDS_PER_HOUR for one in hours)
