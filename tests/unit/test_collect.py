"""Tables of recorded and of made-up studies: no tool, no clock. Expected figures are worked out on paper."""

import json
import re
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any
from zlib import crc32

import pandas as pd
import pyarrow.parquet as pq
import pytest
import recorded_studies
import recording
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from launching import SCHEMA
from msgspec import Struct, structs
from rich.console import Console

from gpd.commands import gpd_report
from gpd.errors import GpdError
from gpd.pipelines import FIXED, human_30x_per_day
from gpd.records.decoding import decode
from gpd.records.ledger import Attempt, LedgerWarning
from gpd.records.run import RunRecord, read_run, read_spec
from gpd.statistics.estimates import estimate
from gpd.tables import collect, columns, over_repeats, rows
from gpd.tables.rows import peak_memory_mib

GOLDEN = recorded_studies.study()
DAY_S = 24 * 3600
START = datetime(2026, 11, 20, 12, tzinfo=UTC)
TEMPLATE = json.loads((ROOT / "tests" / "golden" / "germline_demo" / "ledger.jsonl").read_text().splitlines()[-1])


@pytest.fixture(scope="module")
def golden() -> collect.Tables:
    return collect.collect(GOLDEN)


def row(table: Sequence[Struct], **where) -> Any:
    """The one row that is meant."""
    (found,) = (row for row in table if all(getattr(row, name) == value for name, value in where.items()))
    return found


# ---- the recorded study ------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*/run.json")), ids=lambda path: path.parent.name)
def test_records_are_read_as_they_were_written(path):
    record = read_run(path)
    assert decode(record.to_json(), RunRecord) == record
    told = json.loads(path.read_text())
    kept = json.loads(record.to_json())
    assert {key for key, value in told.items() if value is not None} <= set(kept)
    assert kept["wall_s"] == told["wall_s"]
    assert record.spec == read_spec(path.with_name("spec.json"))


def test_the_recorded_ledgers_follow_their_schema():
    schema = Draft202012Validator(json.loads(SCHEMA.read_text()))
    lines = [line for path in GOLDEN.rglob("ledger.jsonl") for line in path.read_text().splitlines()]
    assert [error.message for line in lines for error in schema.iter_errors(json.loads(line))] == []


# makespan, s: the last end less the first start as the ledgers have them; samples that succeeded; their gigabases;
# CPU s of the named steps
RUNS_BY_HAND = {
    "germline-n1-independent-none-r1": (117.7 - 0.1, 1, 0.042, 121.1),
    "germline-n1-independent-none-r2": (124.9 - 0.1, 1, 0.040, 128.3),
    "germline-n1-shared-compact-r1": (111.4 - 0.1, 1, 0.042, 114.4),
    "germline-n1-shared-compact-r2": (116.5 - 0.1, 1, 0.040, 119.7),
    "germline-n2-independent-none-r1": (156.6 - 0.1, 2, 0.042 + 0.040, 300.2),
    "germline-n2-independent-none-r2": (154.0 - 0.1, 1, 0.038, 257.9),
    "germline-n2-shared-compact-r1": (129.8 - 0.1, 2, 0.042 + 0.040, 255.5),
    "germline-n2-shared-compact-r2": (126.3 - 0.1, 2, 0.038 + 0.040, 242.5),
    "germline-n1-shared-compact-warmup1": (123.1 - 0.1, 1, 0.038, 126.4),
    "tuxedo-n2-shared-compact-r1": (55.2 - 0.1, 2, 0.038 + 0.040, 85.0),
}


@pytest.mark.parametrize("run", RUNS_BY_HAND)
def test_a_run_by_hand(golden, run):
    makespan_s, succeeded, gigabases, cpu_s = RUNS_BY_HAND[run]
    run = row(golden.runs, run=run)
    assert run.makespan_s == pytest.approx(makespan_s)
    assert (run.succeeded, run.samples) == (succeeded, run.n)
    assert run.genomes_per_day == pytest.approx(succeeded * DAY_S / makespan_s)
    assert run.gigabases == pytest.approx(gigabases)
    assert run.gigabases_per_day == pytest.approx(gigabases * DAY_S / makespan_s)
    assert run.human_30x_per_day is None  # a tenth of a genome is 9.3 Gb
    assert run.cpu_s == pytest.approx(cpu_s)
    assert run.cpu_utilisation == pytest.approx(cpu_s / (2 * makespan_s))
    assert run.cpu_s_per_gigabase == pytest.approx(cpu_s / gigabases)


def test_a_failed_sample_costs_its_time_and_counts_nothing(golden):
    run = row(golden.runs, run="germline-n2-independent-none-r2")
    assert run.failed == 1
    assert run.failures == "HG004: haplotype_caller: out_of_memory"
    assert run.os_cpu_s == 264.7
    assert run.ledger_cpu_s == pytest.approx(257.9 + 0.5)  # and samtools stats, which is QC
    assert run.peak_memory_mib == 1200 + 1900  # both haplotype callers
    failed = row(golden.samples, run=run.run, sample="HG004")
    assert not failed.succeeded
    assert failed.log == "samples/HG004/logs/haplotype_caller/HG004.log"
    assert failed.message == "java.lang.OutOfMemoryError: Java heap space"
    assert failed.summed_s == pytest.approx(27.4 + 5.5 + 16.1 + 10.9 + 20 + 20)
    step = row(golden.steps, run=run.run, step="haplotype_caller")
    assert (step.jobs, step.failed_jobs) == (2, 1)
    assert step.summed_h == pytest.approx((20 + 20 + 68.2) / 3600)
    assert step.elapsed_h == pytest.approx((128.8 - 60.0) / 3600)


def test_steps_that_were_not_run_are_there_and_empty(golden):
    step = row(golden.steps, run="germline-n1-shared-compact-r1", step="realign_indels")
    assert step.jobs == 0
    assert step.elapsed_h is None
    assert step.summed_h is None
    assert "hard_filter" not in {row.step for row in golden.steps}  # an alternative, which did not run


# (repeats, failed, [makespan s], [genomes], [gigabases], [CPU s])
POINTS_BY_HAND = {
    ("germline", "independent", 1): (0, [117.6, 124.8], [1, 1], [0.042, 0.040], [121.1, 128.3]),
    ("germline", "independent", 2): (1, [156.5, 153.9], [2, 1], [0.082, 0.038], [300.2, 257.9]),
    ("germline", "shared", 1): (0, [111.3, 116.4], [1, 1], [0.042, 0.040], [114.4, 119.7]),
    ("germline", "shared", 2): (0, [129.7, 126.2], [2, 2], [0.082, 0.078], [255.5, 242.5]),
}


@pytest.mark.parametrize("point", POINTS_BY_HAND)
def test_a_point_by_hand(golden, point):
    """Of two values the standard deviation is their difference / sqrt(2), the standard error half of it."""
    failed, makespans, genomes, gigabases, cpu = POINTS_BY_HAND[point]
    found = row(golden.configurations, **dict(zip(("pipeline", "mode", "n"), point, strict=True)))
    assert (found.repeats, found.failed, found.sku) == (2, failed, "7763")
    expected = {
        "makespan_s": makespans,
        "genomes_per_day": [DAY_S * n / s for n, s in zip(genomes, makespans, strict=True)],
        "gigabases_per_day": [DAY_S * g / s for g, s in zip(gigabases, makespans, strict=True)],
        "cpu_utilisation": [c / 2 / s for c, s in zip(cpu, makespans, strict=True)],
        "cpu_s_per_gigabase": [c / g for c, g in zip(cpu, gigabases, strict=True)],
    }
    for name, (first, second) in expected.items():
        over = getattr(found, name)
        assert over.value == pytest.approx((first + second) / 2)
        assert over.sd == pytest.approx(abs(first - second) / sqrt(2))
        assert over.se == pytest.approx(abs(first - second) / 2)


def test_one_repeat_has_a_mean_and_no_error(golden):
    point = row(golden.configurations, pipeline="tuxedo")
    assert point.repeats == 1
    assert point.genomes_per_day.value == pytest.approx(2 * DAY_S / 55.1)
    assert point.genomes_per_day.sd is None
    assert point.genomes_per_day.se is None


def test_warm_ups_are_rows_and_in_no_point(golden):
    assert row(golden.runs, repeat=0).warm_up
    assert row(golden.configurations, pipeline="germline", mode="shared", n=1).repeats == 2
    assert len(golden.configurations) == len(POINTS_BY_HAND) + 1


def test_a_run_that_did_not_end_is_named_and_counts_nowhere(golden):
    (name,) = golden.unfinished
    assert name == "germline-n4-shared-compact-r1"
    for table in ("jobs", "samples", "steps", "runs"):
        assert name not in {row.run for row in getattr(golden, table)}
    assert name not in {run.spec.name for run in golden.records}
    assert 4 not in {point.n for point in golden.configurations}


def test_tables_are_the_same_wherever_the_study_lies(golden, tmp_path):
    moved = shutil.copytree(GOLDEN, tmp_path / "moved")
    assert collect.collect(moved) == golden


# ---- written --------------------------------------------------------------------------------


def test_parquet_has_the_rows_with_their_types(golden, tmp_path):
    collect.write(golden, tmp_path)
    for table, spelled in columns.TABLES.items():
        read = pd.read_parquet(tmp_path / f"{table}.parquet").astype({column.name: column.type for column in spelled})
        pd.testing.assert_frame_equal(read, golden.frame(table))
    assert len(golden.frame("runs")) == len(golden.runs) == len(RUNS_BY_HAND)


def test_parquet_says_units_and_meanings(golden, tmp_path):
    collect.write(golden, tmp_path)
    field = pq.read_schema(tmp_path / "runs.parquet").field("makespan_s")
    assert field.metadata[b"unit"] == b"s"
    assert field.metadata[b"description"].startswith(b"First start of a step's job")


@pytest.mark.deep
def test_a_table_is_replaced_at_once_or_not_at_all(golden, tmp_path, monkeypatch):
    collect.write(golden, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    every = {**columns.TABLES, **columns.DERIVED}
    assert set(before) == {f"{table}.{kind}" for table in every for kind in ("tsv", "parquet")}

    def half(frame, path, **options):
        Path(path).write_text("study\tce")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", half)
    with pytest.raises(OSError, match="No space left"):
        collect.write(golden, tmp_path)
    monkeypatch.undo()
    assert {name: (tmp_path / name).read_bytes() for name in before} == before
    collect.write(golden, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.deep
@pytest.mark.parametrize("name", ["study", "scaling"])
def test_tables_of_recorded_studies_are_the_golden_ones_to_the_byte(name, tmp_path):
    """A change that is meant is written by tests/recorded_studies.py, and its difference looked at."""
    recorded_studies.write_tables(name, tmp_path)
    golden = recorded_studies.GOLDEN / name / "tables"
    written = {path.name: path.read_text() for path in tmp_path.glob("*.tsv")}
    assert written == {path.name: path.read_text() for path in golden.glob("*.tsv")}


def test_a_folder_without_runs_has_empty_tables(tmp_path):
    tables = collect.collect(tmp_path)
    collect.write(tables, tmp_path / "tables")
    for table in columns.TABLES:
        assert (tmp_path / "tables" / f"{table}.tsv").read_text() == "\t".join(columns.names(table)) + "\n"


# ---- studies made up for one question each -----------------------------------------------------------


def clock(second: float) -> str:
    return (START + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")


def job(step: str, sample: str | None, begin: float = 0, wall_s: float = 10, **changed) -> dict:
    """A record of a job that succeeded; `changed` says what is different about it. No sample: the cohort's."""
    wildcards = {"callset": "cohort"} if sample is None else {"sample": sample}
    name = sample or "cohort"
    times = {"start": clock(begin), "end": clock(begin + wall_s), "wall_s": wall_s, "cpu_s": wall_s, "wait_s": 0.5}
    what = {"rule": step, "step": step, "wildcards": wildcards, "log": f"logs/{step}/{name}.log", "peak_rss_mib": 100.0}
    what["cpus"] = str(crc32(name.encode()) % 512)  # of its own
    return TEMPLATE | what | times | changed


def broken(step: str, sample: str | None, begin: float = 0, cause: str = "tool_error", **changed) -> dict:
    failure = {"exit_code": 1, "cause": cause, "message": "it broke"}
    return job(step, sample, begin, **failure | changed)


def whole(sample: str, begin: float = 0) -> list[dict]:
    return [job("map_and_sort", sample, begin), job("haplotype_caller", sample, begin + 10)]


def proven(sample: str, begin: float = 0) -> list[dict]:
    """All that every sample goes through, so that it is whole also where its run was not; it takes as long."""
    short = ("mark_duplicates", "base_recalibration", "genotype_gvcfs")
    return [*whole(sample, begin), *(job(step, sample, begin + 20, wall_s=0, wait_s=0.0) for step in short)]


@pytest.fixture
def study(tmp_path):
    """A study's folder; run() adds a run to it, from ledgers by process."""
    return Study(tmp_path / "study")


class Study:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def run(self, *samples: str, exit_code: int | None = 0, repeat: int = 1, **changed) -> "Written":
        name = f"germline-n{len(samples)}-shared-compact-r{repeat}"
        plan = json.loads((GOLDEN / "germline-n1-shared-compact-r1" / "spec.json").read_text())
        plan |= {"name": name, "n": len(samples), "repeat": repeat, "samples": list(samples)}
        record = json.loads((GOLDEN / "germline-n1-shared-compact-r1" / "run.json").read_text())
        record |= {"run": None, "spec": plan, "start": START.isoformat()}
        record["end"] = (START + timedelta(seconds=record["wall_s"])).isoformat()
        record["processes"] = [{"directory": ".", "samples": list(samples), "exit_code": exit_code}]
        record["inputs"] = {sample: {"digest": "0", "reads": 1, "bases": 10**9} for sample in samples}
        return Written(self.folder / name, record | changed)

    def collect(self) -> collect.Tables:
        return collect.collect(self.folder)

    def causes(self) -> dict[str, tuple]:
        """Step and cause by sample; None for what succeeded."""
        samples = self.collect().samples
        assert all(one.succeeded == (one.cause is None) for one in samples)
        return {one.sample: (one.failed_step, one.cause) if one.cause else None for one in samples}


class Written:
    """A run on disk."""

    def __init__(self, folder: Path, record: dict) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "spec.json").write_text(json.dumps(record["spec"]))
        (folder / "run.json").write_text(json.dumps(record))

    def ledger(self, *records: dict, process: str = ".") -> "Written":
        path = self.folder / process / "ledger.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
        return self


def test_a_retry_that_succeeds_is_no_failure_but_costs_time(study):
    study.run("A").ledger(broken("map_and_sort", "A", 0), job("map_and_sort", "A", 10, attempt=2))
    tables = study.collect()
    assert row(tables.samples, sample="A").succeeded
    assert row(tables.samples, sample="A").summed_s == 20
    step = row(tables.steps, step="map_and_sort")
    assert (step.jobs, step.failed_jobs) == (1, 0)
    assert step.summed_h == pytest.approx(20 / 3600)
    assert [each.attempt for each in tables.jobs] == [1, 2]


def test_samples_are_told_apart_by_name_and_not_by_likeness(study):
    study.run("S1", "S10", exit_code=1).ledger(*proven("S1"), broken("map_and_sort", "S10"))
    assert study.causes() == {"S1": None, "S10": ("map_and_sort", "tool_error")}


def test_a_failed_cohort_step_fails_every_sample(study):
    study.run("A", "B", exit_code=1).ledger(*whole("A"), *whole("B"), broken("genotype_gvcfs", None, 20))
    assert study.causes() == dict.fromkeys("AB", ("genotype_gvcfs", "tool_error"))
    assert row(study.collect().runs).genomes_per_day == 0
    assert row(study.collect().runs).failures == "A: genotype_gvcfs: tool_error; B: genotype_gvcfs: tool_error"


def test_work_that_all_samples_share_needs_no_name(study):
    study.run("A", exit_code=1).ledger(*whole("A"), broken("genotype_gvcfs", None, 20, wildcards={}))
    assert study.causes() == {"A": ("genotype_gvcfs", "tool_error")}
    assert [each.sample for each in study.collect().jobs] == ["A", "A", "cohort"]


def test_independent_processes_have_cohorts_of_their_own(study):
    processes = [{"directory": f"samples/{name}", "samples": [name], "exit_code": int(name == "B")} for name in "AB"]
    spec = study.run("A", "B", processes=processes)
    spec.ledger(*whole("A"), job("genotype_gvcfs", None, 20), process="samples/A")
    spec.ledger(*whole("B"), broken("genotype_gvcfs", None, 20, cpus="1000"), process="samples/B")
    assert study.causes() == {"A": None, "B": ("genotype_gvcfs", "tool_error")}
    step = row(study.collect().steps, step="genotype_gvcfs")
    assert (step.jobs, step.failed_jobs) == (2, 1)
    assert row(study.collect().samples, sample="B").log == "samples/B/logs/genotype_gvcfs/cohort.log"


def test_a_run_of_which_two_jobs_held_one_cpu_is_refused(study):
    study.run("A", "B").ledger(*(one | {"cpus": "0-1"} for name in "AB" for one in whole(name)))
    with pytest.raises(collect.CollectError, match=r"lines 1 and 3: both held CPU 0 of .*; remove the run"):
        study.collect()


def test_a_study_of_two_machines_has_no_report(study):
    host = json.loads((GOLDEN / "germline-n1-shared-compact-r1" / "run.json").read_text())["host"]
    study.run("A", repeat=1).ledger(*whole("A"))
    study.run("B", repeat=2, host=host | {"memory_mib": 4096.0}).ledger(*whole("B"))
    with pytest.raises(collect.CollectError, match="its runs ran on different machines: "):
        gpd_report.write(study.folder, Console())


@pytest.mark.parametrize("cause", ["out_of_memory", "killed", "disk_full"])
def test_what_the_machine_lacks_is_no_bad_data(study, cause):
    study.run("A", repeat=1, exit_code=1).ledger(broken("map_and_sort", "A", cause=cause))
    study.run("B", repeat=2).ledger(*whole("B"))
    (failed,) = (sample for sample in study.collect().samples if not sample.succeeded)
    assert (failed.sample, failed.fault) == ("A", "load")


def test_an_attempt_that_was_killed_has_no_end_and_no_figures(study):
    unknown = dict.fromkeys(("end", "wall_s", "exit_code", "cpu_s", "peak_rss_mib", "read_mib", "write_mib"))
    killed = job("map_and_sort", "B", 5) | unknown | {"cause": "killed", "message": "it was killed"}
    study.run("A", "B", exit_code=1).ledger(*proven("A"), killed)
    tables = study.collect()
    assert study.causes() == {"A": None, "B": ("map_and_sort", "killed")}
    killed = row(tables.jobs, sample="B")
    assert (killed.end, killed.end_s, killed.wall_s, killed.cpu_s, killed.exit_code) == (None,) * 5
    assert row(tables.runs).makespan_s == 20
    assert row(tables.runs).cpu_s == 20
    assert row(tables.samples, sample="B").summed_s is None


def test_a_sample_without_a_job_has_failed(study):
    processes = [{"directory": f"samples/{name}", "samples": [name], "exit_code": int(name == "B")} for name in "AB"]
    study.run("A", "B", processes=processes).ledger(*whole("A"), process="samples/A")
    assert study.causes() == {"A": None, "B": (None, "no_job_ran")}
    assert row(study.collect().runs).failures == "B: no_job_ran"


def test_a_run_without_a_job_is_a_run_of_nothing(study):
    study.run("A", exit_code=1)
    run = row(study.collect().runs)
    assert (run.succeeded, run.failed, run.genomes_per_day) == (0, 1, 0)
    unknown = ("makespan_s", "cpu_utilisation", "cpu_s", "peak_memory_mib", "cpu_s_per_gigabase")
    assert [getattr(run, name) for name in unknown] == [None] * 5
    assert row(study.collect().samples).message == "no job of it ran; Snakemake ended with exit code 1"


def test_a_sample_that_stopped_half_way_did_not_succeed(study):
    study.run("A", "B", exit_code=1).ledger(*proven("A"), broken("qc", "A", 20), job("map_and_sort", "B"))
    assert study.causes() == {"A": None, "B": ("mark_duplicates", "not_finished")}


def test_a_run_that_ended_well_and_lacks_jobs_is_refused(study):
    """A ledger that was cut short would make its run the fastest."""
    study.run("A", repeat=1).ledger(*whole("A"))
    cut = study.run("B", repeat=2)
    cut.ledger(job("map_and_sort", "B"))
    told = "germline-n1-shared-compact-r2: a ledger was cut short or lost: B: it never went through haplotype_caller"
    with pytest.raises(collect.CollectError, match=told):
        study.collect()
    cut.ledger()
    with pytest.raises(collect.CollectError, match="a ledger was cut short or lost: B: no job of it ran"):
        study.collect()
    cut.ledger(*whole("B"))
    assert study.causes() == {"A": None, "B": None}


def test_other_runs_tell_which_steps_a_run_that_was_broken_off_did_not_reach(study):
    study.run("A", repeat=1).ledger(*whole("A"))
    study.run("B", repeat=2, exit_code=137).ledger(job("map_and_sort", "B"))
    assert study.causes() == {"A": None, "B": ("mark_duplicates", "not_finished")}
    output = row(study.collect().samples, sample="B").message
    assert output == "it never went through mark_duplicates; Snakemake ended with exit code 137"


def test_a_sample_is_not_whole_before_its_cohort_is(study):
    study.run("A", repeat=1).ledger(*proven("A"), job("hard_filter", None, 20))
    study.run("B", "C", repeat=2, exit_code=1).ledger(*proven("B"), broken("map_and_sort", "C"))
    assert study.causes() == {
        "A": None,
        "B": ("hard_filter", "not_finished"),
        "C": ("map_and_sort", "tool_error"),
    }


def test_settings_that_differ_may_have_other_steps(study):
    study.run("A", repeat=1).ledger(*proven("A"), job("hard_filter", "A", 20))
    spec = study.run("B", "C", repeat=2, exit_code=1, settings={"config_digest": "another"})
    spec.ledger(*proven("B"), broken("map_and_sort", "C"))
    assert study.causes()["B"] is None


@pytest.mark.parametrize("exit_code", [1, -9, None])
def test_an_error_that_no_job_explains_leaves_no_sample_whole(study, exit_code):
    study.run("A", "B", exit_code=exit_code).ledger(*proven("A"), *proven("B"))
    assert study.causes() == dict.fromkeys("AB", (None, "not_finished"))
    assert row(study.collect().runs).genomes_per_day == 0


def test_a_step_that_was_not_reached_explains_an_error(study):
    study.run("A", repeat=1).ledger(*proven("A"))
    study.run("B", "C", repeat=2, exit_code=1).ledger(*proven("B"), job("map_and_sort", "C"))
    assert study.causes() == {"A": None, "B": None, "C": ("mark_duplicates", "not_finished")}


def test_failed_quality_control_is_outside(study):
    study.run("A", exit_code=1).ledger(*proven("A"), broken("qc", "A", 20))
    assert study.causes() == {"A": None}
    tables = study.collect()
    assert row(tables.runs).makespan_s == 20
    assert not row(tables.jobs, step="qc").timed
    assert row(tables.runs).cpu_s == 20
    assert row(tables.runs).ledger_cpu_s == 30


def test_what_run_json_does_not_know_is_empty_and_not_zero(study):
    unknown = dict.fromkeys(("cpu_s", "peak_disk_mib", "inputs", "outputs", "settings", "host"))
    study.run("A", **unknown).ledger(*whole("A"))
    tables = study.collect()
    missing = ["host", "sku", "os_cpu_s", "peak_disk_mib", "gigabases", "gigabases_per_day", "human_30x_per_day"]
    assert {getattr(row(tables.runs), name) for name in (*missing, "cpu_s_per_gigabase", "failures")} == {None}
    assert row(tables.runs).genomes_per_day == pytest.approx(DAY_S / 20)
    point = row(tables.configurations)
    assert (point.sku, point.gigabases_per_day.value, point.genomes_per_day.sd) == (None, None, None)
    collect.write(tables, study.folder / "tables")
    line = dict(zip(*map(str.split, read_tsv(study, "runs"), "\t\t"), strict=True))
    assert [line[name] for name in missing] == [""] * len(missing)


def read_tsv(study: Study, table: str) -> list[str]:
    return (study.folder / "tables" / f"{table}.tsv").read_text().splitlines()


def test_bases_of_one_sample_that_are_not_known_make_the_sum_unknown(study):
    inputs = {"A": {"bases": 10**9}, "B": {}}
    study.run("A", "B", inputs=inputs).ledger(*whole("A"), *whole("B"))
    assert row(study.collect().runs).gigabases is None


def test_waiting_moved_bytes_and_bindings_of_a_run(study):
    records = [
        job("map_and_sort", "A", 0, read_mib=1.0, write_mib=10.0, shared_inputs_mib=8.0, split=True),
        job("haplotype_caller", "A", 10, read_mib=2.0, write_mib=20.0, shared_inputs_mib=4.0, binding_ok=False),
        job("qc", "A", 20, read_mib=400.0, write_mib=400.0, binding_ok=False, split=True),
    ]
    study.run("A").ledger(*records)
    run = row(study.collect().runs)
    assert (run.read_mib, run.write_mib, run.jobs.wait_s) == (3, 30, 1)
    assert run.shared_inputs_mib == 12
    assert run.shared_outputs_mib is None, "nobody knows"
    assert not run.jobs.binding_ok
    assert run.jobs.split_jobs == 1


def test_jobs_stand_in_the_order_in_which_they_began(study):
    study.run("A", "B").ledger(
        job("map_and_sort", "B", 5), job("map_and_sort", "A", 3), *whole("A", 20), *whole("B", 40)
    )
    jobs = study.collect().jobs
    assert [each.start_s for each in jobs] == [0, 2, 17, 27, 37, 47]
    assert [each.start for each in jobs][:2] == ["2026-11-20T12:00:03.000000Z", "2026-11-20T12:00:05.000000Z"]


def test_processors_are_not_pooled(study):
    for repeat, sku in ((1, "7763"), (2, "8352Y")):
        study.run("A", repeat=repeat, host={"hostname": sku, "sku": sku}).ledger(*whole("A"))
    points = study.collect().configurations
    assert [(point.sku, point.repeats) for point in points] == [("7763", 1), ("8352Y", 1)]


XEON = {"cpu_model": "Intel Xeon Processor", "cpu_family": "6", "cores": 2, "memory_mib": 15_900.0}
EPYC = {"cpu_model": "Intel Xeon Processor", "cpu_family": "25", "cores": 2, "memory_mib": 15_900.0}


@pytest.mark.parametrize(
    ("later", "machines"),
    [
        (EPYC, [(1, 1), (2, 1)]),
        (XEON | {"memory_mib": 31_800.0}, [(1, 1), (2, 1)]),
        (XEON | {"memory_mib": 15_899.0, "hostname": "renamed"}, [(1, 2)]),  # another kernel keeps more for itself
        ({"hostname": "node1"}, [(1, 2)]),  # what is not recorded may be the same
    ],
)
def test_machines_without_a_product_name_are_not_pooled(study, later, machines):
    for repeat, host in ((1, XEON), (2, later)):
        study.run("A", repeat=repeat, host={"hostname": "node1", **host}).ledger(*whole("A"))
    points = study.collect().configurations
    assert [(point.machine, point.repeats) for point in points] == machines


def test_machines_are_numbered_in_the_order_of_their_first_runs(study):
    study.run("A", repeat=1, host=EPYC, start=clock(0.5)).ledger(*whole("A", 1))
    study.run("A", repeat=2, host=XEON, start=clock(0)).ledger(*whole("A", 1))
    assert [(run.repeat, run.machine) for run in study.collect().runs] == [(1, 2), (2, 1)]


# ---- peak memory -------------------------------------------------------------------------------------


def attempt(begin: float, end: float, rss_mib: float | None) -> Attempt:
    return recording.attempt("r", "S1", begin, end - begin, peak_rss_mib=rss_mib)


def test_memory_of_jobs_that_ran_at_one_time():
    assert peak_memory_mib([attempt(0, 10, 100), attempt(5, 15, 30), attempt(10, 20, 80)]) == 130
    assert peak_memory_mib([attempt(0, 10, 100), attempt(10, 20, 80)]) == 100
    assert peak_memory_mib([attempt(0, 10, None)]) is None
    assert peak_memory_mib([]) is None


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 20), st.integers(0, 100)), min_size=1, max_size=12))
def test_memory_at_every_moment_by_brute_force(jobs):
    at_once = max(sum(rss for begin, wall, rss in jobs if begin <= moment < begin + wall) for moment in range(41))
    assert peak_memory_mib(attempt(begin, begin + wall, rss) for begin, wall, rss in jobs) == at_once


# ---- broken inputs -----------------------------------------------------------------------------------


def refused(study: Study) -> str:
    with pytest.raises(GpdError) as caught:
        study.collect()
    output = str(caught.value)
    assert "\n" not in output
    return output.replace(f"{study.folder}/", "")


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(collect.CollectError, match=r"none: no such folder; name the folder of a study"):
        collect.collect(tmp_path / "none")


NAME = "germline-n1-shared-compact-r1"


@pytest.mark.parametrize(
    ("changed", "output"),
    [
        ({"wall_s": None}, "run.json: not a valid run.json: Object missing required field `wall_s`"),
        ({"schema": 2}, "run.json: not a valid run.json: Invalid enum value 2 - at `$.schema`"),
        ({"processes": []}, "run.json: not a valid run.json: Expected `array` of length >= 1 - at `$.processes`"),
        ({"host": {"sku": 7763}}, "run.json: not a valid run.json: Expected `str | null`, got `int` - at `$.host.sku`"),
        ({"start": "today"}, "run.json: not a valid run.json: Invalid RFC3339 encoded datetime - at `$.start`"),
        (
            {"processes": [{"directory": ".", "samples": ["A", "X"]}]},
            "run.json: not a valid run.json: processes: X: no sample of this run",
        ),
    ],
)
def test_a_run_json_that_is_none(study, changed, output):
    study.run("A", **changed)
    assert refused(study).startswith(f"{NAME}/{output}")


@pytest.mark.parametrize(
    ("changed", "output"),
    [
        ({"mode": "both"}, "run.json: not a valid run.json: Invalid enum value 'both' - at `$.spec.mode`"),
        ({"cores": None}, "run.json: not a valid run.json: Object missing required field `cores` - at `$.spec`"),
        ({"n": 3}, "run.json: not a valid run.json: n is 3, but it names 1 samples"),
        ({"name": "another"}, "run.json: it is of the run another; a run's folder keeps its name"),
    ],
)
def test_a_run_that_contradicts_itself(study, changed, output):
    spec = study.run("A")
    record = json.loads((spec.folder / "run.json").read_text())
    record["spec"] |= changed
    (spec.folder / "run.json").write_text(json.dumps(record))
    assert refused(study).startswith(f"{NAME}/{output}")


def test_a_file_that_is_cut_off(study):
    spec = study.run("A")
    text = json.dumps(json.loads((spec.folder / "run.json").read_text()), indent=1)
    (spec.folder / "run.json").write_text(text[:100])
    assert re.match(rf"{NAME}/run\.json: not a valid run\.json: .* line \d+ column", refused(study))


def test_a_broken_line_of_a_ledger(study):
    spec = study.run("A").ledger(*whole("A"))
    with (spec.folder / "ledger.jsonl").open("a") as ledger:
        ledger.write('{"schema": 1, "rule"')
    with pytest.warns(LedgerWarning, match=r"left out: 1 of its lines \(number 3\)"):
        collected = study.collect()
    assert len(collected.jobs) == 2


def test_a_ledger_of_other_samples(study):
    study.run("A").ledger(*whole("A"), *whole("B"))
    assert refused(study) == f"{NAME}/ledger.jsonl line 3: B: no sample of this process, says run.json"


def test_a_record_of_an_earlier_run_in_the_same_place_is_none_of_this_one(tmp_path, golden):
    """A killed launcher's record is written by a later one, into what is by then another run's ledger."""
    study = tmp_path / "study"
    shutil.copytree(GOLDEN, study)
    ledger = study / "germline-n1-shared-compact-r1" / "ledger.jsonl"
    lines = ledger.read_text().splitlines()
    earlier = json.loads(lines[0]) | {"run": "earlier", "start": "2020-01-01T00:00:00Z", "end": None, "wall_s": None}
    ledger.write_text("\n".join([*lines, json.dumps(earlier | {"exit_code": None, "cause": "killed"})]) + "\n")
    collected = collect.collect(study)
    assert collected.runs == golden.runs
    assert collected.jobs == golden.jobs


def test_a_ledger_that_goes_on_from_an_interrupted_run(study):
    before = job("map_and_sort", "A", -3600, host="node1")
    study.run("A").ledger(before, job("haplotype_caller", "A", 5, host="node1"))
    output = "a job that began before its run did; remove the run and run it again"
    assert refused(study) == f"{NAME}/ledger.jsonl line 1: {output}"


def test_what_the_machine_did_meanwhile_is_in_the_row_of_a_run(study):
    use = {
        "cpu_contention": True,
        "other_cpu_s": 7.0,
        "steal_s": 1.0,
        "throttled_periods": 3,
        "throttled_s": 0.5,
        "paused_s": 9.0,
    }
    study.run("A", machine_use=use | {"thermal_throttles": 2, "mhz_mean": 2450.0}).ledger(*whole("A"))
    run = row(study.collect().runs)
    assert (run.cpu_contention, run.machine_other_cpu_s, run.machine_steal_s) == (True, 7, 1)
    assert (run.throttled_s, run.thermal_throttles, run.mhz_mean, run.paused_s) == (0.5, 2, 2450, 9.0)


MACHINE = {"hostname": "node1", "usable_threads": 4, "smt": True}


@pytest.mark.parametrize(
    ("binding", "changed", "threads", "smt"),
    [
        ("compact", {"binding": {"smt": False}}, 2, False),  # whole cores
        ("compact-smt", {"binding": {"smt": True}}, 2, True),
        ("none", {}, 4, True),  # every thread of the machine
        ("none-nosmt", {"cpus": "0,2"}, 2, False),
        ("none", {"host": MACHINE | {"cpu_quota_cpus": 3.5}}, 3.5, True),
        ("none", {"host": {"hostname": "node1"}}, 2, None),
    ],
)
def test_utilisation_is_by_the_threads_that_may_be_used(study, binding, changed, threads, smt):
    name = f"germline-n1-shared-{binding}-r1"
    spec = study.run("A", **{"host": MACHINE} | changed).ledger(*(one | {"cpus": None} for one in whole("A")))
    record = json.loads((spec.folder / "run.json").read_text())
    record["spec"] |= {"binding": binding, "name": name}
    (spec.folder / "run.json").write_text(json.dumps(record))
    (spec.folder / "spec.json").write_text(json.dumps(record["spec"]))
    spec.folder.rename(study.folder / name)
    run = row(study.collect().runs)
    assert (run.usable_threads, run.smt) == (threads, smt)
    assert run.cpu_utilisation == pytest.approx(20 / (threads * 20))


def test_a_job_that_was_granted_more_threads_than_cores_might_use_them(study):
    """As one for more threads than there are cores: it gets their hyperthreads, and keeps all busy."""
    every = [one | {"cpus": "0-3", "cpu_s": 40.0} for one in whole("A")]
    study.run("A", host=MACHINE).ledger(*every)
    run = row(study.collect().runs)
    assert (run.usable_threads, run.cpu_utilisation) == (4, 1.0)


# ---- clocks that are set


def since_boot(records: list[dict], **changed) -> list[dict]:
    """The same, with the time since the boot that UTC had at each start."""
    began = {one["start"]: 5000 + (datetime.fromisoformat(one["start"]) - START).total_seconds() for one in records}
    return [one | {"boot": "b", "uptime_s": began[one["start"]]} | changed for one in records]


def test_a_clock_that_is_set_changes_no_time_of_a_run_in_one_boot(study):
    first, second = since_boot(whole("A"))
    late = {"start": clock(3610), "end": clock(3620)}  # the clock was put on by an hour between the two
    study.run("A").ledger(first, second | late)
    tables = study.collect()
    assert row(tables.runs).makespan_s == 20
    assert [(each.start_s, each.end_s) for each in tables.jobs] == [(0, 10), (10, 20)]
    assert row(tables.steps, step="haplotype_caller").elapsed_h == pytest.approx(10 / 3600)
    assert row(tables.samples).end_s == 20


def test_a_clock_that_is_set_back_makes_no_job_earlier_than_its_run(study):
    """By UTC the second seems to run beside the first, and before the run."""
    first, second = (one | {"run": "this", "peak_rss_mib": 100.0} for one in since_boot(whole("A")))
    study.run("A", run="this").ledger(first, second | {"start": clock(-7200), "end": clock(5)})
    run = row(study.collect().runs)
    assert (run.makespan_s, run.peak_memory_mib) == (20, 100)


def test_jobs_that_took_longer_than_their_run_are_refused(study):
    study.run("A", wall_s=18.9, end=clock(18.9)).ledger(*since_boot(whole("A")))
    output = "its jobs took 20.000 s, and the run 18.900 s; remove the run and run it again"
    assert refused(study) == f"{NAME}: {output}"


def test_without_the_time_since_the_boot_a_clock_that_was_set_is_refused(study):
    study.run("A", wall_s=30.0, end=clock(28.9)).ledger(*whole("A"))
    output = "the clock was set while it ran: 28.900 s by UTC, 30.000 s by the clock that cannot be set"
    assert refused(study) == f"{NAME}: {output}; remove the run and run it again"


def test_over_two_boots_jobs_are_timed_by_utc(study):
    first, second = whole("A")
    study.run("A").ledger(*since_boot([first]), *since_boot([second], boot="c", uptime_s=1.0))
    assert row(study.collect().runs).makespan_s == 20


# ---- jobs on several hosts, whose clocks differ


def test_over_several_hosts_no_time_is_since_another_hosts(study):
    study.run("A", "B").ledger(job("map_and_sort", "A", 0), job("map_and_sort", "B", -7200, host="node2", node="n2"))
    tables = study.collect()
    assert {(each.start_s, each.end_s) for each in tables.jobs} == {(None, None)}
    assert {step.elapsed_h for step in tables.steps} == {None}
    assert row(tables.steps, step="map_and_sort").summed_h == pytest.approx(20 / 3600)
    run = row(tables.runs)
    assert run.makespan_s == run.wall_s
    assert [each.node or "" for each in tables.jobs] == ["n2", ""]


# ---- the summary -------------------------------------------------------------------------------------


def test_the_time_of_a_step_and_its_errors_by_hand(golden):
    """The two repeats took 50 and 52 s, and the warm-up 55; t of one degree of freedom is 12.7062 at 95%."""
    where = {"mode": "shared", "n": 1, "pipeline": "germline", "step": "haplotype_caller"}
    for metric, unit, seconds in (
        ("elapsed_h", "h", (50, 52)),
        ("summed_h", "h", (50, 52)),
        ("cpu_s", "s", (49.9, 51.9)),
    ):
        of = row(golden.summary, metric=metric, **where)
        scale = 3600 if unit == "h" else 1
        mean = sum(seconds) / 2
        assert (of.repeats, of.unit) == (2, unit)
        assert of.mean * scale == pytest.approx(mean)
        assert of.sd * scale == pytest.approx(2**0.5)
        assert of.se * scale == pytest.approx(1)
        assert (of.low * scale, of.high * scale) == pytest.approx((mean - 12.7062, mean + 12.7062), rel=1e-5)


def test_all_steps_together_are_summed_run_by_run(golden):
    """A sum's error is that of sums: steps of one run are not independent of each other."""
    where = {"mode": "shared", "n": 2, "pipeline": "germline"}
    of = row(golden.summary, metric="summed_h", step=None, **where)
    sums = [
        sum(step.summed_h for step in golden.steps if step.run == run and step.summed_h is not None)
        for run in ("germline-n2-shared-compact-r1", "germline-n2-shared-compact-r2")
    ]
    assert (of.repeats, of.mean) == (2, pytest.approx(fmean(sums)))
    assert of.sd == pytest.approx(stdev(sums))


def test_a_figure_of_one_repeat_has_no_error(golden):
    own = [each for each in golden.summary if each.pipeline == "tuxedo"]
    assert {each.repeats for each in own if each.mean is not None} == {1}
    assert {(each.sd, each.se, each.low, each.high) for each in own} == {(None, None, None, None)}


def test_the_summary_has_what_configurations_have(golden):
    for configuration in golden.configurations:
        own = [each for each in golden.summary if each.step is None and each.curve_key == configuration.curve_key]
        for name in ("genomes_per_day", "makespan_s", "cpu_utilisation"):
            assert row(own, n=configuration.n, metric=name).estimate == getattr(configuration, name)


def test_a_mean_says_of_how_many_nodes_and_sessions_it_is(golden):
    """Of the recorded study all runs are of one; of two, the means of the sessions have a spread."""
    assert {(one.nodes, one.sessions) for one in golden.configurations} == {(1, 1)}
    assert {one.sessions_sd for one in golden.summary} == {None}
    two = [structs.replace(run, session=run.repeat, host=f"node{run.repeat}") for run in golden.runs]
    configurations = rows.configurations(two)
    where = {"mode": "shared", "n": 1, "pipeline": "germline"}
    assert (row(configurations, **where).nodes, row(configurations, **where).sessions) == (2, 2)
    summary = over_repeats.summary(configurations, two, golden.steps)
    for step, metric in ((None, "makespan_s"), ("haplotype_caller", "elapsed_h")):
        of = row(summary, step=step, metric=metric, **where)
        assert of.sessions_sd == pytest.approx(of.sd), "one repeat a session"


def test_a_smaller_sample_makes_the_error_of_human_genomes_larger(golden):
    """From half of a genome FIXED x (2 - 1) of it, beside the error of repeats; of a whole one nothing."""
    for bases, share in ((93.0, 0.0), (46.5, FIXED)):
        own = [run for run in golden.runs if (run.mode, run.n, run.counted) == ("shared", 1, True)]
        daily = [86_400 * bases / run.makespan_s for run in own]
        known = zip(own, daily, strict=True)
        own = [structs.replace(run, gigabases=bases, human_30x_per_day=of / 93) for run, of in known]
        found, repeats = rows.configuration(own).human_30x_per_day, estimate(of / 93 for of in daily)
        assert found.value == repeats.value
        assert found.se == pytest.approx(sqrt(repeats.se**2 + (share * repeats.value) ** 2))


@pytest.mark.parametrize(("of_a_sample", "daily"), [(9.3, 2.0), (93.0, 2.0), (9.29, None), (None, None)])
def test_samples_of_less_than_a_tenth_of_a_genome_are_not_counted_as_human_ones(of_a_sample, daily):
    assert human_30x_per_day(186.0, of_a_sample, 1.0) == daily
    assert human_30x_per_day(186.0, of_a_sample, 0.5) is None
