"""The tables of a comparison, as text: a row a side at its best N; then for each N a row a figure. Pure.

The first table says which machine gives how much; those of the points say in which step.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpd.comparison.comparability import told
from gpd.comparison.compare import Best, BestRows, Comparison, Daily, PointRows, Row
from gpd.comparison.sides import (
    A_GIGABASE,
    BARRIER,
    BUSY,
    GENOMES,
    GIGABASES,
    HUMAN,
    MAKESPAN,
    SECONDS_PER_HOUR,
    Figure,
    Side,
    same_size,
)
from gpd.pipelines import PIPELINES
from gpd.statistics.estimates import Estimate, Ratio
from gpd.tables import columns
from gpd.tables.columns import CLOCKS
from gpd.text.formats import PLUS_MINUS, TimeUnit, listed, number, unit_for, with_error

RATIO, NO_INTERVAL = "ratio", "(no CI)"
HOURS = {MAKESPAN.column: 1, BARRIER: SECONDS_PER_HOUR, BUSY: SECONDS_PER_HOUR}  # seconds of the unit in the tables
HOURS_A_GIGABASE = dict.fromkeys(A_GIGABASE.values(), SECONDS_PER_HOUR)
EPSILON = 1e-9  # of a mean: below it an error is that of the arithmetic
FRAME = 3  # characters beside the text of a column
NAMES = {
    columns.GIGABASES.name: "gigabases a day",
    columns.HUMAN.name: "30x human equivalents a day",
    columns.CPU_A_GIGABASE.name: "CPU seconds a gigabase",
    columns.PACKING.name: "packing",
}


@dataclass(frozen=True)
class Layout:
    """How wide a table may be, in characters (None: any), and whether published figures are there for an overview.

    In an overview they have no ratios but at the best N, and steps are shown at one N, by the clock that they share.
    """

    width: int | None = None
    overview: bool = False


@dataclass(frozen=True)
class Grid:
    """A table to be shown: its rows in groups, each under a title but the first; the first column heads the rows.

    A head may have several lines. `notes` stand below.
    """

    caption: str
    heads: tuple[str, ...]
    groups: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]
    notes: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Characters that it takes on a terminal, unless text is folded."""
        rows = [self.heads, *(row for _, rows in self.groups for row in rows)]
        texts = [max(len(line) for text in column for line in text.split("\n")) for column in zip(*rows, strict=True)]
        return sum(texts) + FRAME * len(texts) + 1

    def fits(self, layout: Layout) -> bool:
        return layout.width is None or self.width <= layout.width


def grids(compared: Comparison, layout: Layout) -> Iterator[Grid]:
    """All tables: best N against best N, and then point by point."""
    seen: set[str] = set()
    for best in compared.best:
        grid = _best_grid(compared.sides, best)
        grid = grid if grid.fits(layout) else _narrowed(grid)
        yield replace(grid, notes=tuple(note for note in grid.notes if note not in seen))
        seen.update(grid.notes)
    for match in (best.match for best in compared.best):
        points = [point for point in compared.points if point.match == match]
        if layout.overview:
            yield from _overview(compared.sides, points, layout)
        else:
            for point in points:
                yield from _point_grids(compared.sides, point, layout)


# ------------------------------------------------------------------------------------- best N against best N


def _best_grid(sides: Sequence[Side], rows: BestRows) -> Grid:
    shown = [(side, best) for side, best in zip(sides, rows.sides, strict=True) if best is not None]
    of = GENOMES if rows.same_size else GIGABASES
    pipeline = rows.shared.pipeline
    daily = [figure for figure in (GENOMES, GIGABASES, HUMAN) if figure != HUMAN or PIPELINES[pipeline].genomes]
    cells: dict[str, Sequence[str]] = {
        "": [side.name for side, _ in shown],
        "processor": [", ".join(side.processors) for side, _ in shown],
        "cores": [", ".join(map(str, side.cores)) for side, _ in shown],
        "best N": [_text(best.knee.n) for _, best in shown],
        "failed\nthere": [_text(best.knee.failed) for _, best in shown],
        "best N\nwithout\nfailures": _safe_numbers([best for _, best in shown]),
        **{_stacked(_name(figure, pipeline)): [_mean_of(best, figure) for _, best in shown] for figure in daily},
        _stacked(f"ratio of {_name(of, pipeline)}"): [_ratio_of(best, of) for _, best in shown],
    }
    known = {head: texts for head, texts in cells.items() if any(texts)}
    caption = f"{told(rows.shared)}: each at its best N"
    return Grid(caption, tuple(known), (("", tuple(zip(*known.values(), strict=True))),), tuple(_knees(shown)))


def _narrowed(grid: Grid) -> Grid:
    """Break names after a colon, and set errors and intervals below their figures."""
    ((title, rows),) = grid.groups
    broken = (
        (
            name.replace(":", ":\n"),
            *(text.replace(" (", "\n(").replace(f" {PLUS_MINUS}", f"\n{PLUS_MINUS}") for text in row),
        )
        for name, *row in rows
    )
    return replace(grid, groups=((title, tuple(broken)),))


def _knees(shown: Sequence[tuple[Side, Best]]) -> Iterator[str]:
    """Why each best N is the best, where several were tried."""
    yield from (f"{side.name}: {best.knee.reason}" for side, best in shown if best.tried > 1)
    if once := [side.name for side, best in shown if best.tried == 1]:
        yield f"only one N was tried: {listed(once)}"


def _safe_numbers(shown: Sequence[Best]) -> list[str]:
    """Return the best N without failures; nothing where it is the best N for all."""
    if all(best.knee.n == best.knee.n_without_failures for best in shown):
        return []
    return [_text(best.knee.n_without_failures) or "none" for best in shown]


def _mean_of(best: Best, figure: Figure) -> str:
    daily = best.most.get(figure)
    return _mean(daily and daily.estimate)


def _ratio_of(best: Best, figure: Figure) -> str:
    daily: Daily | None = best.most.get(figure)
    return _ratio(daily and daily.ratio)


def _stacked(head: str) -> str:
    """Break a head into lines, none of them much wider than the figures below."""
    return head.replace(" a day", "\na day").replace("human ", "human\n").replace("ratio of ", "ratio of\n")


# ------------------------------------------------------------------------------------------- point by point


def _overview(sides: Sequence[Side], points: Sequence[PointRows], layout: Layout) -> Iterator[Grid]:
    """The N that most sides have, the smallest of them: for there each one's steps can be seen."""
    if not points:
        return
    shown = max(points, key=lambda point: (len(point.places), -point.n))
    (grid,) = _point_grids(sides, shown, layout)
    yield replace(
        grid,
        notes=(
            *grid.notes,
            "an overview: for busy time and other N name SKUs, as published:8352Y, instead of published",
        ),
    )


def _point_grids(sides: Sequence[Side], point: PointRows, layout: Layout) -> Iterator[Grid]:
    """Spread the sides over tables that fit; the first stands in each. An overview is one table, and names the rest."""
    first, *others = point.places
    if layout.overview:
        others.sort(key=lambda at: sides[at].published)
    while others:
        taken = _taken(others, lambda some: _point_grid(sides, point, [first, *some], layout).fits(layout))
        grid = _point_grid(sides, point, [first, *others[:taken]], layout)
        others = others[taken:]
        if layout.overview and others:
            left_out = f"no room for {listed(sides[at].name for at in others)}"
            grid, others = replace(grid, notes=(left_out,)), []
        yield grid


def _taken(others: Sequence[int], fit: Callable[[Sequence[int]], bool]) -> int:
    """Return how many of the others fit; one is shown in any case."""
    taken = 1
    while taken < len(others) and fit(others[: taken + 1]):
        taken += 1
    return taken


@dataclass(frozen=True)
class _Page:
    """What a table of a point shows: which sides, which of them with a ratio, hours or hours a gigabase, the units."""

    sides: Sequence[Side]
    point: PointRows
    places: Sequence[int]
    with_ratio: frozenset[int]
    clocks: Mapping[str, str]
    unit: TimeUnit
    clock_unit: TimeUnit

    def columns(self, label: str, values: Mapping[int, str], ratios: Mapping[int, str]) -> tuple[str, ...]:
        """Return a row or the head: each side's value, and then its ratio if it has one."""
        pairs = ((values[at], ratios.get(at, "")) if at in self.with_ratio else (values[at],) for at in self.places)
        return (label, *(text for pair in pairs for text in pair))


def _point_grid(sides: Sequence[Side], point: PointRows, places: Sequence[int], layout: Layout) -> Grid:
    page = _page(sides, point, places, layout)
    repeats = {at: str(point.measured[at].repeats) for at in places}
    failed = {at: _text(point.measured[at].failed) for at in places}
    rows = [(row.figure, _row(row, page)) for row in point.rows if any(row.estimates[at].n for at in places)]
    totals = (row for figure, row in rows if not figure.step)
    groups = [("", (page.columns("repeats", repeats, {}), page.columns("samples failed", failed, {}), *totals))]
    for column, title in page.clocks.items():
        if of_clock := tuple(row for figure, row in rows if figure.column == column):
            groups.append((title, of_clock))
    heads = page.columns("", {at: _head(sides[at], layout) for at in places}, dict.fromkeys(places, RATIO))
    return Grid(told(point.shared, point.n), heads, tuple(groups))


def _page(sides: Sequence[Side], point: PointRows, places: Sequence[int], layout: Layout) -> _Page:
    """Steps are in hours where samples are of one size, and else in hours a gigabase if that is known of two sides."""
    measured = [point.measured[at] for at in places]
    a_gigabase = not same_size(measured) and sum(bool(one.gigabases) for one in measured) > 1
    unit = unit_for(max(_longest(point, places, [MAKESPAN.column] if a_gigabase else HOURS)))
    # a small sample's time a gigabase is far longer than that of a large one, whose digits shall be seen
    clock_unit = unit_for(min(_longest(point, places, HOURS_A_GIGABASE))) if a_gigabase else unit
    clocks = [BARRIER] if layout.overview else [BARRIER, BUSY]
    titles = {clock: f"{CLOCKS[clock].lower()}, {clock_unit.symbol}" for clock in clocks}
    return _Page(
        sides=sides,
        point=point,
        places=places,
        with_ratio=frozenset(at for at in places[1:] if not (layout.overview and sides[at].published)),
        clocks={A_GIGABASE[clock]: f"{title} a gigabase" for clock, title in titles.items()} if a_gigabase else titles,
        unit=unit,
        clock_unit=clock_unit,
    )


def _longest(point: PointRows, places: Sequence[int], names: Collection[str]) -> list[float]:
    """Return the longest of these times of each side that has any, in seconds."""
    seconds = HOURS | HOURS_A_GIGABASE
    rows = [row for row in point.rows if row.figure.column in names]
    times = [[(row.estimates[at].mean or 0) * seconds[row.figure.column] for row in rows] for at in places]
    return [max(of_side) for of_side in times if any(of_side)] or [0.0]


def _head(side: Side, layout: Layout) -> str:
    if side.published:
        sku = ", ".join(side.skus)
        return f"publ.\n{sku}" if layout.overview else f"{sku}\n(published)"
    return side.name.replace(":", ":\n")


def _row(row: Row, page: _Page) -> tuple[str, ...]:
    values = {at: _value(row, at, page) for at in page.places}
    return page.columns(_label(row.figure, page), values, {at: _ratio(row.ratios[at]) for at in page.places})


def _value(row: Row, at: int, page: _Page) -> str:
    """Return a figure, times in the table's unit; published hours keep the digits that were printed."""
    one, repeats, column = row.estimates[at], page.point.measured[at].repeats, row.figure.column
    seconds = (HOURS | HOURS_A_GIGABASE).get(column)
    if seconds is None or one.mean is None:
        return _mean(one, repeats)
    unit = page.unit if column in HOURS else page.clock_unit
    if page.sides[at].published and column in HOURS:
        return unit.show(one.mean * seconds)
    scale = seconds / unit.seconds
    return _mean(Estimate(one.n, one.mean * scale, None, one.se and one.se * scale), repeats)


def _label(figure: Figure, page: _Page) -> str:
    if figure == MAKESPAN:
        return f"makespan, {page.unit.symbol}"
    return figure.step or _name(figure, page.point.shared.pipeline)


# ------------------------------------------------------------------------------------------------- numbers


def _name(figure: Figure, pipeline: str) -> str:
    return PIPELINES[pipeline].daily if figure == GENOMES else NAMES[figure.column]


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
