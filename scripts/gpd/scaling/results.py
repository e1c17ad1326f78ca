"""Results of a scaling study: rows from its records and ledgers, configurations over repeats, fits. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import fsum
from pathlib import Path

from gpd.files import own_folder
from gpd.outcomes import Run
from gpd.records.ledger import Attempt, Clock
from gpd.records.run import RunRecord
from gpd.records.run_spec import WHOLE, StepCopies
from gpd.statistics import amdahl
from gpd.statistics.estimates import Estimate, covered_s, estimate, ratio
from gpd.tables import collect, columns
from gpd.tables.rows import Row, rows_of_run

SECONDS_PER_HOUR = 3600
CONFIGURATION = [column.name for column in columns.POINT_OF_SCALING]
CURVE_COLUMNS = CONFIGURATION[:-1]  # what is the same along a curve over threads
AS_OF_A_RUN = {column.name for column in columns.SCALING_RUNS} & {column.name for column in columns.TABLES["runs"]}


@dataclass(frozen=True)
class Results:
    """A scaling study: the rows of its tables (columns.SCALING spells them), its records, and runs that did not end."""

    runs: list[Row]
    configurations: list[Row]
    fits: list[Row]
    records: tuple[RunRecord, ...]
    unfinished: tuple[str, ...]


def read(folder: Path) -> Results:
    """Collect the runs in a folder. Raises CollectError and RecordError where a file is broken."""
    ran, unfinished = collect.read_runs(folder)
    machines = collect.machines_of(ran)
    runs = sorted(
        (_run(one, one.spec.step, machines[one.spec.name]) for one in ran if one.spec.step),
        key=lambda row: (*_place(row), row["warm_up"], row["repeat"]),
    )
    counted = [row for row in runs if not row["warm_up"]]  # different machines are not pooled
    configurations = _with_efficiency([_configuration(list(own)) for _, own in groupby(counted, key=_place)])
    return Results(runs, configurations, list(_fits(counted)), tuple(one.record for one in ran), unfinished)


def write(results: Results, folder: Path) -> None:
    """Write every table as TSV and Parquet."""
    own_folder(folder)
    for table, spelled in columns.SCALING.items():
        collect.write_frame(collect.frame_of(getattr(results, table), spelled), spelled, folder / table)


def _run(run: Run, step: StepCopies, machine: int | None) -> Row:
    """A run's row as any study has it, and what there is of its step; other jobs than the step's it has none."""
    own = rows_of_run(run, (), {}, counted=True, machine=machine).run
    copies = [process.attempts for process in run.processes]
    return {name: getattr(own, name) for name in AS_OF_A_RUN} | {
        "step": step.name,
        "scatter": step.scatter,
        "occupancy": step.occupancy,
        "threads": step.threads,
        "copies": step.copies,
        "step_s": _mean([step_s(copy, step.scatter != WHOLE) for copy in copies]),
        "steps_per_hour": SECONDS_PER_HOUR * step.copies / own.makespan_s if own.makespan_s else None,
        "cpu_s": _mean([_sum([attempt.cpu_s for attempt in copy]) for copy in copies]),
        "peak_rss_mib": max((a.peak_rss_mib for c in copies for a in c if a.peak_rss_mib is not None), default=None),
    }


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
    """The sum; where one of them is not known, it is not either."""
    known = [value for value in values if value is not None]
    return fsum(known) if known and len(known) == len(values) else None


def _mean(values: Sequence[float | None]) -> float | None:
    total = _sum(values)
    return None if total is None else total / len(values)


def _place(row: Row) -> tuple:
    return (*(row[name] for name in CONFIGURATION), row["sku"] or "", row["machine"] or 0)


def _configuration(runs: Sequence[Row]) -> Row:
    """The repeats of a configuration, without warm-ups."""
    found: Row = {name: runs[0][name] for name in (*CONFIGURATION, "copies", "sku", "machine")} | {"repeats": len(runs)}
    for column in columns.REPEATED_OF_SCALING:
        over = estimate(row[column.name] for row in runs)
        found |= {f"{column.name}_{statistic}": getattr(over, statistic) for statistic in ("mean", "sd", "se")}
    for name in ("peak_rss_mib", "peak_memory_mib"):
        found[name] = max((row[name] for row in runs if row[name] is not None), default=None)
    return found


def _with_efficiency(configurations: Sequence[Row]) -> list[Row]:
    """Configurations with T(1) / (n x T(n)): of one thread it is 1, without any error."""
    ones = {
        _curve_key(configuration): configuration for configuration in configurations if configuration["threads"] == 1
    }
    return [
        configuration | _efficiency(ones.get(_curve_key(configuration)), configuration)
        for configuration in configurations
    ]


def _curve_key(configuration: Row) -> tuple:
    return (*(configuration[name] for name in CURVE_COLUMNS), configuration["sku"], configuration["machine"])


def _efficiency(one: Row | None, configuration: Row) -> Row:
    if one is None:
        return dict.fromkeys(("efficiency", "efficiency_low", "efficiency_high"))
    if one is configuration:
        return {"efficiency": 1.0, "efficiency_low": None, "efficiency_high": None}
    names = [f"step_s_{statistic}" for statistic in ("mean", "sd", "se")]
    first, own = (Estimate(row["repeats"], *(row[name] for name in names)) for row in (one, configuration))
    of_times = ratio(first, own)
    shares = {"": of_times.value, "_low": of_times.low, "_high": of_times.high}
    return {
        f"efficiency{end}": None if value is None else value / configuration["threads"] for end, value in shares.items()
    }


def _fits(runs: Iterable[Row]) -> Iterator[Row]:
    """Amdahl's law for each curve of one step alone or on a fully loaded node, of one machine."""
    for _, own in groupby(runs, key=lambda row: tuple(row[name] for name in CURVE_COLUMNS)):
        rows = [row for row in own if row["step_s"] is not None]
        if len({(row["sku"], row["machine"]) for row in rows}) > 1 or len({row["threads"] for row in rows}) < 2:
            continue
        found = amdahl.fit((row["threads"], row["step_s"]) for row in rows)
        yield {name: rows[0][name] for name in CURVE_COLUMNS} | {
            "thread_counts": found.thread_counts,
            "t1_s": found.t1_s,
            "t1_se": found.t1_se,
            "serial_fraction": found.serial,
            "serial_fraction_se": found.serial_se,
        }
