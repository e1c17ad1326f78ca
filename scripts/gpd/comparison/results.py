"""What one side of a comparison came to: curves of a study from its tables, or what was published of a SKU."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import astuple, dataclass, field, replace
from typing import Final

from gpd.comparison.agreement import by_input
from gpd.comparison.also_different import disturbances
from gpd.pipelines import GERMLINE
from gpd.published.curves import DIFFERENCES, GIGABASES_A_SAMPLE, THROUGHPUT, PublishedCurve, PublishedPoint
from gpd.records.node import NodeRecord
from gpd.records.run import RunRecord
from gpd.records.run_spec import INDEPENDENT, CurveKey
from gpd.statistics.estimates import Estimate, estimate, paired_ratio, ratio
from gpd.statistics.known import mean
from gpd.statistics.saturation import Observation, Saturation, find_saturation
from gpd.tables import over_repeats
from gpd.tables.collect import Tables
from gpd.tables.columns import ConfigurationRow
from gpd.tables.over_repeats import A_GIGABASE
from gpd.text.formats import some

SECONDS_PER_HOUR = 3600
PUBLISHED_AS = CurveKey(GERMLINE.name, INDEPENDENT, "none")  # N whole pipelines side by side
MOST_NAMED = 4  # runs that did not end
ELAPSED, SUMMED = "elapsed_h", "summed_h"
Draw = tuple[int, tuple[str, ...]]  # a repeat and its samples, by what was read of them
SAME_SIZE = 0.05  # by how much more gigabases a sample may have where figures a sample are held against each other

MEASURED: Final = "measured here"
SEVERAL: Final = "published, several samples at once"
LONE: Final = "published, one sample alone with its own cores a step"


@dataclass(frozen=True)
class Metric:
    """A column of the runs; with a step, a column of the steps."""

    column: str
    step: str = ""

    @property
    def a_sample(self) -> bool:
        """Whether it follows the size of a sample, so that it tells nothing of samples of another size."""
        return self.column in ("genomes_per_day", "genomes_per_day_per_core", "makespan_s", ELAPSED, SUMMED)


GENOMES, MAKESPAN = Metric("genomes_per_day"), Metric("makespan_s")
A_CORE = Metric("genomes_per_day_per_core")
GIGABASES, HUMAN = Metric("gigabases_per_day"), Metric("human_30x_per_day")
CPU_A_GIGABASE, CPU_UTILISATION = Metric("cpu_s_per_gigabase"), Metric("cpu_utilisation")
TOTALS = (GENOMES, A_CORE, GIGABASES, HUMAN, MAKESPAN, CPU_A_GIGABASE, CPU_UTILISATION)


@dataclass(frozen=True)
class Results:
    """What a configuration came to over its repeats; None: not known.

    `kind` is where it comes from: only results of one kind were made with the same tools in the same way. `gigabases`
    is what a sample has, on average. `by_draw` has the values of the repeats whose samples are known.
    """

    repeats: int
    observation: Observation
    gigabases: float | None
    estimates: Mapping[Metric, Estimate]
    by_draw: Mapping[Metric, Mapping[Draw, float]] = field(default_factory=dict)
    kind: str = MEASURED

    def estimate(self, metric: Metric) -> Estimate:
        return self.estimates.get(metric, Estimate())

    def is_like(self, other: "Results") -> bool:
        """Whether a ratio to the other says something: what was published has one at the same N alone."""
        return self.kind == other.kind and (self.kind == MEASURED or self.observation.n == other.observation.n)

    def ratio(self, other: "Results", metric: Metric) -> Estimate | None:
        """This figure over the other's; None where they are not alike.

        It is by repeat where all repeats of one drew the samples of repeats of the other: samples differ more than
        repeats of the same samples do, and in a pair that cancels out.
        """
        if not self.is_like(other) or (metric.a_sample and not same_size(other, self)):
            return None
        own, others = self.by_draw.get(metric, {}), other.by_draw.get(metric, {})
        pairs = [(value, others[draw]) for draw, value in own.items() if draw in others]
        numbers = self.estimate(metric).n, other.estimate(metric).n
        if len(pairs) > 1 and len(pairs) == min(numbers) and all(a > 0 and b > 0 for a, b in pairs):
            return paired_ratio(pairs)
        return ratio(self.estimate(metric), other.estimate(metric))


def steps_of(results: Iterable[Results]) -> list[str]:
    """The steps that results have, in their order."""
    return list(dict.fromkeys(metric.step for one in results for metric in one.estimates if metric.step))


def same_size(*results: Results) -> bool:
    """Tell whether samples have as many gigabases as those of the first; what is not known may be anything.

    Where no size is known, as of workflows that are not ours, the same samples are of the same size.
    """
    sizes = [one.gigabases for one in results]
    draws = {frozenset(draw for values in one.by_draw.values() for draw in values) for one in results}
    if not any(sizes) and len(draws) == 1 and draws != {frozenset()}:
        return True
    return len(sizes) < 2 or all(
        size and sizes[0] and max(size, sizes[0]) / min(size, sizes[0]) - 1 <= SAME_SIZE for size in sizes
    )


@dataclass(frozen=True)
class Side:
    """A study or some of its curves, by N; or the published results of a SKU, which have no records.

    `study` says which study it is, `node` is the record of the node that it ran on, `smt` whether its jobs might use
    all threads of a core, and `notes` are what a reader has to know. `keys`: of its configuration and profile.
    """

    name: str
    skus: tuple[str, ...]
    cores: tuple[int, ...]
    curves: Mapping[CurveKey, Mapping[int, Results]]
    records: tuple[RunRecord, ...] = ()
    notes: tuple[str, ...] = ()
    study: str = ""
    node: NodeRecord | None = None
    smt: tuple[bool, ...] = ()
    keys: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def published(self) -> bool:
        return not self.records

    @property
    def processors(self) -> tuple[str, ...]:
        """Its SKUs; without one, as on a virtual machine, what the processors call themselves."""
        return self.skus or _distinct(record.host and record.host.cpu_model for record in self.records)

    def saturation(self, key: CurveKey) -> Saturation:
        return find_saturation(results.observation for results in self.curves[key].values())


def curves_of(tables: Tables) -> list[CurveKey]:
    """Return the curves of a study that have a figure: warm-ups have none."""
    return sorted({row.curve_key for row in tables.configurations}, key=astuple)


def study_side(name: str, tables: Tables, curves: Collection[CurveKey], study: str) -> Side:
    """Return these curves of a study. Warm-ups count nothing, and runs that did not end are named."""
    runs = [run for run in tables.runs if run.counted and run.curve_key in curves]
    cores = _distinct(run.cores for run in runs)
    estimates, values = _estimates(tables), _values(tables)
    results: dict[CurveKey, dict[int, Results]] = {key: {} for key in curves}
    for row in sorted(tables.configurations, key=lambda row: row.n):
        if row.curve_key in results:
            place = row.curve_key, row.n
            own = Results(row.repeats, row.observation, _gigabases(tables, row), estimates[place], values[place])
            results[row.curve_key][row.n] = _with_a_core(own, cores)
    records = tuple(record for record in tables.records if record.spec.curve_key in curves)
    unfinished = some(tables.unfinished, MOST_NAMED)
    return Side(
        name=name,
        skus=_distinct(run.sku for run in runs),
        cores=cores,
        curves=results,
        records=records,
        notes=(
            *([f"{study}: not finished, so in no figure: {unfinished}"] if unfinished else []),
            *disturbances(name, runs),
        ),
        study=study,
        node=tables.node,
        smt=_distinct(run.smt for run in runs),
    )


Place = tuple[CurveKey, int]
Values = dict[Metric, dict[Draw, float]]


def _estimates(tables: Tables) -> Mapping[Place, dict[Metric, Estimate]]:
    """The figures of each configuration, from the table `summary`."""
    found: defaultdict[Place, dict[Metric, Estimate]] = defaultdict(dict)
    for row in tables.summary:
        found[row.curve_key, row.n][Metric(row.metric, row.step or "")] = row.estimate
    return found


def _values(tables: Tables) -> Mapping[Place, Values]:
    """The value of each repeat that has one, by metric and by what was drawn: pairs of repeats follow from it."""
    draws = {record.spec.name: _draw(record) for record in tables.records}
    found: defaultdict[Place, Values] = defaultdict(dict)
    for run, (step, column), value in over_repeats.values(tables.runs, tables.steps):
        if value is not None:
            of_draws = found[run.curve_key, run.n].setdefault(Metric(column, step or ""), {})
            of_draws[draws[run.run]] = value
    return found


def _draw(record: RunRecord) -> Draw:
    return record.spec.repeat, tuple(sorted(by_input(record, sample) for sample in record.spec.samples))


def _gigabases(tables: Tables, of: ConfigurationRow) -> float | None:
    """What a sample of a configuration has, on average."""
    own = (one for one in tables.samples if one.counted and (one.curve_key, one.n) == (of.curve_key, of.n))
    return mean(sample.gigabases for sample in own)


def _with_a_core(results: Results, cores: Collection[int]) -> Results:
    """With genomes a day per core, where the number of cores is one."""
    if len(cores) != 1:
        return results
    share = 1 / next(iter(cores))
    daily = {draw: value * share for draw, value in results.by_draw.get(GENOMES, {}).items()}
    return replace(
        results,
        estimates={**results.estimates, A_CORE: results.estimate(GENOMES).times(share)},
        by_draw={**results.by_draw, **({A_CORE: daily} if daily else {})},
    )


def published_side(curve: PublishedCurve) -> Side:
    """Return the side of a SKU that others measured; what they did not print is missing."""
    cores = () if curve.cores is None else (curve.cores,)
    kind = SEVERAL if curve.table == THROUGHPUT else LONE
    return Side(
        name=f"published:{curve.sku}",
        skus=(curve.sku,),
        cores=cores,
        curves={
            PUBLISHED_AS: {point.n: _with_a_core(_published_results(point, kind), cores) for point in curve.points}
        },
        notes=(*DIFFERENCES, *(note for point in curve.points for note in point.notes)),
    )


def _published_results(point: PublishedPoint, kind: str) -> Results:
    known = {
        GENOMES: point.genomes_per_day,
        GIGABASES: point.gigabases_per_day,
        HUMAN: point.human_30x_per_day,
        MAKESPAN: None if point.total_hours is None else point.total_hours * SECONDS_PER_HOUR,
    }
    for step, hours in point.hours.items():
        known[Metric(ELAPSED, step)] = hours
        known[Metric(A_GIGABASE[ELAPSED], step)] = hours / point.gigabases if hours and point.gigabases else None
    estimates = {metric: estimate([value]) for metric, value in known.items()}
    return Results(1, point.observation, GIGABASES_A_SAMPLE, estimates, kind=kind)


def _distinct(values: Iterable) -> tuple:
    return tuple(dict.fromkeys(value for value in values if value is not None))
