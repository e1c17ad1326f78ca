"""What one side of a comparison came to: curves of a study from its tables, or what was published of a SKU."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import TypeVar

from gpd.comparison.agreement import by_input
from gpd.comparison.also_different import disturbances
from gpd.pipelines import GERMLINE
from gpd.published.curves import DIFFERENCES, GIGABASES_A_SAMPLE, PublishedCurve, PublishedPoint
from gpd.records.node import NodeRecord
from gpd.records.run import RunRecord
from gpd.records.run_spec import INDEPENDENT, CurveKey
from gpd.statistics.estimates import Estimate, Ratio, estimate, paired_ratio, ratio
from gpd.statistics.known import mean
from gpd.statistics.saturation import Observation, Saturation, find_saturation
from gpd.tables.collect import Tables
from gpd.tables.columns import ConfigurationRow, OfRun, RunRow, SampleRow, StepRow
from gpd.text.formats import some

Row = TypeVar("Row", bound=OfRun)
SECONDS_PER_HOUR = 3600
PUBLISHED_AS = CurveKey(GERMLINE.name, INDEPENDENT, "none")  # N whole pipelines side by side
MOST_NAMED = 4  # runs that did not end
ELAPSED, SUMMED = "elapsed_h", "summed_h"
A_GIGABASE = {clock: f"{clock}_per_gigabase" for clock in (ELAPSED, SUMMED)}  # of the samples that succeeded
Draw = tuple[int, tuple[str, ...]]  # a repeat and its samples, by what was read of them
SAME_SIZE = 0.05  # by how much more gigabases a sample may have where figures a sample are held against each other


@dataclass(frozen=True)
class Metric:
    """A column of the runs; with a step, a column of the steps."""

    column: str
    step: str = ""

    @property
    def a_sample(self) -> bool:
        """Whether it follows the size of a sample, so that it tells nothing of samples of another size."""
        return self.column in ("genomes_per_day", "makespan_s", ELAPSED, SUMMED)


GENOMES, MAKESPAN = Metric("genomes_per_day"), Metric("makespan_s")
GIGABASES, HUMAN = Metric("gigabases_per_day"), Metric("human_30x_per_day")
CPU_A_GIGABASE, CPU_UTILISATION = Metric("cpu_s_per_gigabase"), Metric("cpu_utilisation")
TOTALS = (GENOMES, GIGABASES, HUMAN, MAKESPAN, CPU_A_GIGABASE, CPU_UTILISATION)


@dataclass(frozen=True)
class Results:
    """What a configuration came to over its repeats; None: not known.

    `gigabases` is what a sample has, on average. `by_draw` has the values of the repeats whose samples are known.
    """

    repeats: int
    observation: Observation
    gigabases: float | None
    estimates: Mapping[Metric, Estimate]
    by_draw: Mapping[Metric, Mapping[Draw, float]] = field(default_factory=dict)

    def estimate(self, metric: Metric) -> Estimate:
        return self.estimates.get(metric, estimate(()))

    def ratio(self, other: "Results", metric: Metric) -> Ratio:
        """This figure over the other's: by repeat, where all repeats of one drew the samples of repeats of the other.

        Samples differ more than repeats of the same samples do; in a pair that cancels out.
        """
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
    all threads of a core, and `notes` are what a reader has to know.
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

    @property
    def published(self) -> bool:
        return not self.records

    @property
    def processors(self) -> tuple[str, ...]:
        """Its SKUs; where none is known, as on a virtual machine, what the processors call themselves."""
        return self.skus or _distinct(record.host and record.host.cpu_model for record in self.records)

    def saturation(self, key: CurveKey) -> Saturation:
        return find_saturation(results.observation for results in self.curves[key].values())


def curves_of(tables: Tables) -> list[CurveKey]:
    """Return the curves of a study that have a figure: warm-ups have none."""
    return sorted({row.curve_key for row in tables.configurations}, key=astuple)


def study_side(name: str, tables: Tables, curves: Collection[CurveKey], study: str) -> Side:
    """Return these curves of a study. Warm-ups count nothing, and runs that did not end are named."""
    runs = [run for run in tables.runs if run.counted and run.curve_key in curves]
    gigabases = {run.run: run.gigabases for run in runs}
    steps, samples = _by_configuration(tables.steps), _by_configuration(tables.samples)
    of_runs, draws = _by_configuration(tables.runs), {record.spec.name: _draw(record) for record in tables.records}
    results: dict[CurveKey, dict[int, Results]] = {key: {} for key in curves}
    for row in sorted(tables.configurations, key=lambda row: row.n):
        if row.curve_key in results:
            place = row.curve_key, row.n
            own = _results(row, steps.get(place, ()), samples.get(place, ()), gigabases)
            by_draw = _by_draw(of_runs.get(place, ()), steps.get(place, ()), gigabases, draws)
            results[row.curve_key][row.n] = replace(own, by_draw=by_draw)
    records = tuple(record for record in tables.records if record.spec.curve_key in curves)
    unfinished = some(tables.unfinished, MOST_NAMED)
    return Side(
        name=name,
        skus=_distinct(run.sku for run in runs),
        cores=_distinct(run.cores for run in runs),
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


def _draw(record: RunRecord) -> Draw:
    return record.spec.repeat, tuple(sorted(by_input(record, sample) for sample in record.spec.samples))


def _by_draw(
    runs: Iterable[RunRow],
    steps: Iterable[StepRow],
    gigabases: Mapping[str, float | None],
    draws: Mapping[str, Draw],
) -> dict[Metric, dict[Draw, float]]:
    """The value of each repeat that has one, by metric and by what was drawn."""
    values = [(metric, run.run, getattr(run, metric.column)) for run in runs for metric in TOTALS]
    for step in steps:
        size = gigabases[step.run]
        for clock, per_gigabase in A_GIGABASE.items():
            taken = getattr(step, clock)
            values.append((Metric(clock, step.step), step.run, taken))
            values.append((Metric(per_gigabase, step.step), step.run, taken / size if taken and size else None))
    found: dict[Metric, dict[Draw, float]] = {}
    for metric, run, value in values:
        if value is not None:
            found.setdefault(metric, {})[draws[run]] = value
    return found


def _by_configuration(table: Iterable[Row]) -> dict[tuple[CurveKey, int], list[Row]]:
    """The rows that count, by curve and N."""
    found: dict[tuple[CurveKey, int], list[Row]] = {}
    for row in table:
        if row.counted:
            found.setdefault((row.curve_key, row.n), []).append(row)
    return found


def _results(
    configuration: ConfigurationRow,
    steps: Sequence[StepRow],
    samples: Sequence[SampleRow],
    gigabases: Mapping[str, float | None],
) -> Results:
    """`gigabases`: of the samples that succeeded, by run, over which a step's hours a gigabase are."""
    estimates = {metric: getattr(configuration, metric.column) for metric in TOTALS}
    for step in dict.fromkeys(row.step for row in steps):
        for clock, per_gigabase in A_GIGABASE.items():
            hours = [(getattr(row, clock), gigabases[row.run]) for row in steps if row.step == step]
            estimates[Metric(clock, step)] = estimate(taken for taken, _ in hours)
            estimates[Metric(per_gigabase, step)] = estimate(
                taken / size if taken is not None and size else None for taken, size in hours
            )
    size = mean(sample.gigabases for sample in samples)
    return Results(configuration.repeats, configuration.observation, size, estimates)


def published_side(curve: PublishedCurve) -> Side:
    """Return the side of a SKU that others measured; what they did not print is missing."""
    return Side(
        name=f"published:{curve.sku}",
        skus=(curve.sku,),
        cores=() if curve.cores is None else (curve.cores,),
        curves={PUBLISHED_AS: {point.n: _published_results(point) for point in curve.points}},
        notes=(*DIFFERENCES, *(note for point in curve.points for note in point.notes)),
    )


def _published_results(point: PublishedPoint) -> Results:
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
    return Results(1, point.observation, GIGABASES_A_SAMPLE, estimates)


def _distinct(values: Iterable) -> tuple:
    return tuple(dict.fromkeys(value for value in values if value is not None))
