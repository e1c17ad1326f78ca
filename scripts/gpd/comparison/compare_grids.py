"""The tables of a comparison, as text: a row a figure, a column a side and one for its ratio. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpd.comparison.comparability import told
from gpd.comparison.compare import BestRows, Comparison, Daily, PointRows, Row
from gpd.comparison.sides import BARRIER, BUSY, GENOMES, GERMLINE, HUMAN, MAKESPAN, SECONDS_PER_HOUR, Figure, Side
from gpd.reports.formats import TimeUnit, number, unit_for, with_error
from gpd.reports.grids import CLOCKS, DAILY
from gpd.tables import columns
from gpd.tables.estimates import Estimate, Ratio

MOST_OTHERS = 2  # sides beside the first that a table has; past that another table goes on
RATIO, NO_INTERVAL = "ratio", "(no CI)"
SECONDS_IN = {MAKESPAN.column: 1, BARRIER: SECONDS_PER_HOUR, BUSY: SECONDS_PER_HOUR}  # of the unit in the tables
EPSILON = 1e-9  # of a mean: below it an error is that of the arithmetic
NAMES = {
    columns.GIGABASES.name: "gigabases a day",
    columns.HUMAN.name: "30x human equivalents a day",
    columns.CPU_A_GIGABASE.name: "CPU seconds a gigabase",
    columns.PACKING.name: "packing",
}


@dataclass(frozen=True)
class Grid:
    """A table to be shown: its rows in groups, each under a title but the first; a column a side, and its ratio."""

    caption: str
    heads: tuple[str, ...]
    groups: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]


def grids(compared: Comparison) -> Iterator[Grid]:
    """All tables: point by point, and then best N against best N."""
    for point in compared.points:
        for page in _pages(point.measured):
            yield _point_grid(compared.sides, point, page)
    for best in compared.best:
        for page in _pages(best.sides):
            yield _best_grid(compared.sides, best, page)


def _pages(places: Sequence[object | None]) -> Iterator[list[int]]:
    """Spread the sides that there are over tables; the first stands in each."""
    first, *others = [at for at, place in enumerate(places) if place is not None]
    for start in range(0, len(others), MOST_OTHERS):
        yield [first, *others[start : start + MOST_OTHERS]]


def _point_grid(sides: Sequence[Side], point: PointRows, page: Sequence[int]) -> Grid:
    unit = _unit(point, page)
    shown = [row for row in point.rows if any(row.estimates[at].n for at in page)]
    measured = [point.measured[at] for at in page]
    head = (
        *_machines(sides, page),
        _plain("repeats", [str(one.repeats) for one in measured]),
        _plain("samples failed", [_text(one.failed) for one in measured]),
    )
    rows = [(row.figure, _row(sides, row, point, page, unit)) for row in shown]
    groups = [("", (*head, *(row for figure, row in rows if not figure.step)))]
    for clock, title in CLOCKS.items():
        if of_clock := tuple(row for figure, row in rows if figure.column == clock):
            groups.append((f"{title.lower()}, {unit.symbol}", of_clock))
    return Grid(str(point.point), _heads(sides, page), tuple(groups))


def _best_grid(sides: Sequence[Side], best: BestRows, page: Sequence[int]) -> Grid:
    shown = [best.sides[at] for at in page]
    pipeline = best.series.pipeline
    rows = (
        *_machines(sides, page),
        _plain("best N", [_text(one.knee.n) for one in shown]),
        _plain("samples failed", [_text(one.knee.failed) for one in shown]),
        *_daily_rows(pipeline, [one.most for one in shown]),
        _plain("best N without failures", [_text(one.knee.n_without_failures) for one in shown]),
        *_daily_rows(pipeline, [one.safe for one in shown]),
    )
    return Grid(f"{told(best.series)}: best N against best N", _heads(sides, page), (("", rows),))


def _daily_rows(pipeline: str, shown: Sequence[Mapping[Figure, Daily]]) -> Iterator[tuple[str, ...]]:
    for figure in (GENOMES, HUMAN) if pipeline == GERMLINE else (GENOMES,):
        found = [one.get(figure) for one in shown]
        values = [_mean(one and one.estimate) for one in found]
        yield _interleaved(_name(figure, pipeline), values, [_ratio(one and one.ratio) for one in found])


def _heads(sides: Sequence[Side], page: Sequence[int]) -> tuple[str, ...]:
    first, *others = (sides[at].name for at in page)
    return ("", first, *(head for name in others for head in (name, RATIO)))


def _machines(sides: Sequence[Side], page: Sequence[int]) -> tuple[tuple[str, ...], ...]:
    rows = (
        _plain("processor", [", ".join(sides[at].skus) for at in page]),
        _plain("cores", [", ".join(map(str, sides[at].cores)) for at in page]),
    )
    return tuple(row for row in rows if any(row[1:]))


def _plain(label: str, values: Sequence[str]) -> tuple[str, ...]:
    return _interleaved(label, values, [""] * len(values))


def _interleaved(label: str, values: Sequence[str], ratios: Sequence[str]) -> tuple[str, ...]:
    """Return a row: the first side's value, then each other one's with its ratio."""
    pairs = zip(values[1:], ratios[1:], strict=True)
    return (label, values[0], *(text for pair in pairs for text in pair))


def _row(sides: Sequence[Side], row: Row, point: PointRows, page: Sequence[int], unit: TimeUnit) -> tuple[str, ...]:
    values = [_value(row, row.estimates[at], sides[at], point.measured[at].repeats, unit) for at in page]
    return _interleaved(_label(row, point, unit), values, [_ratio(row.ratios[at]) for at in page])


def _value(row: Row, one: Estimate, side: Side, repeats: int, unit: TimeUnit) -> str:
    """Return a figure, times in the table's unit; published hours keep the digits that were printed."""
    seconds = SECONDS_IN.get(row.figure.column)
    if seconds is None or one.mean is None:
        return _mean(one, repeats)
    if side.published:
        return unit.show(one.mean * seconds)
    scale = seconds / unit.seconds
    return _mean(Estimate(one.n, one.mean * scale, None, one.se and one.se * scale), repeats)


def _unit(point: PointRows, page: Sequence[int]) -> TimeUnit:
    """One unit of time for the whole table."""
    means = [
        (row.estimates[at].mean or 0) * SECONDS_IN[row.figure.column]
        for row in point.rows
        for at in page
        if row.figure.column in SECONDS_IN
    ]
    return unit_for(max(means, default=0))


def _label(row: Row, point: PointRows, unit: TimeUnit) -> str:
    if row.figure == MAKESPAN:
        return f"makespan, {unit.symbol}"
    return row.figure.step or _name(row.figure, point.point.series.pipeline)


def _name(figure: Figure, pipeline: str) -> str:
    return DAILY[pipeline] if figure == GENOMES else NAMES[figure.column]


def _mean(one: Estimate | None, repeats: int | None = None) -> str:
    """Return mean and standard error, and of how many repeats where some have no value; blank where none has."""
    if one is None or one.mean is None:
        return ""
    # repeats that are equal but for the last bit of a float have no error
    error = one.se if one.se is None or one.se > abs(one.mean) * EPSILON else 0.0
    known = "" if repeats in (None, one.n) else f"(n = {one.n})"
    return " ".join(filter(None, (*with_error(one.mean, error), known)))


def _ratio(one: Ratio | None) -> str:
    if one is None or one.value is None:
        return ""
    if one.low is None or one.high is None:
        return f"{number(one.value)} {NO_INTERVAL}"
    return f"{number(one.value)} ({number(one.low)}-{number(one.high)})"


def _text(value: object) -> str:
    return "" if value is None else str(value)


def knees(compared: Comparison) -> list[str]:
    """Why each side's best N is the best."""
    return [
        f"{side.name}: {told(best.series)}: {best.knee.reason}"
        for rows in compared.best
        for side, best in zip(compared.sides, rows.sides, strict=True)
        if best is not None
    ]
