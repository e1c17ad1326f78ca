"""Tables of a study: collected from the files that its runs left, written as TSV and Parquet. No clock.

Rows are of the types in columns.py; pandas and pyarrow have them only to write them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from gpd.errors import GpdError
from gpd.files import own_folder, replace
from gpd.outcomes import (
    COHORT,
    NO_JOB_RAN,
    NOT_FINISHED,
    Outcome,
    Process,
    Run,
    outcomes,
    passed_in,
    read_as,
    steps_of,
)
from gpd.records import node
from gpd.records.host import machine_differences, machine_numbers
from gpd.records.ledger import Attempt, Clock, read_ledger
from gpd.records.ledger_check import LedgerLine, overlaps
from gpd.records.node import NodeRecord
from gpd.records.run import SPEC, ProcessRecord, RunRecord, read_run, read_spec
from gpd.records.study import StudyRecord, read_starts, read_study_record
from gpd.tables import columns, faults, over_repeats, rows
from gpd.tables.columns import ConfigurationRow, JobRow, RunRow, SampleRow, StepRow, StreamRow, SummaryRow
from gpd.tables.sessions import sessions

FOLDER = "tables"  # of a study's tables, in its folder
FLOAT_FORMAT = "%.12g"  # all that is known, without the noise of the last digits
TSV = {"sep": "\t", "index": False, "float_format": FLOAT_FORMAT, "lineterminator": "\n"}
CLOCK_TOLERANCE_S = 1.0
CLOCK_TOLERANCE = timedelta(seconds=CLOCK_TOLERANCE_S)
ORDER = attrgetter("pipeline", "mode", "binding", "n", "repeat", "name")  # of runs, by their spec


class CollectError(GpdError):
    """A file that is not what it should be; the message is one line that names it."""


@dataclass(frozen=True)
class Tables:
    """A study in tables (columns.py has the types of their rows), the run.json of each run, the runs that did not end.

    `node` is the record of the node that it ran on, where it has one; `plan` is what it was to measure, None where an
    earlier version left none. `cut_off` are runs that were begun before, and run again from their start.
    """

    jobs: Sequence[JobRow]
    samples: Sequence[SampleRow]
    steps: Sequence[StepRow]
    runs: Sequence[RunRow]
    configurations: Sequence[ConfigurationRow]
    unfinished: tuple[str, ...]
    records: tuple[RunRecord, ...]
    node: NodeRecord | None = None
    plan: StudyRecord | None = None
    cut_off: tuple[str, ...] = ()
    streams: Sequence[StreamRow] = ()

    @cached_property
    def summary(self) -> Sequence[SummaryRow]:
        """Every mean over the repeats of each configuration, of each step and of all together."""
        return over_repeats.summary(self.configurations, self.runs, self.steps)

    def frame(self, table: str) -> pd.DataFrame:
        """A table as it is written."""
        return frame_of(getattr(self, table), columns.TABLES[table])


# ---- collect -----------------------------------------------------------------------------------------


def collect(study: Path, check_clocks: bool = True) -> Tables:
    """Collect the runs in a study's folder; a run that did not end counts nowhere.

    `check_clocks`: refuse runs whose times or CPUs contradict each other. A package has checks of its own for that.

    Raises CollectError where a file is broken, and RecordError.
    """
    runs, unfinished = read_runs(study, check_clocks)
    if any(run.spec.step for run in runs):
        raise CollectError(f"{study}: its runs are single steps: gpd scaling run writes their tables and report")
    of_runs = list(_rows(runs))
    record = study / node.FILE
    return Tables(
        jobs=[job for of_run in of_runs for job in of_run.jobs],
        samples=[sample for of_run in of_runs for sample in of_run.samples],
        steps=[step for of_run in of_runs for step in of_run.steps],
        runs=[of_run.run for of_run in of_runs],
        configurations=rows.configurations(of_run.run for of_run in of_runs),
        unfinished=unfinished,
        records=tuple(run.record for run in runs),
        node=node.read_node(record) if record.exists() else None,
        plan=read_study_record(study),
        cut_off=_cut_off(study, [run.record for run in runs]),
        streams=[of_run.stream for of_run in of_runs if of_run.stream],
    )


def _cut_off(study: Path, ended: Sequence[RunRecord]) -> tuple[str, ...]:
    """The runs that ended and were begun before without coming to their end, as far as that was recorded."""
    here = {record.spec.name: record.run for record in ended}
    starts = read_starts(study) or ()
    broken_off = {start.name for start in starts if start.ended is None and start.run != here.get(start.name)}
    return tuple(name for name in here if name in broken_off)


def read_runs(study: Path, check_clocks: bool = True) -> tuple[list[Run], tuple[str, ...]]:
    """The runs of a study that ended, and the names of those that did not. Raises CollectError."""
    if not study.is_dir():
        raise CollectError(f"{study}: no such folder; name the folder of a study")
    finished = [(path.parent, read_run(path)) for path in study.glob("*/run.json")]
    ended = {folder for folder, _ in finished}
    unfinished = [read_spec(path) for path in study.glob(f"*/{SPEC}") if path.parent not in ended]
    finished.sort(key=lambda found: ORDER(found[1].spec))
    names = tuple(spec.name for spec in sorted(unfinished, key=ORDER))
    runs = [Run(of, tuple(_read_process(folder, of, one) for one in of.processes)) for folder, of in finished]
    for (folder, _), run in zip(finished, runs, strict=True):
        if check_clocks:
            _check_clocks(folder, run)
            _check_cpus(folder, run)
    return runs, names


def of_one_machine(study: Path) -> Tables:
    """The tables of a study, whose values are means over its runs. Raises CollectError where these are of several."""
    tables = collect(study)
    if found := machine_differences(record.host for record in tables.records if record.host):
        raise CollectError(f"{study}: its runs ran on different machines: {found}: give each a study of its own")
    return tables


def _rows(runs: Sequence[Run]) -> Iterator[rows.RowsOfRun]:
    """The rows of each run; what came of its samples, all runs together tell."""
    kinds: dict[Any, list[Run]] = {}
    for run in runs:
        kinds.setdefault(run.kind, []).append(run)
    wanted = {kind: passed_in(of_kind) for kind, of_kind in kinds.items()}
    judged = [(run, outcomes(run, wanted[run.kind])) for run in runs]
    for run, of_run in judged:
        _check_whole(run, of_run)
    evidence, machines = faults.gather(judged), machines_of(runs)
    session = sessions(run.record for run in runs)
    for run, of_run in judged:
        why = faults.faults(run, of_run, evidence[run.spec.pipeline])
        name = run.spec.name
        yield rows.RowsOfRun(run, of_run, why, run.spec.counts, machines[name], session[name])


def _check_whole(run: Run, of_run: Iterable[Outcome]) -> None:
    """Refuse a run whose ledger lacks jobs, while Snakemake says that all was done: its makespan is not known."""
    ended_well = {sample for process in run.processes if process.exit_code == 0 for sample in process.samples}
    for outcome in of_run:
        if outcome.sample in ended_well and outcome.cause in (NO_JOB_RAN, NOT_FINISHED):
            raise CollectError(
                f"{run.spec.name}: a ledger was cut short or lost: {outcome.sample}: {outcome.message}; "
                "remove the run and run it again"
            )


def machines_of(runs: Iterable[Run]) -> dict[str, int | None]:
    """The number of each run's machine, by the run's name; several machines that ran one together have none."""
    began = sorted((run.record for run in runs), key=lambda record: (record.start, record.spec.name))
    numbers = machine_numbers(record.host for record in began)
    return {record.spec.name: number for record, number in zip(began, numbers, strict=True)}


def _read_process(folder: Path, record: RunRecord, process: ProcessRecord) -> Process:
    path = folder / process.directory / "ledger.jsonl"
    own = (attempt for attempt in read_ledger(path) if record.run is None or attempt.run == record.run)
    attempts = read_as(record, process.samples, own)
    _check_attempts(path, record, {*process.samples, COHORT, None}, attempts)
    return Process(**vars(process), attempts=tuple(attempts))


def _check_clocks(folder: Path, run: Run) -> None:
    """Refuse a run whose jobs took longer than the run did, by the monotonic clock of its launcher.

    Where jobs are timed by UTC, UTC is held against that clock, too.
    """
    attempts, wall_s = [attempt for process in run.processes for attempt in run.timed(process)], run.record.wall_s
    if not run.one_clock or not attempts:
        return
    by_utc_s = 0.0 if Clock(attempts).monotonic else (run.record.end - run.record.start).total_seconds()
    makespan_s = rows.span_s(attempts) or 0.0
    if makespan_s > wall_s + CLOCK_TOLERANCE_S:
        raise CollectError(
            f"{folder}: its jobs took {makespan_s:.3f} s, and the run {wall_s:.3f} s; remove the run and run it again"
        )
    if by_utc_s and abs(by_utc_s - wall_s) > CLOCK_TOLERANCE_S:
        raise CollectError(
            f"{folder}: the clock was set while it ran: {by_utc_s:.3f} s by UTC, {wall_s:.3f} s by the clock that "
            "cannot be set; remove the run and run it again"
        )


def _check_cpus(folder: Path, run: Run) -> None:
    """Refuse a run of which two jobs held one CPU at one time: what a report says of its pinning would be wrong."""
    placed = [
        (LedgerLine(folder / process.path("ledger.jsonl"), number), attempt)
        for process in run.processes
        for number, attempt in enumerate(process.attempts, 1)
    ]
    if shared := overlaps(placed):
        raise CollectError(f"{shared[0]}; remove the run and run it again")


def _check_attempts(path: Path, record: RunRecord, owners: set[str | None], attempts: Sequence[Attempt]) -> None:
    """Refuse job records of another run: from before an interruption until after it is no makespan.

    Records that name their run are those of this one (`_read_process`), whatever was done to the clock since.
    """
    steps = steps_of(record, attempts)
    began = datetime.min.replace(tzinfo=UTC) if record.run else record.start - CLOCK_TOLERANCE
    here = record.host.hostname if record.host else None
    for number, attempt in enumerate(attempts, 1):
        if attempt.step not in steps:
            continue
        if attempt.owner not in owners:
            raise CollectError(f"{path} line {number}: {attempt.owner}: no sample of this process, says run.json")
        elsewhere = here not in (attempt.host, None) and attempt.host  # by a clock that says nothing of this one
        if attempt.start is not None and attempt.start < began and not elsewhere:
            raise CollectError(
                f"{path} line {number}: a job that began before its run did; remove the run and run it again"
            )


# ---- write -------------------------------------------------------------------------------------------


def write(tables: Tables, folder: Path) -> None:
    """Write every table as TSV and Parquet into a folder, each file at once or not at all."""
    write_tables(tables, {**columns.TABLES, **columns.DERIVED}, folder)


def write_tables(tables: Any, every: Mapping[str, Sequence[columns.Column]], folder: Path) -> None:
    """Write the rows that `tables` has by the name of each table."""
    own_folder(folder)
    for table, spelled in every.items():
        frame, path = frame_of(getattr(tables, table), spelled), folder / table
        replace(path.with_name(f"{table}.tsv"), partial(frame.to_csv, **TSV))
        replace(path.with_name(f"{table}.parquet"), partial(_write_parquet, frame, spelled))


def frame_of(rows: Iterable[Struct], spelled: Sequence[columns.Column]) -> pd.DataFrame:
    """A table of rows, with the types of its columns."""
    types = {column.name: column.type for column in spelled}
    return pd.DataFrame([list(columns.values(row)) for row in rows], columns=list(types), dtype=object).astype(types)


def to_tsv(frame: pd.DataFrame) -> bytes:
    """A table as text, the same everywhere."""
    return frame.to_csv(None, **TSV).encode()


def _write_parquet(frame: pd.DataFrame, spelled: Sequence[columns.Column], path: Path) -> None:
    """Each field's metadata says its unit and what it means."""
    plain = pa.Table.from_pandas(frame, preserve_index=False)
    fields = [
        plain.schema.field(column.name).with_metadata({"unit": column.unit, "description": column.description})
        for column in spelled
    ]
    pq.write_table(plain.cast(pa.schema(fields, plain.schema.metadata)), path, compression="zstd")
