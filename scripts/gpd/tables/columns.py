"""The tables of a study, as the types of their rows. Unit and meaning of every column: columns.tsv, beside this file.

A row is a record of its type; pandas and pyarrow see it only where tables are written (collect.py).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

from msgspec import Struct

from gpd.files import read_table
from gpd.records.run_spec import CurveKey
from gpd.statistics.estimates import Estimate, Interval
from gpd.statistics.saturation import Observation
from gpd.tables.scaling_rows import OfJobs, ScalingConfiguration, ScalingFit, ScalingRun

MEANINGS = Path(__file__).with_name("columns.tsv")
NUMBER = "Float64"
DTYPES = {str: "string", int: "Int64", float: NUMBER, bool: "boolean"}
CLOCKS = {"elapsed_h": "Elapsed step time", "summed_h": "Summed step time"}  # of a step, by column


@dataclass(frozen=True)
class Column:
    """A column; `type` is a pandas dtype that knows a missing value, `unit` is empty where there is none."""

    name: str
    type: str
    unit: str
    description: str


def _curve_key(row: Any) -> CurveKey:
    return CurveKey(row.pipeline, row.mode, row.binding)


class OfRun(Struct, frozen=True, kw_only=True):
    """What every row of a run begins with."""

    study: str
    run: str
    pipeline: str
    mode: str
    binding: str
    n: int
    repeat: int
    warm_up: bool
    seeking: bool
    counted: bool

    curve_key = property(_curve_key)


class JobRow(OfRun, frozen=True, kw_only=True):
    """An attempt at a job."""

    sample: str | None
    rule: str
    step: str
    unit: str | None
    shard: str | None
    attempt: int | None
    threads: int
    mem_mb: float | None
    cpus: str | None
    node: str | None
    slurm_job_id: str | None
    start: str | None
    end: str | None
    start_s: float | None
    end_s: float | None
    wait_s: float | None
    wall_s: float | None
    cpu_s: float | None
    peak_rss_mib: float | None
    read_mib: float | None
    write_mib: float | None
    shared_inputs_mib: float | None
    shared_outputs_mib: float | None
    exit_code: int | None
    cause: str | None
    message: str | None
    binding_ok: bool | None
    memory_applied: str | None
    cpu_contention: bool | None
    other_cpu_s: float | None
    steal_s: float | None
    paused_s: float | None
    timed: bool
    log: str


class SampleRow(OfRun, frozen=True, kw_only=True):
    """A sample of a run."""

    sample: str
    input_digest: str | None
    gigabases: float | None
    mapped: float | None
    mismatches: float | None
    succeeded: bool
    failed_step: str | None
    cause: str | None
    fault: str | None
    message: str | None
    log: str | None
    start_s: float | None
    end_s: float | None
    summed_s: float | None
    cpu_s: float | None
    peak_rss_mib: float | None


class StepRow(OfRun, frozen=True, kw_only=True):
    """A step of a run."""

    step: str
    jobs: int
    failed_jobs: int
    elapsed_h: float | None
    summed_h: float | None
    cpu_s: float | None
    peak_rss_mib: float | None

    @property
    def job_s(self) -> float | None:
        """Wall time of one of its jobs, on average, s."""
        return None if self.summed_h is None or not self.jobs else 3600 * self.summed_h / self.jobs


class RunRow(OfRun, frozen=True, kw_only=True):
    """A run that ended."""

    host: str | None
    sku: str | None
    machine: int | None
    session: int | None
    cores: int
    cache: str
    fraction: float
    samples_per_genome: int
    cached: float | None
    samples: int
    succeeded: int
    failed: int
    failures: str | None
    makespan_s: float | None
    wall_s: float | None
    genomes_per_day: float | None
    gigabases: float | None
    input_mib: float | None
    genome_mb: float | None
    gigabases_per_day: float | None
    human_30x_per_day: float | None
    usable_threads: float | None
    smt: bool | None
    cpu_utilisation: float | None
    cpu_s: float | None
    os_cpu_s: float | None
    ledger_cpu_s: float | None
    cpu_s_per_gigabase: float | None
    peak_memory_mib: float | None
    peak_disk_mib: float | None
    kept_disk_mib: float | None
    disk_per_sample_mib: float | None
    disk_per_input: float | None
    read_mib: float | None
    write_mib: float | None
    shared_inputs_mib: float | None
    shared_outputs_mib: float | None
    jobs: OfJobs
    cpu_contention: bool | None
    machine_other_cpu_s: float | None
    machine_steal_s: float | None
    throttled_s: float | None
    thermal_throttles: int | None
    mhz_mean: float | None
    paused_s: float | None
    disturbances: str | None


class StreamRow(OfRun, frozen=True, kw_only=True):
    """A stream: what came of its samples in its window."""

    fraction: float
    samples_per_genome: int
    warm_up_s: float
    window_s: float
    started: int
    completed: int
    failed: int
    genomes_per_day: Interval
    batches: int
    gigabases_per_day: float | None
    human_30x_per_day: float | None
    result_median_s: float | None
    result_p95_s: float | None
    busy_share: float


# ---- rows over repeats ---------------------------------------------------------------------------------


class OfConfiguration(Struct, frozen=True, kw_only=True):
    """What repeats that are pooled share."""

    study: str
    pipeline: str
    mode: str
    binding: str
    n: int
    sku: str | None
    machine: int | None
    fraction: float
    samples_per_genome: int

    curve_key = property(_curve_key)


CONFIGURATION = OfConfiguration.__struct_fields__


class ConfigurationRow(OfConfiguration, frozen=True, kw_only=True):
    """What the repeats of a configuration came to; each Estimate is three columns: mean, sd and se."""

    repeats: int
    failed: int
    nodes: int
    sessions: int
    genomes_per_day: Estimate
    gigabases_per_day: Estimate
    human_30x_per_day: Estimate
    makespan_s: Estimate
    cpu_utilisation: Estimate
    cpu_s_per_gigabase: Estimate
    disk_per_sample_mib: Estimate

    @property
    def observation(self) -> Observation:
        """What the search for the saturation point sees of it."""
        daily = self.genomes_per_day
        return Observation(self.n, daily.value, daily.se, self.failed)


class SummaryRow(OfConfiguration, frozen=True, kw_only=True):
    """A quantity of a configuration over its repeats: of one step, or of all together."""

    step: str | None
    metric: str
    unit: str | None
    repeats: int
    mean: float | None
    sd: float | None
    se: float | None
    low: float | None
    high: float | None
    sessions_sd: float | None

    @property
    def estimate(self) -> Estimate:
        """The mean with its errors."""
        return Estimate(self.mean, self.low, self.high, self.repeats, self.sd, self.se)


# ---- columns -----------------------------------------------------------------------------------------


@cache
def _meanings() -> Mapping[tuple[str, str], tuple[str, str]]:
    """Unit and meaning of each column, by table and name."""
    return {
        (table, row["name"]): (row["unit"], row["meaning"])
        for row in read_table(MEANINGS)
        for table in row["tables"].split()
    }


def _over_repeats(name: str, unit: str, meaning: str) -> tuple[Column, ...]:
    return (
        Column(f"{name}_mean", NUMBER, unit, f"Mean over repeats. {meaning}"),
        Column(f"{name}_sd", NUMBER, unit, "Sample standard deviation (n - 1); empty: one repeat."),
        Column(f"{name}_se", NUMBER, unit, "Standard error, sd / sqrt(n); empty: one repeat."),
    )


@cache
def kinds(row: type[Struct]) -> Mapping[str, Any]:
    """The types of a row's fields by their names, an Interval told from another Estimate."""
    return get_type_hints(row, include_extras=True)


def _columns(table: str, row: type[Struct]) -> tuple[Column, ...]:
    """The columns of a table: types are those of its rows, and of the rows within them."""
    found: list[Column] = []
    for name, kind in kinds(row).items():
        if isinstance(kind, type) and issubclass(kind, Struct):
            found += _columns(table, kind)
        elif kind is Estimate:
            found += _over_repeats(name, *_meanings()[table, name])
        elif kind is Interval:
            ends = (name, f"{name}_low", f"{name}_high")
            found += (Column(each, NUMBER, *_meanings()[table, each]) for each in ends)
        else:
            found.append(Column(name, DTYPES[(get_args(kind) or (kind,))[0]], *_meanings()[table, name]))
    return tuple(found)


def values(row: Struct) -> Iterator[Any]:
    """The values of a row, in the order of its columns."""
    for name, kind in kinds(type(row)).items():
        value = getattr(row, name)
        if isinstance(value, Struct):
            yield from values(value)
        elif isinstance(value, Estimate):
            yield value.value
            yield from (value.low, value.high) if kind is Interval else (value.sd, value.se)
        else:
            yield value


TABLES: Mapping[str, tuple[Column, ...]] = {
    "jobs": _columns("jobs", JobRow),
    "samples": _columns("samples", SampleRow),
    "steps": _columns("steps", StepRow),
    "runs": _columns("runs", RunRow),
    "configurations": _columns("configurations", ConfigurationRow),
    "streams": _columns("streams", StreamRow),
}
# made from the tables above, so that no results package needs to hold it
DERIVED: Mapping[str, tuple[Column, ...]] = {"summary": _columns("summary", SummaryRow)}
SCALING: Mapping[str, tuple[Column, ...]] = {
    "runs": _columns("scaling-runs", ScalingRun),
    "configurations": _columns("scaling-configurations", ScalingConfiguration),
    "fits": _columns("scaling-fits", ScalingFit),
}


def names(table: str) -> list[str]:
    return [column.name for column in TABLES[table]]
