"""The machines of published results, from the hours of their curves, and published core hours of whole genomes.

Runs in which samples failed are left out: when these ended was not printed. Each N was run once. How far such runs
scatter is taken from all curves together: the relative residuals about each SKU's own line, hours = a + bN.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpd.published.curves import (
    COVERAGE,
    FOLDER,
    GIGABASES_A_SAMPLE,
    PublishedCurve,
    PublishedPoint,
    Row,
    curves,
    read_table,
)
from gpd.sizing.machine import Machine, Measured, above_zero
from gpd.statistics.estimates import Estimate, by_student

PREFIX = "published:"
TERMS = 2  # of a line
NOTES = (
    f"one genome at {COVERAGE}x, each N run once (2021, GATK 3.6): N pipelines side by side on two sockets and a shared"
    " BeeGFS; intervals: how far single runs scatter about lines in N, over all published machines",
    "not printed, so not told: CPU seconds, memory, scratch space, what went over the network",
)


@dataclass(frozen=True)
class CoreHours:
    """Core hours of one genome of a depth (x), for reading beside an answer: other tools, depths and machines.

    They are of the cores that were held, idle ones included. `usd` is what was paid. None: not printed, or not to be
    worked out.
    """

    core_hours: float | None
    depth: float
    source: str
    conditions: str
    does_not_follow: str
    hours: float | None = None
    usd: float | None = None


def machines() -> dict[str, Machine]:
    """The machine of each SKU of which a curve was published."""
    known = [curve for curve in curves() if curve.cores]
    spread = scatter([whole(curve) for curve in known])
    return {curve.sku: _machine(curve, spread) for curve in known}


def whole(curve: PublishedCurve) -> list[PublishedPoint]:
    """The runs without failures whose steps are all printed, N ascending."""
    return [point for point in curve.points if point.failed == 0 and point.total_hours]


def line(points: Sequence[PublishedPoint]) -> np.poly1d:
    """Hours = a + bN, by least squares of relative errors."""
    n, hours = (np.array([getattr(point, name) for point in points]) for name in ("n", "total_hours"))
    return np.poly1d(np.polyfit(n, hours, TERMS - 1, w=1 / hours))


def scatter(curves: Iterable[Sequence[PublishedPoint]]) -> Estimate:
    """A single run relative to its curve's line: 1, and its standard error from the residuals of all curves."""
    fitted = [(points, line(points)) for points in curves if len(points) > TERMS]
    residuals = [point.total_hours / of(point.n) - 1 for points, of in fitted for point in points]
    freedom = len(residuals) - TERMS * len(fitted)
    error = float(np.sqrt(np.sum(np.square(residuals)) / freedom))
    return by_student(1.0, error, freedom + 1, error)


def _machine(curve: PublishedCurve, spread: Estimate) -> Machine:
    failed = [point.n for point in curve.points if point.failed]
    return Machine(
        name=f"{PREFIX}{curve.sku}",
        source="published",
        skus=(curve.sku,),
        cores=curve.cores or 0,
        measured=tuple(
            Measured(point.n, GIGABASES_A_SAMPLE, _single_run(point.gigabases_per_day or 0.0, spread))
            for point in whole(curve)
        ),
        n_failed=min(failed, default=None),
        notes=NOTES,
    )


def _single_run(gigabases_per_day: float, spread: Estimate) -> Estimate:
    """What one run came to, with an interval and no standard error: its best N is that of the printed curve."""
    return replace(above_zero(spread.times(gigabases_per_day)), sd=None, se=None)


def core_hours() -> tuple[CoreHours, ...]:
    """Those that are cited, and the least that follows from the throughput tables, at an N without failures."""
    found = [
        CoreHours(
            curve.cores * point.total_hours / point.n,
            COVERAGE,
            f"resources/published ({curve.published})",
            f"GATK 3.6; {curve.sku}, {curve.cores} cores x {point.total_hours:.2f} h / {point.n} genomes"
            " at once, least of all",
            "CPU time; one genome alone; GATK 4",
            point.total_hours,
        )
        for curve in curves()
        for point in whole(curve)
        if curve.cores and point.total_hours
    ]
    cited = read_table(FOLDER, "core_hours")
    return (min(found, key=lambda one: one.core_hours or math.inf), *map(_cited, cited))


def _cited(row: Row) -> CoreHours:
    return CoreHours(
        _known(row["core_hours"]),
        float(row["depth"]),
        row["source"],
        row["conditions"],
        row["does_not_follow"],
        _known(row["hours"]),
        _known(row["usd"]),
    )


def _known(text: str) -> float | None:
    return float(text) if text else None
