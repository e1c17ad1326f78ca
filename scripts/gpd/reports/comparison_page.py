"""A comparison as a page: curves with their intervals, steps side by side, and the tables. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from gpd.comparison.comparability import curve_name
from gpd.comparison.compare import ComparedConfiguration, Comparison
from gpd.comparison.comparison_grids import grids, most_compared
from gpd.comparison.results import (
    A_GIGABASE,
    ELAPSED,
    GENOMES,
    HUMAN,
    SECONDS_PER_HOUR,
    SUMMED,
    Metric,
    Results,
    Side,
    same_size,
    steps_of,
)
from gpd.pipelines import PIPELINES
from gpd.reports.charts import INTERVALS, WHISKERS, Curve, Stack, draw_curves, draw_stacks, known
from gpd.reports.grids import step_numbers
from gpd.reports.page import Notice, Page, Section
from gpd.reports.study_figures import ReportFigure
from gpd.tables.columns import CLOCKS

MOST_NAMED = 4  # sides in a title
MOST_SIDES = 8  # in a figure: past that lines can't be told apart


def comparison_page(
    compared: Comparison, verdict: Sequence[str], spoils: Sequence[str], method: Section, overview: bool = False
) -> Page:
    """The page of what was compared; not of what was refused. Verdict first, then what `spoils` it, then tables."""
    drawn = tuple(shown for at, best in enumerate(compared.best) for shown in _figures(compared, best, at))
    names = [side.name for side in compared.sides]
    first, *others = grids(compared, overview=overview)
    return Page(
        title=" against ".join(names) if len(names) <= MOST_NAMED else f"{names[0]} against {len(names) - 1} others",
        notices=(),
        sections=(
            Section("Verdict", lines=tuple(verdict)),
            *([Section("What spoils it", notices=tuple(Notice("warning", line) for line in spoils))] if spoils else []),
            Section(first.caption, grids=(first,)),
            Section("Curves and steps", figures=drawn),
            *(Section(grid.caption, grids=(grid,)) for grid in others),
            method,
        ),
    )


def _figures(compared: Comparison, best: ComparedConfiguration, at: int) -> Iterator[ReportFigure]:
    """The curves of sides that have one, in genomes a day where samples are of one size, and else 30x equivalents."""
    pipeline = PIPELINES[best.common.pipeline]
    of = GENOMES if same_size(*best.results.values()) or not pipeline.genomes else HUMAN
    name = pipeline.daily if of == GENOMES else "30x human equivalents a day"
    curves = [
        curve
        for side in compared.sides
        if side.name in best.match and (curve := _curve(side.name, side.curves[best.match[side.name]], of)).points
    ][:MOST_SIDES]
    if any(len(curve.points) > 1 for curve in curves):
        title = f"{name.capitalize()} against samples at once, {curve_name(best.common)}"
        yield ReportFigure(INTERVALS, draw_curves(f"curves-{at}", title, curves, name))
    else:
        yield ReportFigure(f"No curve of {name}: one N alone on each side.")
    if rows := most_compared(one for one in compared.configurations if one.match == best.match):
        yield _steps([side for side in compared.sides if side.name in rows.results], rows, at)


def _curve(name: str, results: Mapping[int, Results], of: Metric) -> Curve:
    return Curve(name, known({n: own.estimate(of) for n, own in results.items()}))


def _steps(sides: Sequence[Side], rows: ComparedConfiguration, at: int) -> ReportFigure:
    """What each step took on each side, at the N that most have; published results have elapsed step times alone."""
    sides = sides[:MOST_SIDES]
    results = [rows.results[side.name] for side in sides]
    clock = ELAPSED if any(side.published for side in sides) else SUMMED
    a_gigabase = not same_size(*results)
    column = A_GIGABASE[clock] if a_gigabase else clock
    steps = step_numbers(rows.common.pipeline, steps_of(results))
    hours = [known({step: one.estimate(Metric(column, step)) for step in steps}) for one in results]
    stacks = [Stack(_label(side), own).times(SECONDS_PER_HOUR) for side, own in zip(sides, hours, strict=True)]
    if not any(stack.total for stack in stacks):
        return ReportFigure("No chart of steps: how long they took is not known.")
    of_what = " a gigabase" if a_gigabase else ""
    title = f"{CLOCKS[clock]}{of_what}, {curve_name(rows.common, rows.n)}"
    drawing = draw_stacks(f"steps-{at}", title, stacks, f"{{}}{of_what}", steps, x_label="side")
    overlap = " Steps overlap, so that these do not add up to the makespan." if clock == ELAPSED else ""
    return ReportFigure(f"Means over repeats. {WHISKERS}{overlap}", drawing)


def _label(side: Side) -> str:
    return side.name.replace("published:", "publ. ").replace(":", "\n")
