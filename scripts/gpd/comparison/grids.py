"""The tables of a comparison, as text: a row a side at its best N; then for each N a row a figure.

The first table says which machine gives how much; those of the configurations say in which step.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from gpd.comparison.comparability import curve_name
from gpd.comparison.compare import BestRows, Comparison, ConfigurationRows, Row
from gpd.comparison.nodes import node_grid
from gpd.comparison.results import (
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
    Metric,
    Side,
    same_size,
)
from gpd.pipelines import PIPELINES
from gpd.statistics.estimates import Estimate, Ratio
from gpd.tables.columns import CLOCKS
from gpd.text.formats import TimeUnit, listed, number, unit_for, with_error
from gpd.text.grid import Entry, Grid, Group, Line

T = TypeVar("T")
RATIO, NO_INTERVAL = "ratio", "(no CI)"
TIMES = (MAKESPAN.column, ELAPSED, SUMMED)  # columns
SECONDS = dict.fromkeys((*TIMES, *A_GIGABASE.values()), SECONDS_PER_HOUR) | {MAKESPAN.column: 1}  # of their units
EPSILON = 1e-9  # of a mean: below it an error is that of the arithmetic
NAMES = {
    GIGABASES: "gigabases a day",
    HUMAN: "30x human equivalents a day",
    CPU_A_GIGABASE: "CPU seconds a gigabase",
    CPU_UTILISATION: "CPU utilisation",
}


@dataclass(frozen=True)
class Layout:
    """How wide a table may be, in characters (None: any), and whether published results are there for an overview.

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
    for best in compared.best:
        found = [one for one in compared.configurations if one.match == best.match]
        if not layout.overview:
            for one in found:
                yield from _configuration_grids(compared.sides, one, layout)
        elif shown := most_compared(found):
            yield _overview(compared.sides, shown, layout)
    if (nodes := node_grid(compared.sides)) is not None:
        yield nodes


def most_compared(found: Iterable[ConfigurationRows]) -> ConfigurationRows | None:
    """The N that most sides have, the smallest of them: for there each one's steps can be seen."""
    return max(found, key=lambda one: (len(one.results), -one.n), default=None)


# ------------------------------------------------------------------------------------- best N against best N


def _best_grid(sides: Sequence[Side], best: BestRows) -> Grid:
    shown = [side for side in sides if side.name in best.match]
    of = GENOMES if best.same_size else GIGABASES
    pipeline = best.common.pipeline
    found = {side.name: best.saturations[side.name] for side in shown}
    columns: dict[str, Sequence[Entry]] = {
        "processor": [Entry(", ".join(side.processors)) for side in shown],
        "cores": [Entry(", ".join(map(str, side.cores))) for side in shown],
        "best N": [_entry(one.best_n) for one in found.values()],
        "failed\nthere": [
            _entry(best.results[name].observation.failed if name in best.results else None) for name in found
        ],
    }
    if any(one.n != one.best_n for one in found.values()):
        columns["N with\nmost, but\nfailures"] = [
            _entry(None if one.n == one.best_n else one.n) for one in found.values()
        ]
    rows = {row.metric: row for row in best.rows}
    for metric in (GENOMES, GIGABASES, HUMAN) if PIPELINES[pipeline].genomes else (GENOMES, GIGABASES):
        columns[_stacked(_name(metric, pipeline))] = [_mean(rows[metric].estimates.get(side.name)) for side in shown]
    columns[_stacked(f"ratio of {_name(of, pipeline)}")] = [_ratio(rows[of].ratios.get(side.name)) for side in shown]
    known = {head: entries for head, entries in columns.items() if any(entry.text for entry in entries)}
    lines = [Line(side.name, tuple(entries)) for side, *entries in zip(shown, *known.values(), strict=True)]
    several = [side.name for side in shown if len(side.curves[best.match[side.name]]) > 1]
    notes = [f"{name}: {found[name].reason}" for name in several]
    if once := [name for name in found if name not in several]:
        notes.append(f"only one N was tried: {listed(once)}")
    return Grid(f"{curve_name(best.common)}: each at its best N", ("", *known), (Group(tuple(lines)),), tuple(notes))


def _narrowed(grid: Grid) -> Grid:
    """Break names after a colon, and set errors and intervals below their figures."""
    lines = [
        Line(line.head.replace(":", ":\n"), tuple(Entry(entry.joined("\n")) for entry in line.entries))
        for line in grid.groups[0].lines
    ]
    return replace(grid, groups=(Group(tuple(lines)),))


def _stacked(head: str) -> str:
    """Break a head into lines, none of them much wider than the figures below."""
    return head.replace(" a day", "\na day").replace("human ", "human\n").replace("ratio of ", "ratio of\n")


# ---------------------------------------------------------------------------------- by configuration


def _overview(sides: Sequence[Side], shown: ConfigurationRows, layout: Layout) -> Grid:
    """One table of the sides that fit, studies before published results; it names the rest."""
    present = [side for side in sides if side.name in shown.results]
    ordered = [present[0], *sorted(present[1:], key=lambda side: side.published)]
    grid, others = _widest(ordered, shown, layout)
    left_out = (f"no room for {listed(side.name for side in others)}",) if others else ()
    hint = "an overview: for summed step time and other N name SKUs, as published:8352Y, instead of published"
    return replace(grid, notes=(*left_out, hint))


def _configuration_grids(sides: Sequence[Side], shown: ConfigurationRows, layout: Layout) -> Iterator[Grid]:
    """Spread the sides over tables that fit; the first stands in each."""
    first, *others = [side for side in sides if side.name in shown.results]
    while others:
        grid, others = _widest([first, *others], shown, layout)
        yield grid


def _widest(sides: Sequence[Side], shown: ConfigurationRows, layout: Layout) -> tuple[Grid, list[Side]]:
    """The table of as many sides as fit, two at least, and the sides that are left."""
    grid, count = _configuration_grid(sides[:2], shown, layout), 2
    while count < len(sides) and layout.holds(wider := _configuration_grid(sides[: count + 1], shown, layout)):
        grid, count = wider, count + 1
    return grid, list(sides[count:])


def _configuration_grid(sides: Sequence[Side], shown: ConfigurationRows, layout: Layout) -> Grid:
    """Steps are in hours where samples are of one size, and else in hours a gigabase if that is known of two sides."""
    names = [side.name for side in sides]
    results = [shown.results[name] for name in names]
    a_gigabase = not same_size(*results) and sum(bool(one.gigabases) for one in results) > 1
    clocks = [ELAPSED] if layout.overview else [ELAPSED, SUMMED]
    units = dict.fromkeys(TIMES, unit_for(max(_longest(shown, names, TIMES[:1] if a_gigabase else TIMES))))
    # a small sample's time a gigabase is far longer than that of a large one, whose digits shall be seen
    units |= dict.fromkeys(A_GIGABASE.values(), unit_for(min(_longest(shown, names, A_GIGABASE.values()))))
    with_ratio = [side.name for side in sides[1:] if not (layout.overview and side.published)]

    def spread(values: Iterable[T], ratios: Iterable[T]) -> tuple[T, ...]:
        """Each side's value, and then its ratio if it has one."""
        pairs = zip(sides, values, ratios, strict=True)
        return tuple(one for side, *both in pairs for one in both[: 1 + (side.name in with_ratio)])

    blank = [Entry("")] * len(sides)
    groups: dict[str, list[Line]] = {
        "": [
            Line("repeats", spread([_entry(one.repeats) for one in results], blank)),
            Line("samples failed", spread([_entry(one.observation.failed) for one in results], blank)),
        ]
    }
    for row in shown.rows:
        if any(row.estimates[name].n for name in names):
            values = [_value(row, side, shown.results[side.name].repeats, units) for side in sides]
            entries = spread(values, [_ratio(row.ratios[name]) for name in names])
            head = row.metric.step or _label(row.metric, shown.common.pipeline, units)
            groups.setdefault(row.metric.column if row.metric.step else "", []).append(Line(head, entries))
    titles = {"": ""}
    for clock in clocks:
        column, suffix = (A_GIGABASE[clock], " a gigabase") if a_gigabase else (clock, "")
        titles[column] = f"{CLOCKS[clock].lower()}, {units[column].symbol}{suffix}"
    heads = spread([_head(side, layout) for side in sides], [RATIO] * len(sides))
    parts = tuple(Group(tuple(groups[column]), title) for column, title in titles.items() if column in groups)
    return Grid(curve_name(shown.common, shown.n), ("", *heads), parts)


def _longest(shown: ConfigurationRows, names: Sequence[str], columns: Collection[str]) -> list[float]:
    """Return the longest of these times of each side that has any, in seconds."""
    rows = [row for row in shown.rows if row.metric.column in columns]
    times = [[(row.estimates[name].mean or 0) * SECONDS[row.metric.column] for row in rows] for name in names]
    return [max(of_side) for of_side in times if any(of_side)] or [0.0]


def _head(side: Side, layout: Layout) -> str:
    if side.published:
        sku = ", ".join(side.skus)
        return f"publ.\n{sku}" if layout.overview else f"{sku}\n(published)"
    return side.name.replace(":", ":\n")


def _value(row: Row, side: Side, repeats: int, units: Mapping[str, TimeUnit]) -> Entry:
    """Return a figure, times in the table's unit; published hours keep the digits that were printed."""
    estimate, column = row.estimates[side.name], row.metric.column
    if column not in units or estimate.mean is None:
        return _mean(estimate, repeats)
    if side.published and column in TIMES:
        return Entry(units[column].show(estimate.mean * SECONDS[column]))
    scale = SECONDS[column] / units[column].seconds
    scaled = replace(estimate, mean=estimate.mean * scale, sd=None, se=estimate.se and estimate.se * scale)
    return _mean(scaled, repeats)


def _label(metric: Metric, pipeline: str, units: Mapping[str, TimeUnit]) -> str:
    return f"makespan, {units[metric.column].symbol}" if metric == MAKESPAN else _name(metric, pipeline)


# ------------------------------------------------------------------------------------------------- numbers


def _name(metric: Metric, pipeline: str) -> str:
    return PIPELINES[pipeline].daily if metric == GENOMES else NAMES[metric]


def _mean(estimate: Estimate | None, repeats: int | None = None) -> Entry:
    """Return mean and half-width of its interval, and of how many repeats where some have no value, else blank."""
    if estimate is None or estimate.mean is None:
        return Entry("")
    error = estimate.half_width()
    if error is not None and error <= abs(estimate.mean) * EPSILON:
        error = 0.0  # repeats that are equal but for the last bit of a float
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
