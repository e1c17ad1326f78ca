"""The machines that others measured, from the hours of their curves. Pure.

Runs in which samples failed are left out: nobody printed when these ended. Each N was run once. How far such runs
scatter is taken from all curves together: the relative residuals about each SKU's own line, hours = a + bN.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from gpd.published.curves import COVERAGE, GIGABASES_A_SAMPLE, SOCKETS, PublishedCurve, PublishedPoint, curves
from gpd.published.figures import PublishedRun
from gpd.sizing.machine import Machine, Measured, Range
from gpd.statistics.estimates import Estimate

PREFIX = "published:"
TERMS = 2  # of a line
NOTES = (
    f"one genome at {COVERAGE}x, each N run once (2021, GATK 3.6): N pipelines side by side on two sockets and a shared"
    " BeeGFS; intervals: how far single runs scatter about lines in N, over all published machines",
    "not printed, so not told: CPU seconds, memory, scratch space, what went over the network",
)


def machines(runs: Iterable[PublishedRun]) -> dict[str, Machine]:
    """The machine of each SKU of which a curve was published."""
    curve_key = [one for one in curves(runs) if one.cores]
    spread = scatter([whole(one) for one in curve_key])
    return {one.sku: _machine(one, spread) for one in curve_key}


def whole(curve_key: PublishedCurve) -> list[PublishedPoint]:
    """The runs without failures whose steps are all printed, N ascending."""
    return [point for point in curve_key.points if point.failed == 0 and point.total_hours]


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
    return Estimate(freedom + 1, 1.0, error, error)


def _machine(curve_key: PublishedCurve, spread: Estimate) -> Machine:
    failed = [point.n for point in curve_key.points if point.failed]
    return Machine(
        name=f"{PREFIX}{curve_key.sku}",
        source="published",
        skus=(curve_key.sku,),
        sockets=SOCKETS,
        cores=curve_key.cores or 0,
        measured=tuple(
            Measured(point.n, GIGABASES_A_SAMPLE, Range.of(point.gigabases_per_day or 0.0, spread))
            for point in whole(curve_key)
        ),
        n_failed=min(failed, default=None),
        notes=NOTES,
    )
