"""The tables of a comparison, as text: a row a side at its best N; then for each N a row a figure. Pure.

The first table says which machine gives how much; those of the configurations say in which step.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from gpd.comparison.comparability import told
from gpd.comparison.compare import Best, BestRows, Comparison, ConfigurationRows, Daily, Row
from gpd.comparison.compared import (
    A_GIGABASE,
    CPU_A_GIGABASE,
    CPU_UTILISATION,
    ELAPSED,
    GENOMES,
    GIGABASES,
    HUMAN,
    MAKESPAN,
    SECONDS_PER_HOUR,
    SUMMED,
    Figure,
    Side,
    same_size,
)
from gpd.comparison.nodes import node_grid
from gpd.pipelines import PIPELINES
from gpd.statistics.estimates import Estimate, Ratio
from gpd.tables.columns import CLOCKS
from gpd.text.formats import TimeUnit, listed, number, unit_for, with_error
from gpd.text.grid import Entry, Grid, Group, Line

T = TypeVar("T")
RATIO, NO_INTERVAL = "ratio", "(no CI)"
HOURS = {MAKESPAN.column: 1, ELAPSED: SECONDS_PER_HOUR, SUMMED: SECONDS_PER_HOUR}  # seconds of the unit in the tables
HOURS_A_GIGABASE = dict.fromkeys(A_GIGABASE.values(), SECONDS_PER_HOUR)
EPSILON = 1e-9  # of a mean: below it an error is that of the arithmetic
NAMES = {
    GIGABASES: "gigabases a day",
    HUMAN: "30x human equivalents a day",
    CPU_A_GIGABASE: "CPU seconds a gigabase",
    CPU_UTILISATION: "CPU utilisation",
}


@dataclass(frozen=True)
class Layout:
    """How wide a table may be, in characters (None: any), and whether published figures are there for an overview.

    In an overview they have no ratios but at the best N, and steps are shown at one N, by the clock that they share.
    """

    width: int | None = None
    overview: bool = False

    def holds(self, grid: Grid) -> bool:
        return self.width is None or grid.width <= self.width


def grids(compared: Comparison, layout: Layout) -> Iterator[Grid]:
    """All tables: best N against best N, then configuration by configuration, and what was measured of the nodes."""
    noted: set[str] = set()
    for best in compared.best:
        grid = _best_grid(compared.sides, best)
        grid = grid if layout.holds(grid) else _narrowed(grid)
        yield replace(grid, notes=tuple(note for note in grid.notes if note not in noted))
        noted.update(grid.notes)
    for match in (best.match for best in compared.best):
        points = [point for point in compared.points if point.match == match]
        if layout.overview:
            yield from _overview(compared.sides, points, layout)
        else:
            for point in points:
                yield from _point_grids(compared.sides, point, layout)
    if (nodes := node_grid(compared.sides)) is not None:
        yield nodes


# ------------------------------------------------------------------------------------- best N against best N


def _best_grid(sides: Sequence[Side], rows: BestRows) -> Grid:
    shown = [(side, best) for side, best in zip(sides, rows.sides, strict=True) if best is not None]
    of = GENOMES if rows.same_size else GIGABASES
    pipeline = rows.shared.pipeline
    daily = [figure for figure in (GENOMES, GIGABASES, HUMAN) if figure != HUMAN or PIPELINES[pipeline].genomes]
    runs: dict[str, Sequence[Entry]] = {
        "processor": [Entry(", ".join(side.processors)) for side, _ in shown],
        "cores": [Entry(", ".join(map(str, side.cores))) for side, _ in shown],
        "best N": [_entry(best.saturation.n) for _, best in shown],
        "failed\nthere": [_entry(best.saturation.failed) for _, best in shown],
        "best N\nwithout\nfailures": _safe_numbers([best for _, best in shown]),
        **{_stacked(_name(figure, pipeline)): [_mean_of(best, figure) for _, best in shown] for figure in daily},
        _stacked(f"ratio of {_name(of, pipeline)}"): [_ratio_of(best, of) for _, best in shown],
    }
    known = {head: entries for head, entries in runs.items() if any(entry.text for entry in entries)}
    lines = [Line(side.name, tuple(entries[at] for entries in known.values())) for at, (side, _) in enumerate(shown)]
    caption = f"{told(rows.shared)}: each at its best N"
    return Grid(caption, ("", *known), (Group(tuple(lines)),), tuple(_saturations(shown)))


def _narrowed(grid: Grid) -> Grid:
    """Break names after a colon, and set errors and intervals below their figures."""
    (group,) = grid.groups
    lines = [
        Line(line.head.replace(":", ":\n"), tuple(Entry(entry.joined("\n")) for entry in line.entries))
        for line in group.lines
    ]
    return replace(grid, groups=(Group(tuple(lines)),))


def _saturations(shown: Sequence[tuple[Side, Best]]) -> Iterator[str]:
    """Why each best N is the best, where several were tried."""
    yield from (f"{side.name}: {best.saturation.reason}" for side, best in shown if best.tried > 1)
    if once := [side.name for side, best in shown if best.tried == 1]:
        yield f"only one N was tried: {listed(once)}"


def _safe_numbers(shown: Sequence[Best]) -> list[Entry]:
    """Return the best N without failures; nothing where it is the best N for all."""
    if all(best.saturation.n == best.saturation.n_without_failures for best in shown):
        return []
    return [_entry(best.saturation.n_without_failures or "none") for best in shown]


def _mean_of(best: Best, figure: Figure) -> Entry:
    daily = best.most.get(figure)
    return _mean(daily.estimate if daily else None)


def _ratio_of(best: Best, figure: Figure) -> Entry:
    daily: Daily | None = best.most.get(figure)
    return _ratio(daily.ratio if daily else None)


def _stacked(head: str) -> str:
    """Break a head into lines, none of them much wider than the figures below."""
    return head.replace(" a day", "\na day").replace("human ", "human\n").replace("ratio of ", "ratio of\n")


# ---------------------------------------------------------------------------------- by configuration


def _overview(sides: Sequence[Side], points: Sequence[ConfigurationRows], layout: Layout) -> Iterator[Grid]:
    """The N that most sides have, the smallest of them: for there each one's steps can be seen."""
    if not points:
        return
    shown = max(points, key=lambda point: (len(point.present), -point.n))
    (grid,) = _point_grids(sides, shown, layout)
    yield replace(
        grid,
        notes=(
            *grid.notes,
            "an overview: for summed step time and other N name SKUs, as published:8352Y, instead of published",
        ),
    )


def _point_grids(sides: Sequence[Side], point: ConfigurationRows, layout: Layout) -> Iterator[Grid]:
    """Spread the sides over tables that fit; the first stands in each. An overview is one table, and names the rest."""
    first, *others = point.present
    if layout.overview:
        others.sort(key=lambda at: sides[at].published)
    while others:
        taken = _taken(others, lambda some: layout.holds(_point_grid(sides, point, [first, *some], layout)))
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
    """What a configuration's table shows: which sides, which of them with a ratio, hours or hours a gigabase, units."""

    sides: Sequence[Side]
    point: ConfigurationRows
    places: Sequence[int]
    with_ratio: frozenset[int]
    clocks: Mapping[str, str]
    unit: TimeUnit
    clock_unit: TimeUnit

    def spread(self, values: Mapping[int, T], ratios: Mapping[int, T]) -> tuple[T, ...]:
        """Return the heads or entries of a row: each side's value, and then its ratio if it has one."""
        pairs = ((values[at], ratios[at]) if at in self.with_ratio else (values[at],) for at in self.places)
        return tuple(value for pair in pairs for value in pair)


def _point_grid(sides: Sequence[Side], point: ConfigurationRows, places: Sequence[int], layout: Layout) -> Grid:
    page = _page(sides, point, places, layout)
    blank = dict.fromkeys(places, Entry(""))
    repeats = {at: _entry(point.present[at].repeats) for at in places}
    failed = {at: _entry(point.present[at].failed) for at in places}
    counts = Line("repeats", page.spread(repeats, blank)), Line("samples failed", page.spread(failed, blank))
    lines = [(row.figure, _line(row, page)) for row in point.rows if any(row.present[at].n for at in places)]
    groups = [Group((*counts, *(line for figure, line in lines if not figure.step)))]
    for column, title in page.clocks.items():
        if of_clock := tuple(line for figure, line in lines if figure.column == column):
            groups.append(Group(of_clock, title))
    heads = page.spread({at: _head(sides[at], layout) for at in places}, dict.fromkeys(places, RATIO))
    return Grid(told(point.shared, point.n), ("", *heads), tuple(groups))


def _page(sides: Sequence[Side], point: ConfigurationRows, places: Sequence[int], layout: Layout) -> _Page:
    """Steps are in hours where samples are of one size, and else in hours a gigabase if that is known of two sides."""
    measured = [point.present[at] for at in places]
    a_gigabase = not same_size(measured) and sum(bool(result.gigabases) for result in measured) > 1
    unit = unit_for(max(_longest(point, places, [MAKESPAN.column] if a_gigabase else HOURS)))
    # a small sample's time a gigabase is far longer than that of a large one, whose digits shall be seen
    clock_unit = unit_for(min(_longest(point, places, HOURS_A_GIGABASE))) if a_gigabase else unit
    clocks = [ELAPSED] if layout.overview else [ELAPSED, SUMMED]
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


def _longest(point: ConfigurationRows, places: Sequence[int], names: Collection[str]) -> list[float]:
    """Return the longest of these times of each side that has any, in seconds."""
    seconds = HOURS | HOURS_A_GIGABASE
    rows = [row for row in point.rows if row.figure.column in names]
    times = [[(row.present[at].mean or 0) * seconds[row.figure.column] for row in rows] for at in places]
    return [max(of_side) for of_side in times if any(of_side)] or [0.0]


def _head(side: Side, layout: Layout) -> str:
    if side.published:
        sku = ", ".join(side.skus)
        return f"publ.\n{sku}" if layout.overview else f"{sku}\n(published)"
    return side.name.replace(":", ":\n")


def _line(row: Row, page: _Page) -> Line:
    values = {at: _value(row, at, page) for at in page.places}
    ratios = {at: _ratio(row.ratios[at]) for at in page.places}
    return Line(_label(row.figure, page), page.spread(values, ratios))


def _value(row: Row, at: int, page: _Page) -> Entry:
    """Return a figure, times in the table's unit; published hours keep the digits that were printed."""
    estimate, repeats, column = row.present[at], page.point.present[at].repeats, row.figure.column
    seconds = (HOURS | HOURS_A_GIGABASE).get(column)
    if seconds is None or estimate.mean is None:
        return _mean(estimate, repeats)
    unit = page.unit if column in HOURS else page.clock_unit
    if page.sides[at].published and column in HOURS:
        return Entry(unit.show(estimate.mean * seconds))
    scale = seconds / unit.seconds
    scaled = replace(estimate, mean=estimate.mean * scale, sd=None, se=estimate.se and estimate.se * scale)
    return _mean(scaled, repeats)


def _label(figure: Figure, page: _Page) -> str:
    if figure == MAKESPAN:
        return f"makespan, {page.unit.symbol}"
    return figure.step or _name(figure, page.point.shared.pipeline)


# ------------------------------------------------------------------------------------------------- numbers


def _name(figure: Figure, pipeline: str) -> str:
    return PIPELINES[pipeline].daily if figure == GENOMES else NAMES[figure]


def _mean(estimate: Estimate | None, repeats: int | None = None) -> Entry:
    """Return mean and standard error, and of how many repeats where some have no value; blank where none has."""
    if estimate is None or estimate.mean is None:
        return Entry("")
    # repeats that are equal but for the last bit of a float have no error
    error = estimate.se if estimate.se is None or estimate.se > abs(estimate.mean) * EPSILON else 0.0
    known = "" if repeats in (None, estimate.n) else f"(n = {estimate.n})"
    mean, shown_error = with_error(estimate.mean, error)
    return Entry(mean, " ".join(filter(None, (shown_error, known))))


def _ratio(ratio: Ratio | None) -> Entry:
    if ratio is None or ratio.value is None:
        return Entry("")
    if ratio.low is None or ratio.high is None:
        return Entry(number(ratio.value), NO_INTERVAL)
    return Entry(number(ratio.value), f"({number(ratio.low)}-{number(ratio.high)})")


def _entry(value: object) -> Entry:
    return Entry("" if value is None else str(value))
