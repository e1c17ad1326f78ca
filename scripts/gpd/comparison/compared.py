"""One side of a comparison: configurations of a study from its tables, or what was published of a SKU. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from statistics import fmean
from typing import TypeVar

from gpd.comparison.comparability import told
from gpd.pipelines import GERMLINE
from gpd.published.curves import DIFFERENCES, GIGABASES_A_SAMPLE, PublishedCurve, PublishedPoint
from gpd.records.node import NodeRecord
from gpd.records.run import RunRecord
from gpd.records.run_spec import INDEPENDENT, CurveKey
from gpd.statistics.estimates import Estimate, estimate
from gpd.statistics.saturation import Observation, Saturation, find_saturation
from gpd.tables.collect import Tables
from gpd.tables.columns import ConfigurationRow, OfRun, SampleRow, StepRow
from gpd.text.formats import some

Row = TypeVar("Row", bound=OfRun)
SECONDS_PER_HOUR = 3600
PUBLISHED_AS = CurveKey(GERMLINE.name, INDEPENDENT, "none")  # N whole pipelines side by side
MOST_NAMED = 4  # runs that did not end
ELAPSED, SUMMED = "elapsed_h", "summed_h"
A_GIGABASE = {clock: f"{clock}_per_gigabase" for clock in (ELAPSED, SUMMED)}  # of the samples that succeeded
SAME_SIZE = 0.05  # by how much more gigabases a sample may have where figures a sample are held against each other


@dataclass(frozen=True)
class Figure:
    """A column of the runs, or of the steps together with the step."""

    column: str
    step: str = ""

    @property
    def a_sample(self) -> bool:
        """Whether it follows the size of a sample, so that it tells nothing of samples of another size."""
        return self.column in ("genomes_per_day", "makespan_s", ELAPSED, SUMMED)


GENOMES, MAKESPAN = Figure("genomes_per_day"), Figure("makespan_s")
GIGABASES, HUMAN = Figure("gigabases_per_day"), Figure("human_30x_per_day")
CPU_A_GIGABASE, CPU_UTILISATION = Figure("cpu_s_per_gigabase"), Figure("cpu_utilisation")
TOTALS = (GENOMES, GIGABASES, HUMAN, MAKESPAN, CPU_A_GIGABASE, CPU_UTILISATION)


@dataclass(frozen=True)
class Point:
    """What repeats share: a curve and its N."""

    curve_key: CurveKey
    n: int

    def __str__(self) -> str:
        return told(self.curve_key, self.n)


@dataclass(frozen=True)
class Measured:
    """Figures of a configuration over its repeats, and the samples that failed in all of them; None: not known.

    `failed_data` of them failed for bad data. `gigabases` is what a sample has, on average.
    """

    repeats: int
    failed: int | None
    gigabases: float | None
    estimates: Mapping[Figure, Estimate]
    failed_data: int = 0

    def same_size(self, other: "Measured") -> bool:
        """Tell whether samples have as many gigabases here as there; what is not known may be anything."""
        if not self.gigabases or not other.gigabases:
            return False
        low, high = sorted((self.gigabases, other.gigabases))
        return high / low - 1 <= SAME_SIZE

    def estimate(self, figure: Figure) -> Estimate:
        return self.estimates.get(figure, estimate(()))


def same_size(measured: Iterable[Measured | None]) -> bool:
    """Tell whether samples of all that there are have as many gigabases as those of the first."""
    known = [result for result in measured if result is not None]
    return all(result.same_size(known[0]) for result in known[1:])


@dataclass(frozen=True)
class Side:
    """A study or some of its curves; or the published figures of a SKU, which have no records.

    `study` says which study it is, `node` is the record of the node that it ran on, and `notes` are what a reader has
    to know.
    """

    name: str
    skus: tuple[str, ...]
    cores: tuple[int, ...]
    points: Mapping[Point, Measured]
    records: tuple[RunRecord, ...] = ()
    notes: tuple[str, ...] = ()
    study: str = ""
    node: NodeRecord | None = None

    @property
    def published(self) -> bool:
        return not self.records

    @property
    def processors(self) -> tuple[str, ...]:
        """Its SKUs; where none is known, as on a virtual machine, what the processors call themselves."""
        return self.skus or _distinct(record.host and record.host.cpu_model for record in self.records)

    @property
    def curves(self) -> list[CurveKey]:
        """Its curve, each once, in the order of its configurations."""
        return list(dict.fromkeys(point.curve_key for point in self.points))

    def numbers(self, curve_key: CurveKey) -> list[int]:
        """The N of a curve, ascending."""
        return sorted(point.n for point in self.points if point.curve_key == curve_key)

    def saturation(self, curve_key: CurveKey) -> Saturation:
        points = [(n, self.points[Point(curve_key, n)]) for n in self.numbers(curve_key)]
        daily = [(n, point.estimate(GENOMES), point) for n, point in points]
        return find_saturation(
            Observation(n, genomes.mean, genomes.se, point.failed, point.failed_data) for n, genomes, point in daily
        )


def curves_of(tables: Tables) -> list[CurveKey]:
    """Return the curve of a study that have a figure: warm-ups have none."""
    return sorted({point.curve_key for point in tables.configurations}, key=astuple)


def study_side(name: str, tables: Tables, curves: Collection[CurveKey], study: str) -> Side:
    """Return these curves of a study. Warm-ups count nothing, and runs that did not end are named."""
    runs = [run for run in tables.runs if run.counted and run.curve_key in curves]
    gigabases = {run.run: run.gigabases for run in runs}
    steps, samples = _by_point(tables.steps), _by_point(tables.samples)
    points = sorted(
        (row for row in tables.configurations if row.curve_key in curves),
        key=lambda row: (astuple(row.curve_key), row.n),
    )
    unfinished = some(tables.unfinished, MOST_NAMED)
    return Side(
        name=name,
        skus=_distinct(run.sku for run in runs),
        cores=_distinct(run.cores for run in runs),
        points={
            (at := Point(row.curve_key, row.n)): _measured(row, steps.get(at, ()), samples.get(at, ()), gigabases)
            for row in points
        },
        records=tuple(record for record in tables.records if record.spec.curve_key in curves),
        notes=(f"{study}: not finished, so in no figure: {unfinished}",) if unfinished else (),
        study=study,
        node=tables.node,
    )


def _by_point(table: Iterable[Row]) -> dict[Point, list[Row]]:
    """The rows that count, by configuration."""
    found: dict[Point, list[Row]] = {}
    for row in table:
        if row.counted:
            found.setdefault(Point(row.curve_key, row.n), []).append(row)
    return found


def published_side(curve_key: PublishedCurve) -> Side:
    """Return the side of a SKU that others measured; what they did not print is missing."""
    notes = [*DIFFERENCES, *(note for point in curve_key.points for note in point.notes)]
    return Side(
        name=f"published:{curve_key.sku}",
        skus=(curve_key.sku,),
        cores=() if curve_key.cores is None else (curve_key.cores,),
        points={Point(PUBLISHED_AS, point.n): _referred(point) for point in curve_key.points},
        notes=tuple(notes),
    )


def _measured(
    point: ConfigurationRow,
    steps: Sequence[StepRow],
    samples: Sequence[SampleRow],
    gigabases: Mapping[str, float | None],
) -> Measured:
    """`gigabases`: of the samples that succeeded, by run, over which a step's hours a gigabase are."""
    estimates = {figure: getattr(point, figure.column) for figure in TOTALS}
    of_step: dict[str, list[StepRow]] = {}
    for row in steps:
        of_step.setdefault(row.step, []).append(row)
    for step, own in of_step.items():
        for clock, name in A_GIGABASE.items():
            hours = [(getattr(row, clock), gigabases[row.run]) for row in own]
            estimates[Figure(clock, step)] = estimate(taken for taken, _ in hours)
            estimates[Figure(name, step)] = estimate(
                taken / size if taken is not None and size else None for taken, size in hours
            )
    sizes = [sample.gigabases for sample in samples if sample.gigabases is not None]
    return Measured(point.repeats, point.failed, fmean(sizes) if sizes else None, estimates, point.failed_data)


def _referred(point: PublishedPoint) -> Measured:
    hours = point.total_hours
    known = {
        GENOMES: point.genomes_per_day,
        GIGABASES: point.gigabases_per_day,
        HUMAN: point.human_30x_per_day,
        MAKESPAN: None if hours is None else hours * SECONDS_PER_HOUR,
    }
    for step, value in point.hours.items():
        known[Figure(ELAPSED, step)] = value
        known[Figure(A_GIGABASE[ELAPSED], step)] = value / point.gigabases if value and point.gigabases else None
    estimates = {figure: estimate([value]) for figure, value in known.items()}
    return Measured(1, point.failed, GIGABASES_A_SAMPLE, estimates)


def _distinct(values: Iterable) -> tuple:
    return tuple(dict.fromkeys(value for value in values if value is not None))
