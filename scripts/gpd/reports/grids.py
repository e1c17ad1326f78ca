"""The tables of a report, as text: steps by N in published style, failures, outputs that differ. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Any

import pandas as pd

from gpd.comparison.agreement import Disagreement
from gpd.pipelines import ALTERNATIVES, PIPELINES
from gpd.records.binding import told_binding
from gpd.records.cell import CLUSTER, Series
from gpd.tables import columns
from gpd.tables.columns import CLOCKS
from gpd.tables.faults import COHORT_DATA, DATA, LOAD
from gpd.text.formats import TimeUnit, counted, number, some, unit_for, with_error
from gpd.text.grid import Entry, Grid, Group, Line

SECONDS_PER_HOUR = 3600
WIDEST = 9  # columns that fit a printed page; past that a table goes on in another
MOST_FAILURES = 100
NOT_RUN = "not run"
SHORT_DIGEST = 12
FAULTS = {DATA: "its data", COHORT_DATA: "data of its cohort", LOAD: "not its data", None: "not told apart"}
MOST_CELLS = 4
SERIES = [column.name for column in columns.SERIES]

Record = Mapping[str, Any]  # a row of a table; what is missing is None


def name(series: Series) -> str:
    nodes = [str(series.nodes)] if series.mode == CLUSTER else []
    return "-".join((series.pipeline, series.mode, *nodes, series.binding))


def label(series: Series) -> str:
    """Say what sets a series of a pipeline apart."""
    nodes = [counted(series.nodes, "node")] if series.mode == CLUSTER else []
    return ", ".join((series.mode, *nodes, told_binding(series.binding)))


def rows(series: Series, table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a series in a table."""
    return table[(table[SERIES] == list(astuple(series))).all(axis="columns")]


def series_of(point: Record) -> Series:
    """The series of a row."""
    return Series(*(point[name] for name in SERIES))


def all_series(points: pd.DataFrame) -> list[Series]:
    """Return the series of a study: pipelines in the order of their steps, `scheduled` before `independent`."""
    series = {series_of(point) for point in row_dicts(points)}

    def place(curve: Series) -> tuple:
        return list(PIPELINES).index(curve.pipeline), curve.mode != "scheduled", curve.binding, curve.nodes

    return sorted(series, key=place)


def row_dicts(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table, missing values as None."""
    columns = [_values(column) for _, column in table.items()]
    return [dict(zip(table.columns, row, strict=True)) for row in zip(*columns, strict=True)]


def _values(column: pd.Series) -> list[Any]:
    return [None if missing else value for value, missing in zip(column.tolist(), column.isna(), strict=True)]


def counted_in(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that count: warm-ups, samples alone and draws that were made anew are in no statistics."""
    return table[table["counted"].fillna(False).astype(bool)]


def step_numbers(pipeline: str) -> dict[str, str]:
    """Number the steps of a pipeline; what stands in another's place has a letter."""
    named = [step for step in PIPELINES[pipeline].steps if step not in ALTERNATIVES]
    numbers = {step: str(at) for at, step in enumerate(named, 1)}
    return {step: numbers.get(step, "h") for step in PIPELINES[pipeline].steps}


# ------------------------------------------------------------------------------------------ steps by N


def step_grids(series: Series, clock: str, steps: pd.DataFrame, runs: pd.DataFrame, points: pd.DataFrame) -> list[Grid]:
    """The published-style table of a series by one of CLOCKS: rows are steps, columns are N, means over repeats."""
    own = row_dicts(rows(series, points).sort_values("n"))
    hours = step_means(series, clock, steps)
    makespans = [point["makespan_s_mean"] for point in own if point["makespan_s_mean"] is not None]
    longest = max([*makespans, *(hour * SECONDS_PER_HOUR for hour in hours.values())], default=0)
    unit = unit_for(longest)
    failed = _failed(series, runs)
    pages = _pages(own)
    return [
        Grid(
            caption=f"{CLOCKS[clock]} a step, {unit.name}{_page(page) if len(pages) > 1 else ''}",
            heads=("step", *(f"N = {point['n']}" for point in page)),
            groups=(
                Group(tuple(_step_lines(series.pipeline, page, hours, unit))),
                Group(tuple(_sums(clock, page, hours, unit, failed))),
            ),
        )
        for page in pages
    ]


def step_means(series: Series, clock: str, steps: pd.DataFrame) -> dict[tuple[str, int], float]:
    """Return the mean over repeats of each step's hours, by step and N; warm-ups are left out."""
    means = rows(series, counted_in(steps)).groupby(["step", "n"])[clock].mean().dropna()
    return {(step, int(n)): float(hours) for (step, n), hours in means.items()}


def _pages(points: Sequence[Record]) -> list[Sequence[Record]]:
    """Part columns evenly where they are too many for one table."""
    count = -(-len(points) // WIDEST)
    width = -(-len(points) // max(count, 1))
    return [points[start : start + width] for start in range(0, len(points), max(width, 1))]


def _page(points: Sequence[Record]) -> str:
    return f", N = {points[0]['n']} to {points[-1]['n']}"


def _step_lines(
    pipeline: str, points: Sequence[Record], hours: Mapping[tuple[str, int], float], unit: TimeUnit
) -> Iterator[Line]:
    """Lines of the steps in order; a step that ran at no N says so, one that is missing at some N is blank there."""
    ran = {step for step, _ in hours}
    for step, place in step_numbers(pipeline).items():
        if step in ran:
            yield Line(step, tuple(_time(hours.get((step, point["n"])), unit) for point in points), number=place)
        elif step not in ALTERNATIVES:
            yield Line(step, tuple(Entry(NOT_RUN) for _ in points), number=place)


def _time(hours: float | None, unit: TimeUnit) -> Entry:
    return Entry(unit.show(None if hours is None else hours * SECONDS_PER_HOUR))


def _sums(
    clock: str,
    points: Sequence[Record],
    hours: Mapping[tuple[str, int], float],
    unit: TimeUnit,
    failed: Mapping[int, str],
) -> Iterator[Line]:
    yield Line("samples failed", tuple(Entry(failed.get(point["n"], "")) for point in points))
    if clock == "busy_h":
        sums = ([h for (_, n), h in hours.items() if n == point["n"]] for point in points)
        yield Line("total busy", tuple(_time(sum(own) if own else None, unit) for own in sums))
    else:
        yield Line("total (makespan)", tuple(_makespan(point, unit) for point in points))
    for column, head in _daily(points[0]["pipeline"]):
        if any(point[f"{column}_mean"] is not None for point in points):
            yield Line(head, tuple(_statistic(point, column) for point in points))
    yield Line("repeats", tuple(Entry(f"{point['repeats']:,}") for point in points))


def _daily(pipeline: str) -> list[tuple[str, str]]:
    """What a series gives a day; reads of RNA are no part of a genome, and have no equivalent in human ones."""
    daily = [("genomes_per_day", PIPELINES[pipeline].daily), ("gigabases_per_day", "gigabases a day")]
    return [*daily, ("human_30x_per_day", "30x human genomes a day")] if PIPELINES[pipeline].genomes else daily


def _makespan(point: Record, unit: TimeUnit) -> Entry:
    known = point["makespan_s_mean"], point["makespan_s_se"]
    mean, error = (None if value is None else unit.of(value) for value in known)
    return Entry(*with_error(mean, error, least=unit.decimals))


def _statistic(point: Record, column: str) -> Entry:
    return Entry(*with_error(point[f"{column}_mean"], point[f"{column}_se"]))


def _failed(series: Series, runs: pd.DataFrame) -> dict[int, str]:
    """`2 of 8` by N: samples that failed over all repeats, of those that were run."""
    sums = rows(series, counted_in(runs)).groupby("n")[["failed", "samples"]].sum()
    return {int(n): f"{int(row['failed'])} of {int(row['samples'])}" for n, row in sums.iterrows()}


# ---------------------------------------------------------------------------------------- more nodes


def nodes_grid(pipeline: str, points: pd.DataFrame) -> Grid | None:
    """What more nodes bring, a row a point of mode cluster; None where the pipeline has none."""
    own = [p for p in row_dicts(points) if (p["pipeline"], p["mode"]) == (pipeline, CLUSTER)]
    heads = ("nodes", "binding", "N", PIPELINES[pipeline].daily, "of as many single nodes at their best")
    lines = tuple(
        Line(
            f"{point['nodes']:,}",
            (
                Entry(point["binding"]),
                Entry(f"{point['n']:,}"),
                _statistic(point, "genomes_per_day"),
                Entry("" if point["node_efficiency"] is None else f"{number(100 * point['node_efficiency'])}%"),
            ),
        )
        for point in sorted(own, key=lambda point: (point["nodes"], point["binding"], point["n"]))
    )
    return Grid("More nodes", heads, (Group(lines),)) if lines else None


# ------------------------------------------------------------------------------------------- failures


def failure_grid(samples: pd.DataFrame) -> Grid | None:
    """The samples that failed, with step, cause, message and log; warm-ups too. None where none did."""
    failed = row_dicts(samples[~samples["succeeded"].fillna(False).astype(bool)])
    heads = ("sample", "cell", "step", "cause", "fault", "message", "log")
    columns = ("cell", "failed_step", "cause", "fault", "message", "log")
    lines = tuple(
        Line(record["sample"], tuple(Entry(_plain(record[column])) for column in columns))
        for record in ({**sample, "fault": FAULTS[sample["fault"]]} for sample in failed[:MOST_FAILURES])
    )
    return Grid("Samples that failed", heads, (Group(lines),), figures=False) if lines else None


def _plain(value: str | None) -> str:
    return "" if value is None else str(value)


# ------------------------------------------------------------------------------------------ agreement


def disagreement_grid(differing: Iterable[Disagreement]) -> Grid:
    """Each result of an output that differs, with the cells that came to it."""
    lines = tuple(
        Line(
            ", ".join(output.samples),
            tuple(map(Entry, (output.pipeline, output.kind, short(digest), some(cells, MOST_CELLS)))),
        )
        for output in differing
        for digest, cells in output.digests.items()
    )
    heads = ("sample", "pipeline", "output", "digest", "cells")
    return Grid("Outputs that differ", heads, (Group(lines),), figures=False)


def short(digest: str) -> str:
    return digest[:SHORT_DIGEST]
