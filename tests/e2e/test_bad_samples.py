"""Studies in which samples fail: for their data, or for the load; by mode, by list and by search. Runs are made up."""

import pytest
from made_up import PROVEN, SILENT, Lab, write_run

from gpd.lab import runner, single_run
from gpd.lab.study_runs import StudyError
from gpd.reports.report import find
from gpd.tables import collect

pytestmark = pytest.mark.e2e  # many processes: each plan asks the workflow for its configuration

MODES = {"shared": "compact", "independent": "none"}
BAD = "S3"


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """Up to two samples at once take no longer than one; one that fails early frees the machine."""
    made = Lab(tmp_path, monkeypatch)
    made.makespan_s = lambda spec: 10.0 * max(1, (spec.n - len(made.fails(spec))) / 2)
    return made


def bad_sample(spec):
    return {sample: "tool_error" for sample in spec.samples if sample == BAD}


def overload(most):
    """More samples at once than these run out of memory, all but the first."""
    return lambda spec: dict.fromkeys(spec.samples[1:], "out_of_memory") if spec.n > most else {}


def counted(tables):
    return [run for run in tables.runs if run.counted]


def tried(tables):
    return sorted({run.n for run in tables.runs if run.counted or run.seeking})


def faults(tables):
    return {(one.sample, one.fault) for one in tables.samples if not one.succeeded}


# ---- a bad sample, by mode and by list and search -----------------------------------------------------


EACH = pytest.mark.parametrize(
    ("mode", "wanted"), [(mode, wanted) for mode in MODES for wanted in ("saturation", [1, 2, 4])], ids=str
)


@EACH
def test_a_study_stops_at_a_bad_sample_and_says_what_to_do(lab, mode, wanted):
    lab.fails = bad_sample
    plan = lab.plan(modes=[mode], concurrent_samples=wanted, seed=1)
    with pytest.raises(StudyError) as stopped:
        runner.run(plan, SILENT)
    (line,) = str(stopped.value).splitlines()
    assert line.startswith(f"germline: {BAD} fails alone, too: {PROVEN[0]}: tool_error (log: ")
    assert f"reads: {lab.folder}/pool/{BAD}.fq)" in line
    assert "): drop it from the pool, and give the study another name; or mend" in line
    tables = collect.collect(plan.study.folder)
    assert faults(tables) == {(BAD, "data")}
    assert sum("alone" in name for name in lab.ran) <= 1
    before = list(lab.ran)
    with pytest.raises(StudyError, match=f"{BAD} fails alone, too"):
        runner.run(plan, SILENT)
    assert lab.ran == before, "nothing more is run"


def test_the_headline_is_of_runs_in_which_no_sample_failed(lab):
    """At N = 4 three of four run out of memory at once: the one that is left would be the fastest of all."""
    lab.fails = lambda spec: dict.fromkeys(spec.samples[1:], "out_of_memory") if spec.n == 4 else {}
    tables = lab.run(concurrent_samples=[1, 2, 4])
    daily = {point.n: point.genomes_per_day.value for point in tables.configurations}
    headline = find(tables, (), ()).headlines[0]
    assert headline.reached.startswith("N = 2 samples at once")
    assert "failed" not in headline.counts
    assert daily[2] == pytest.approx(2 * 8640)


def test_a_faster_n_with_failures_is_told_beside_the_headline(lab):
    lab.fails = lambda spec: {spec.samples[0]: "out_of_memory"} if spec.n == 6 else {}
    plan = lab.plan(concurrent_samples=[2, 6])
    for spec in plan.specs:
        write_run(plan.study.folder, spec, causes=lab.fails(spec))
    reached = find(collect.collect(plan.study.folder), (), ()).headlines[0].reached
    assert reached.startswith("N = 2 samples at once")
    assert "N = 6 (shared workflow, compact binding) gave 43,200, but there 1 sample failed" in reached


# ---- the load ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_a_search_ends_where_samples_fail_for_the_load(lab, mode):
    lab.fails, lab.makespan_s = overload(most=2), lambda spec: 10.0
    tables = lab.run(modes=[mode], concurrent_samples="saturation")
    assert tried(tables) == [1, 2, 3, 4]
    assert {fault for _, fault in faults(tables)} <= {"load", None}
    assert "load" in {fault for _, fault in faults(tables)}
    failing = [n for n in tried(tables) if n > 2]
    assert sum("alone" in name for name in lab.ran) <= len(failing), "one that succeeds alone is enough of a run"


@pytest.mark.parametrize("cause", ["killed", "disk_full", "tool_not_found"])
def test_what_came_from_outside_is_not_the_data(lab, cause):
    lab.fails = lambda spec: {sample: cause for sample in spec.samples if sample == BAD}
    tables = lab.run(concurrent_samples=[1, 2, 4])
    assert faults(tables) == {(BAD, "load")}
    assert not any("alone" in name for name in lab.ran)


def test_of_a_cohort_that_a_bad_sample_keeps_from_its_end_nobody_else_is_bad(lab, monkeypatch):
    """As in joint calling: the others are not finished."""

    def run_run(spec, setup, changed):
        write_run(setup.folder, spec, causes=bad_sample(spec))
        if BAD in spec.samples:
            ledger = setup.folder / spec.name / "ledger.jsonl"
            lines = [line for line in ledger.read_text().splitlines() if PROVEN[-1] not in line]
            ledger.write_text("".join(f"{line}\n" for line in lines))

    monkeypatch.setattr(single_run, "run", run_run)
    plan = lab.plan(concurrent_samples=[2, 4], seed=1)
    with pytest.raises(StudyError, match=f"{BAD} fails alone, too"):
        runner.run(plan, SILENT)
    found = faults(collect.collect(plan.study.folder))
    assert {fault for _, fault in found} == {"data", "data_of_cohort"}
    assert {sample for sample, fault in found if fault == "data"} == {BAD}
