"""A comparison as a page: curves with their intervals, steps side by side, and the tables. Pure."""

from collections.abc import Iterator, Sequence

from gpd.comparison.comparability import grouped, told
from gpd.comparison.compare import BestRows, Comparison, ConfigurationRows
from gpd.comparison.compared import A_GIGABASE, ELAPSED, GENOMES, HUMAN, SECONDS_PER_HOUR, SUMMED, Figure, Point, Side
from gpd.comparison.grids import Layout, grids
from gpd.pipelines import PIPELINES
from gpd.reports.figures import Curve, CurvePoint, Stack, draw_curves, draw_stacks
from gpd.reports.grids import step_numbers
from gpd.reports.page import Notice, Page, Section
from gpd.reports.study_figures import ReportFigure
from gpd.statistics.estimates import Estimate
from gpd.text.formats import unit_for

INTERVALS = "Bars: 95% confidence intervals of the mean, by Student's t; a point without has one repeat."
MOST_SIDES = 8  # in a figure: past that lines can't be told apart


def comparison_page(compared: Comparison, layout: Layout, method: str) -> Page:
    """The page of what was compared; not of what was refused."""
    names = [side.name for side in compared.sides]
    notices = (Notice("warning", f"differs: {difference}") for difference in grouped(compared.differences))
    drawn = tuple(shown for at, best in enumerate(compared.best) for shown in _figures(compared, best, at))
    return Page(
        title=" against ".join(names),
        notices=tuple(notices),
        sections=(
            Section("Curves and steps", figures=drawn),
            *(Section(grid.caption, grids=(grid,)) for grid in grids(compared, layout)),
            Section("What has to be known", lines=compared.notes),
            Section("How to read it", text=method),
        ),
    )


def _figures(compared: Comparison, best: BestRows, at: int) -> Iterator[ReportFigure]:
    """The curves of sides that have one, in genomes a day where samples are of one size, and else 30x equivalents."""
    pipeline = PIPELINES[best.shared.pipeline]
    of = GENOMES if best.same_size or not pipeline.genomes else HUMAN
    name = pipeline.daily if of == GENOMES else "30x human equivalents a day"
    curves = [
        curve
        for side, curve_key in zip(compared.sides, best.match, strict=True)
        if curve_key and (curve := _curve(side, [Point(curve_key, n) for n in side.numbers(curve_key)], of)).points
    ][:MOST_SIDES]
    if any(len(curve.points) > 1 for curve in curves):
        title = f"{name.capitalize()} against samples at once, {told(best.shared)}"
        yield ReportFigure(INTERVALS, draw_curves(f"curves-{at}", title, curves, name))
    else:
        yield ReportFigure(f"No curve of {name}: one N alone on each side.")
    points = [point for point in compared.points if point.match == best.match]
    if points:
        shown = max(points, key=lambda point: (len(point.present), -point.n))
        yield _steps(compared.sides, shown, at)


def _curve(side: Side, points: Sequence[Point], of: Figure) -> Curve:
    found = [(point.n, side.points[point].estimate(of)) for point in points]
    drawn = tuple(_point(n, estimate) for n, estimate in found if estimate.mean is not None)
    return Curve(side.name, drawn)


def _point(n: int, estimate: Estimate) -> CurvePoint:
    interval = estimate.interval()
    clipped = (max(interval[0], 0.0), interval[1]) if interval else None  # nothing is done less than not at all
    return CurvePoint(n, estimate.mean or 0.0, clipped)


def _steps(sides: Sequence[Side], point: ConfigurationRows, at: int) -> ReportFigure:
    """What each step took on each side, at the N that most have; published figures have elapsed step times alone."""
    places = list(point.present)[:MOST_SIDES]
    measured = [point.present[place] for place in places]
    clock = ELAPSED if any(sides[place].published for place in places) else SUMMED
    a_gigabase = not all(one.same_size(measured[0]) for one in measured)
    column = A_GIGABASE[clock] if a_gigabase else clock
    steps = step_numbers(point.shared.pipeline)
    hours = [
        {step: mean for step in steps if (mean := one.estimate(Figure(column, step)).mean) is not None}
        for one in measured
    ]
    if not any(hours):
        return ReportFigure("No figure of steps: how long they took is not known.")
    unit = unit_for(max(sum(of.values()) for of in hours) * SECONDS_PER_HOUR)
    stacks = [
        Stack(_label(sides[place]), {step: unit.of(h * SECONDS_PER_HOUR) for step, h in of.items()})
        for place, of in zip(places, hours, strict=True)
    ]
    y_label = f"{unit.name}{' a gigabase' if a_gigabase else ''}"
    what = f"{'Elapsed' if clock == ELAPSED else 'Summed'} time of each step{' a gigabase' if a_gigabase else ''}"
    title = f"{what}, {told(point.shared, point.n)}"
    drawing = draw_stacks(f"steps-{at}", title, stacks, y_label, steps, x_label="side")
    overlap = " Steps overlap, so that these do not add up to the makespan." if clock == ELAPSED else ""
    return ReportFigure(f"Means over repeats.{overlap}", drawing)


def _label(side: Side) -> str:
    return side.name.replace("published:", "publ. ").replace(":", "\n")
