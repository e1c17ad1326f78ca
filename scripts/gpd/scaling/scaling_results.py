"""Results of a scaling study: rows from its records and ledgers, configurations over repeats, fits. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import structs

from gpd.outcomes import Run
from gpd.records.ledger import Attempt, Clock
from gpd.records.run import RunRecord
from gpd.records.run_spec import WHOLE, StepCopies
from gpd.statistics import amdahl
from gpd.statistics.estimates import Estimate, ratio
from gpd.statistics.known import covered_s, most, whole_sum
from gpd.tables import collect, columns
from gpd.tables.columns import RunRow
from gpd.tables.rows import RowsOfRun, alike, pooled
from gpd.tables.scaling_rows import ScalingConfiguration, ScalingCurve, ScalingFit, ScalingRun

SECONDS_PER_HOUR = 3600
CURVE = ScalingCurve.__struct_fields__
CONFIGURATION = (*CURVE, "threads", "sku", "machine")
AS_OF_A_RUN = set(ScalingRun.__struct_fields__) & set(RunRow.__struct_fields__) - {"cpu_s"}


@dataclass(frozen=True)
class ScalingResults:
    """A scaling study: the rows of its tables, its records, and the runs that did not end."""

    runs: list[ScalingRun]
    configurations: list[ScalingConfiguration]
    fits: list[ScalingFit]
    records: tuple[RunRecord, ...]
    unfinished: tuple[str, ...]


def read(folder: Path) -> ScalingResults:
    """Collect the runs in a folder. Raises CollectError and RecordError where a file is broken."""
    ran, unfinished = collect.read_runs(folder)
    machines = collect.machines_of(ran)
    rows = (_run(one, one.spec.step, machines[one.spec.name]) for one in ran if one.spec.step)
    runs = [row for own in alike(rows, (*CONFIGURATION, "warm_up", "repeat")) for row in own]
    counted = [row for row in runs if not row.warm_up]  # different machines are not pooled
    configurations = _with_efficiency([_configuration(own) for own in alike(counted, CONFIGURATION)])
    return ScalingResults(runs, configurations, list(_fits(counted)), tuple(one.record for one in ran), unfinished)


def write(results: ScalingResults, folder: Path) -> None:
    """Write every table as TSV and Parquet."""
    collect.write_tables(results, columns.SCALING, folder)


def _run(run: Run, step: StepCopies, machine: int | None) -> ScalingRun:
    """A run's row as any study has it, and what there is of its step; other jobs than the step's it has none."""
    own = RowsOfRun(run, (), {}, counted=True, machine=machine).run
    copies = [process.attempts for process in run.processes]
    return ScalingRun(
        **{name: getattr(own, name) for name in AS_OF_A_RUN},
        step=step.name,
        scatter=step.scatter,
        occupancy=step.occupancy,
        threads=step.threads,
        copies=step.copies,
        step_s=_mean([step_s(copy, step.scatter != WHOLE) for copy in copies]),
        steps_per_hour=SECONDS_PER_HOUR * step.copies / own.makespan_s if own.makespan_s else None,
        cpu_s=_mean([_sum([attempt.cpu_s for attempt in copy]) for copy in copies]),
        peak_rss_mib=most(attempt.peak_rss_mib for copy in copies for attempt in copy),
    )


def step_s(attempts: Sequence[Attempt], scattered: bool) -> float | None:
    """Seconds of a step: the sum over its jobs, one after the other; of shards the time that any of them ran."""
    if not scattered:
        return _sum([attempt.wall_s for attempt in attempts])
    clock = Clock(attempts)
    known = [(clock.start_s(attempt), clock.end_s(attempt)) for attempt in attempts]
    spans = [(start_s, end_s) for start_s, end_s in known if start_s is not None and end_s is not None]
    if len(spans) < max(1, len(attempts)):
        return None
    return covered_s(spans)


def _sum(values: Sequence[float | None]) -> float | None:
    """The sum; of nothing, or where one of them is not known, it is not known either."""
    return whole_sum(values) if values else None


def _mean(values: Sequence[float | None]) -> float | None:
    total = _sum(values)
    return None if total is None else total / len(values)


def _curve(row: ScalingRun | ScalingConfiguration) -> dict[str, Any]:
    return {name: getattr(row, name) for name in CURVE}


def _configuration(runs: Sequence[ScalingRun]) -> ScalingConfiguration:
    """The repeats of a configuration, without warm-ups."""
    return pooled(
        ScalingConfiguration,
        runs,
        efficiency=Estimate(),
        peak_rss_mib=most(run.peak_rss_mib for run in runs),
        peak_memory_mib=most(run.peak_memory_mib for run in runs),
    )


def _with_efficiency(configurations: Sequence[ScalingConfiguration]) -> list[ScalingConfiguration]:
    """Configurations with T(1) / (n x T(n)): of one thread it is 1, without any error."""

    def key(row: ScalingConfiguration) -> tuple:
        return (*_curve(row).values(), row.sku, row.machine)

    ones = {key(row): row for row in configurations if row.threads == 1}
    return [_over_one_thread(ones.get(key(row)), row) for row in configurations]


def _over_one_thread(one: ScalingConfiguration | None, row: ScalingConfiguration) -> ScalingConfiguration:
    if one is None:
        return row
    share = Estimate(1.0) if one is row else ratio(one.step_s, row.step_s).each(lambda end: end / row.threads)
    return structs.replace(row, efficiency=share)


def _fits(runs: Iterable[ScalingRun]) -> Iterator[ScalingFit]:
    """Amdahl's law for each curve of one step alone or on a fully loaded node, of one machine."""
    for own in alike(runs, CURVE):
        times = [(row.sku, row.machine, row.threads, row.step_s) for row in own if row.step_s is not None]
        if len({(sku, machine) for sku, machine, _, _ in times}) > 1 or len({each[2] for each in times}) < 2:
            continue
        law = amdahl.fit((threads, step_s) for _, _, threads, step_s in times)
        yield ScalingFit(**_curve(own[0]), law=law)
