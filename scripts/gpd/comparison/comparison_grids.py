"""The tables of a comparison, ratios first: a row a side at its best N; then for each N a row a figure.

The first table says which machine gives how much; those of the configurations say in which step.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from gpd.comparison.comparability import curve_name
from gpd.comparison.compare import ComparedConfiguration, Comparison
from gpd.comparison.nodes import node_grid
from gpd.comparison.results import (
    A_CORE,
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
from gpd.statistics.estimates import Estimate
from gpd.tables.columns import CLOCKS
from gpd.text.formats import TimeUnit, from_to, listed, number, unit_for, with_error
from gpd.text.grid import Entry, Grid, Group, Line

NO_INTERVAL = "(no CI)"
TIMES = (MAKESPAN.column, ELAPSED, SUMMED)  # columns
SECONDS = dict.fromkeys((*TIMES, *A_GIGABASE.values()), SECONDS_PER_HOUR) | {MAKESPAN.column: 1}  # of their units
NAMES = {
    GIGABASES: "gigabases a day",
    HUMAN: "30x human equivalents a day",
    CPU_A_GIGABASE: "CPU seconds a gigabase",
    CPU_UTILISATION: "CPU utilisation",
}


def grids(compared: Comparison, width: int | None = None, overview: bool = False) -> Iterator[Grid]:
    """All tables: best N against best N, then configuration by configuration, and what was measured of the nodes.

    Tables are at most `width` wide, where names and sides allow. An `overview`, of all that was published, has
    published results in the first table alone.
    """
    in_steps = [side for side in compared.sides if not (overview and side.published)]
    noted: set[str] = set()
    for best in compared.best:
        grid = _best_grid(compared.sides, best)
        grid = grid if _fits(grid, width) else _narrowed(grid)
        yield replace(grid, notes=tuple(note for note in grid.notes if note not in noted))
        noted.update(grid.notes)
    for best in compared.best:
        for one in compared.configurations:
            if one.match == best.match:
                yield from _configuration_grids(in_steps, one, width)
    if (nodes := node_grid(compared.sides)) is not None:
        yield nodes


def most_compared(found: Iterable[ComparedConfiguration]) -> ComparedConfiguration | None:
    """The N that most sides have, the smallest of them: for there each one's steps can be seen."""
    return max(found, key=lambda one: (len(one.results), -(one.n or 0)), default=None)


def _fits(grid: Grid, width: int | None) -> bool:
    return width is None or grid.width <= width


def _ratio_head(shown: ComparedConfiguration, name: str) -> str:
    """Which side's figure is divided by whose."""
    return f"{_short(name)} /\n{_short(shown.reference(name) or '')}"


def _short(name: str) -> str:
    return name.removeprefix("published:").replace(":", ":\n")


# ------------------------------------------------------------------------------------- best N against best N


def _best_grid(sides: Sequence[Side], best: ComparedConfiguration) -> Grid:
    shown = [side for side in sides if side.name in best.match]
    pipeline = best.common.pipeline
    found = {side.name: side.saturation(best.match[side.name]) for side in shown}
    results = [best.results.get(side.name) for side in shown]
    columns: dict[str, Sequence[Entry]] = {}
    if ratios := {name: best.ratio(name, best.daily) for name in best.results if best.reference(name)}:
        against = {best.reference(name) or "" for name in ratios}
        whose = _short(against.pop()) if len(against) == 1 else "the first\nlike it"
        head = f"{_stacked(_name(best.daily, pipeline))},\nratio to\n{whose}"
        columns[head] = [_ratio(ratios.get(side.name)) for side in shown]
    for metric in (GENOMES, A_CORE, GIGABASES, HUMAN) if PIPELINES[pipeline].genomes else (GENOMES, A_CORE, GIGABASES):
        columns[_stacked(_name(metric, pipeline))] = [_mean(own.estimate(metric) if own else None) for own in results]
    columns["best N"] = [_entry(one.best_n) for one in found.values()]
    columns["failed\nthere"] = [_entry(own and own.observation.failed) for own in results]
    columns["processor"] = [Entry(", ".join(side.processors)) for side in shown]
    columns["cores"] = [Entry(", ".join(map(str, side.cores))) for side in shown]
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
    return head.replace(" a day", "\na day").replace("human ", "human\n").replace(" per core", "\nper core")


# ---------------------------------------------------------------------------------- by configuration


def _configuration_grids(sides: Sequence[Side], shown: ComparedConfiguration, width: int | None) -> Iterator[Grid]:
    """Spread the sides over tables that fit; the first stands in each."""
    present = [side for side in sides if side.name in shown.results]
    first, others = present[:1], present[1:]
    while others:
        grid, others = _widest([*first, *others], shown, width)
        yield grid


def _widest(sides: Sequence[Side], shown: ComparedConfiguration, width: int | None) -> tuple[Grid, list[Side]]:
    """The table of as many sides as fit, two at least, and the sides that are left."""
    grid, count = _configuration_grid(sides[:2], shown), 2
    while count < len(sides) and _fits(wider := _configuration_grid(sides[: count + 1], shown), width):
        grid, count = wider, count + 1
    return grid, list(sides[count:])


def _configuration_grid(sides: Sequence[Side], shown: ComparedConfiguration) -> Grid:
    """Ratios, then figures. Steps are in hours where samples are of one size, and else in hours a gigabase if that is
    known of two sides."""
    names = [side.name for side in sides]
    results = [shown.results[name] for name in names]
    a_gigabase = not same_size(*results) and sum(bool(one.gigabases) for one in results) > 1
    units = dict.fromkeys(TIMES, unit_for(max(_longest(shown, names, TIMES[:1] if a_gigabase else TIMES))))
    # a small sample's time a gigabase is far longer than that of a large one, whose digits shall be seen
    units |= dict.fromkeys(A_GIGABASE.values(), unit_for(min(_longest(shown, names, A_GIGABASE.values()))))
    held = [name for name in names if shown.reference(name) in names]
    blank = (Entry(""),) * len(held)
    groups: dict[str, list[Line]] = {
        "": [
            Line("repeats", (*blank, *(_entry(one.repeats) for one in results))),
            Line("samples failed", (*blank, *(_entry(one.observation.failed) for one in results))),
        ]
    }
    for metric in shown.metrics:
        if any(own.estimate(metric).n for own in results):
            ratios = (_ratio(shown.ratio(name, metric)) for name in held)
            values = (_value(shown, side, metric, units) for side in sides)
            head = metric.step or _label(metric, shown.common.pipeline, units)
            groups.setdefault(metric.column if metric.step else "", []).append(Line(head, (*ratios, *values)))
    titles = {"": ""}
    for clock in (ELAPSED, SUMMED):
        column, suffix = (A_GIGABASE[clock], " a gigabase") if a_gigabase else (clock, "")
        titles[column] = f"{CLOCKS[clock].lower()}, {units[column].symbol}{suffix}"
    heads = (*(_ratio_head(shown, name) for name in held), *(_head(side) for side in sides))
    parts = tuple(Group(tuple(groups[column]), title) for column, title in titles.items() if column in groups)
    return Grid(curve_name(shown.common, shown.n), ("", *heads), parts)


def _longest(shown: ComparedConfiguration, names: Sequence[str], columns: Collection[str]) -> list[float]:
    """Return the longest of these times of each side that has any, in seconds."""
    metrics = [metric for metric in shown.metrics if metric.column in columns]
    times = [
        [(shown.results[name].estimate(metric).value or 0) * SECONDS[metric.column] for metric in metrics]
        for name in names
    ]
    return [max(of_side) for of_side in times if any(of_side)] or [0.0]


def _head(side: Side) -> str:
    return f"{', '.join(side.skus)}\n(published)" if side.published else side.name.replace(":", ":\n")


def _value(shown: ComparedConfiguration, side: Side, metric: Metric, units: Mapping[str, TimeUnit]) -> Entry:
    """Return a figure, times in the table's unit; published hours keep the digits that were printed."""
    own, column = shown.results[side.name], metric.column
    estimate = own.estimate(metric)
    if column not in units or estimate.value is None:
        return _mean(estimate, own.repeats)
    if side.published and column in TIMES:
        return Entry(units[column].show(estimate.value * SECONDS[column]))
    return _mean(estimate.times(SECONDS[column] / units[column].seconds), own.repeats)


def _label(metric: Metric, pipeline: str, units: Mapping[str, TimeUnit]) -> str:
    return f"makespan, {units[metric.column].symbol}" if metric == MAKESPAN else _name(metric, pipeline)


# ------------------------------------------------------------------------------------------------- numbers


def _name(metric: Metric, pipeline: str) -> str:
    daily = PIPELINES[pipeline].daily
    return {GENOMES: daily, A_CORE: f"{daily} per core"}.get(metric) or NAMES[metric]


def _mean(estimate: Estimate | None, repeats: int | None = None) -> Entry:
    """Return mean and half-width of its interval, and of how many repeats where some have no value, else blank."""
    if estimate is None or estimate.value is None:
        return Entry("")
    known = "" if repeats in (None, estimate.n) else f"(n = {estimate.n})"
    mean, error = with_error(estimate.value, estimate.half_width)
    return Entry(mean, " ".join(filter(None, (error, known))))


def _ratio(ratio: Estimate | None) -> Entry:
    if ratio is None or ratio.value is None:
        return Entry("")
    return Entry(number(ratio.value), from_to(ratio.low, ratio.high) or NO_INTERVAL)


def _entry(value: object) -> Entry:
    return Entry("" if value is None else str(value))
