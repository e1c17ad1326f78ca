"""What stands on one side of a comparison: a study's points from its tables, or what was published of a SKU. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pandas as pd

from gpd.comparison.agreement import RunRecord
from gpd.comparison.comparability import told
from gpd.lab.knee import Knee, Observation, find_knee
from gpd.lab.study import INDEPENDENT, Series
from gpd.reference import DIFFERENCES, ReferencePoint, ReferenceSeries
from gpd.reports.formats import some
from gpd.tables import columns
from gpd.tables.collect import Tables
from gpd.tables.estimates import Estimate, estimate

SECONDS_PER_HOUR = 3600
SERIES = [column.name for column in (columns.PIPELINE, columns.MODE, columns.BINDING)]
POINT = [*SERIES, columns.N.name]
GERMLINE = "germline"
PUBLISHED_AS = Series(GERMLINE, INDEPENDENT, "none")  # N whole pipelines side by side
MOST_NAMED = 4  # cells that did not end
BARRIER, BUSY = "barrier_h", "busy_h"


@dataclass(frozen=True)
class Figure:
    """A column of the runs, or of the steps together with the step."""

    column: str
    step: str = ""


GENOMES, MAKESPAN = Figure(columns.GENOMES.name), Figure(columns.MAKESPAN.name)
GIGABASES, HUMAN = Figure(columns.GIGABASES.name), Figure(columns.HUMAN.name)
TOTALS = (
    GENOMES,
    GIGABASES,
    HUMAN,
    MAKESPAN,
    Figure(columns.CPU_A_GIGABASE.name),
    Figure(columns.PACKING.name),
)


@dataclass(frozen=True)
class Point:
    """What repeats share: a curve and its N."""

    series: Series
    n: int

    def __str__(self) -> str:
        return told(self.series, self.n)


@dataclass(frozen=True)
class Measured:
    """What a point came to: figures over its repeats, and the samples that failed in all of them; None: not known."""

    repeats: int
    failed: int | None
    estimates: Mapping[Figure, Estimate]

    def estimate(self, figure: Figure) -> Estimate:
        return self.estimates.get(figure, estimate(()))


@dataclass(frozen=True)
class Side:
    """A study, or the published figures of a SKU, which have no records. `notes` are what a reader has to know."""

    name: str
    skus: tuple[str, ...]
    cores: tuple[int, ...]
    points: Mapping[Point, Measured]
    records: tuple[RunRecord, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def published(self) -> bool:
        return not self.records

    @property
    def curves(self) -> list[Series]:
        """Its series, each once, in the order of its points."""
        return list(dict.fromkeys(point.series for point in self.points))

    def numbers(self, series: Series) -> list[int]:
        """The N of a curve, ascending."""
        return sorted(point.n for point in self.points if point.series == series)

    def knee(self, series: Series) -> Knee:
        points = [(n, self.points[Point(series, n)]) for n in self.numbers(series)]
        daily = [(n, point.estimate(GENOMES), point.failed) for n, point in points]
        return find_knee(Observation(n, one.mean, one.se, failed) for n, one, failed in daily)


def study_side(name: str, tables: Tables) -> Side:
    """Return a study's side. Warm-ups count nothing, and cells that did not end are named."""
    runs, steps = tables.runs, tables.steps
    counted = runs[~runs[columns.WARM_UP.name]]
    by_step = dict(iter(steps[~steps[columns.WARM_UP.name]].groupby(POINT)))
    unfinished = some(tables.unfinished, MOST_NAMED)
    return Side(
        name=name,
        skus=_distinct(runs[columns.SKU.name]),
        cores=tuple(map(int, _distinct(runs["cores"]))),
        points={_point(key): _measured(rows, by_step.get(key, steps.iloc[:0])) for key, rows in counted.groupby(POINT)},
        records=tuple(tables.runs_json),
        notes=(f"{name}: not finished, so in no figure: {unfinished}",) if unfinished else (),
    )


def published_side(series: ReferenceSeries) -> Side:
    """Return the side of a SKU that others measured; what they did not print is missing."""
    notes = [*DIFFERENCES, *(note for point in series.points for note in point.notes)]
    return Side(
        name=f"published:{series.sku}",
        skus=(series.sku,),
        cores=(),
        points={Point(PUBLISHED_AS, point.n): _referred(point) for point in series.points},
        notes=tuple(notes),
    )


def _point(key: tuple) -> Point:
    *series, n = key
    return Point(Series(*series), int(n))


def _measured(runs: pd.DataFrame, steps: pd.DataFrame) -> Measured:
    estimates = {figure: estimate(_values(runs[figure.column])) for figure in TOTALS}
    for step, rows in steps.groupby(columns.STEP.name, sort=False):
        estimates |= {Figure(name, str(step)): estimate(_values(rows[name])) for name in (BARRIER, BUSY)}
    failed = _values(runs["failed"])
    return Measured(len(runs), None if None in failed else int(sum(failed)), estimates)


def _referred(point: ReferencePoint) -> Measured:
    hours = point.total_hours
    known = {
        GENOMES: point.genomes_per_day,
        GIGABASES: point.gigabases_per_day,
        HUMAN: point.human_30x_per_day,
        MAKESPAN: None if hours is None else hours * SECONDS_PER_HOUR,
    }
    steps = {Figure(BARRIER, step): value for step, value in point.hours.items()}
    return Measured(1, point.failed, {figure: estimate([value]) for figure, value in {**known, **steps}.items()})


def _values(column: pd.Series) -> list[float | None]:
    return [None if pd.isna(value) else float(value) for value in column]


def _distinct(values: Iterable) -> tuple:
    return tuple(dict.fromkeys(value for value in values if not pd.isna(value)))
