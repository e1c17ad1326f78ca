"""What a scaling study's runs came to: held against their ledgers, and the tables of a recorded study."""

import json
import math
import shutil
from dataclasses import replace
from statistics import mean, stdev

import pytest
import recorded_studies
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gpd.records.decoding import RecordError
from gpd.records.ledger import read_ledger
from gpd.reports.page import render
from gpd.scaling import profiles, scaling_page, scaling_results
from gpd.scaling.profiles import SINGLE, THROUGHPUT
from gpd.statistics.estimates import Estimate, by_student
from gpd.tables.scaling_rows import ScalingConfiguration

STUDY = recorded_studies.study("scaling")
MAPPING = {"step": "map_and_sort", "binding": "compact"}


@pytest.fixture(scope="module")
def golden():
    return scaling_results.read(STUDY)


def rows(table, **where):
    found = [row for row in table if all(getattr(row, key) == value for key, value in where.items())]
    assert found
    return found


def row(table, **where):
    (found,) = rows(table, **where)
    return found


# ---- as recorded -------------------------------------------------------------------------------------


def test_the_report_says_that_the_machine_is_made_up(golden):
    assert "made up for tests" in render(scaling_page.find(golden, {}))
    assert {record.host.sku for record in golden.records} == {"SYNTHETIC-16"}


# ---- held against the ledger -------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["map_and_sort", "base_recalibration", "haplotype_caller"])
def test_the_figures_of_a_run_are_those_of_its_ledgers(golden, step):
    for run in rows(golden.runs, step=step):
        ledgers = [read_ledger(path) for path in sorted((STUDY / run.run).glob("copies/*/ledger.jsonl"))]
        jobs = [job for ledger in ledgers for job in ledger]
        between = (max(job.end for job in jobs) - min(job.start for job in jobs)).total_seconds()
        assert len(ledgers) == run.copies
        assert run.step_s == pytest.approx(mean(sum(job.wall_s for job in ledger) for ledger in ledgers))
        assert run.cpu_s == pytest.approx(mean(sum(job.cpu_s for job in ledger) for ledger in ledgers))
        assert run.makespan_s == pytest.approx(between)
        assert run.steps_per_hour == pytest.approx(3600 * run.copies / between)
        assert run.peak_rss_mib == max(job.peak_rss_mib for job in jobs)


def test_a_point_is_its_repeats_without_warm_ups(golden):
    point = row(golden.configurations, **MAPPING, occupancy="full", threads=4)
    runs = [run for run in rows(golden.runs, **MAPPING, occupancy="full", threads=4) if not run.warm_up]
    times = [run.step_s for run in runs]
    assert point.repeats == len(runs) == 2
    assert point.step_s.value == pytest.approx(mean(times))
    assert point.step_s.sd == pytest.approx(stdev(times))
    assert point.step_s.se == pytest.approx(stdev(times) / math.sqrt(2))
    warm_ups = [run for run in golden.runs if run.warm_up]
    assert warm_ups
    assert sum(point.repeats for point in golden.configurations) == len(golden.runs) - len(warm_ups)


def test_efficiency_is_that_of_one_thread_over_as_many(golden):
    one, four = (row(golden.configurations, **MAPPING, occupancy="alone", threads=threads) for threads in (1, 4))
    assert four.efficiency.value == pytest.approx(one.step_s.value / 4 / four.step_s.value)
    assert four.efficiency.low < four.efficiency.value < four.efficiency.high
    assert (one.efficiency.value, one.efficiency.low) == (1.0, None)
    assert row(golden.configurations, **MAPPING, occupancy="full", threads=4).efficiency.value is None, (
        "one thread was not measured"
    )


def test_bindings_that_differ_in_boundary_and_memory_alone_are_points_of_their_own(golden):
    names = {point.binding for point in rows(golden.configurations, step="map_and_sort", threads=16)}
    assert names == {"compact", "scatter-numa-interleave"}


def test_the_law_that_was_put_in_is_found_again(golden):
    laws = recorded_studies.script("scaling").LAWS
    for law, step in ((laws[0], "map_and_sort"), (laws[3], "haplotype_caller")):
        fit = row(golden.fits, step=step, binding="compact", occupancy="alone")
        assert abs(fit.law.serial_fraction - law.serial) < 3 * fit.law.serial_fraction_se
        assert abs(fit.law.t1_s - law.t1_s) < 3 * fit.law.t1_se


def test_what_was_cut_off_is_named_and_in_no_figure(golden):
    assert golden.unfinished == ("map_and_sort-t8-scatter-numa-interleave-alone-r2",)
    point = row(golden.configurations, binding="scatter-numa-interleave", occupancy="alone", threads=8)
    assert (point.repeats, point.step_s.sd) == (1, None)


# ---- what is missing stays missing -------------------------------------------------------------------


def section(made, title):
    (found,) = (each for each in made.sections if each.title == title)
    return found


def some_run(folder, name="haplotype_caller-t2-compact-full-r1"):
    shutil.copytree(STUDY / name, folder / name)
    return folder / name


def change_ledger(path, **changes):
    lines = [json.loads(line) | changes for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize(("name", "figure"), [("wall_s", "step_s"), ("cpu_s", "cpu_s")])
def test_a_figure_that_one_copy_lacks_is_missing(tmp_path, name, figure):
    spec = some_run(tmp_path)
    change_ledger(spec / "copies/2/ledger.jsonl", **{name: None})
    run = row(scaling_results.read(tmp_path).runs)
    assert getattr(run, figure) is None
    assert run.makespan_s > 0


def test_records_of_another_run_in_a_ledger_are_left_out(tmp_path):
    spec = some_run(tmp_path)
    before = row(scaling_results.read(tmp_path).runs)
    ledger = spec / "copies/1/ledger.jsonl"
    own = ledger.read_text()
    ledger.write_text(own + json.dumps(json.loads(own) | {"run": "killed", "wall_s": 1e6, "id": "f" * 16}) + "\n")
    assert row(scaling_results.read(tmp_path).runs) == before


def test_one_thread_count_has_no_fit_and_two_have_one_without_errors(tmp_path):
    some_run(tmp_path, "haplotype_caller-t1-compact-alone-r1")
    assert scaling_results.read(tmp_path).fits == []
    some_run(tmp_path, "haplotype_caller-t4-compact-alone-r1")
    found = scaling_results.read(tmp_path)
    fit = row(found.fits)
    assert (fit.law.thread_counts, fit.law.serial_fraction_se) == (2, None)
    (line,) = section(scaling_page.find(found, {}), "haplotype_caller").lines
    assert line.endswith("met exactly by 2 thread counts, so without an uncertainty, which takes 3.")


def test_processors_are_not_pooled(tmp_path):
    for name, sku in (("r1", "A"), ("r2", "B")):
        spec = some_run(tmp_path, f"haplotype_caller-t1-compact-alone-{name}")
        record = json.loads((spec / "run.json").read_text())
        record["host"]["sku"] = sku
        (spec / "run.json").write_text(json.dumps(record))
    found = scaling_results.read(tmp_path)
    assert [(point.sku, point.repeats) for point in found.configurations] == [("A", 1), ("B", 1)]
    assert any("different machines" in notice.text for notice in scaling_page.find(found, {}).notices)


def test_a_record_in_another_runs_folder_is_refused(tmp_path):
    some_run(tmp_path).rename(tmp_path / "other")
    with pytest.raises(RecordError, match="it is of the run haplotype_caller-t2"):
        scaling_results.read(tmp_path)


def test_time_of_shards_is_when_any_of_them_ran(golden):
    (copy, *_) = [read_ledger(path) for path in STUDY.glob("base_recalibration-t1-compact-alone-r1/copies/1/*.jsonl")]
    first, second = copy
    assert scaling_results.step_s(copy, scattered=False) == pytest.approx(first.wall_s + second.wall_s)
    assert scaling_results.step_s([first, replace(second, start=first.start, end=first.end)], True) == pytest.approx(
        first.wall_s
    )
    assert scaling_results.step_s([first, replace(second, end=None)], scattered=True) is None


# ---- which threads is best -----------------------------------------------------------------------------


def point(threads, value, se=None, step="map_and_sort", goal=THROUGHPUT):
    names = ("step_s", "makespan_s", "steps_per_hour", "cpu_s")
    measured = Estimate(value, n=3) if value is None or se is None else by_student(value, se, 3)
    figures = dict.fromkeys(names, Estimate()) | {goal.column: measured}
    unknown = dict.fromkeys(("peak_rss_mib", "peak_memory_mib")) | {"efficiency": Estimate()}
    fixed = {"pipeline": "germline", "step": step, "binding": "compact", "scatter": "none", "occupancy": goal.occupancy}
    counts = {"threads": threads, "copies": 16 // threads, "repeats": 3}
    return ScalingConfiguration(**fixed, **counts, sku="A\nB", machine=1, **figures, **unknown)


@pytest.mark.parametrize(
    ("figures", "threads"),
    [
        ({1: (10.0, 0.1), 2: (12.0, 0.1), 4: (11.0, 0.1)}, 2),
        ({1: (11.9, 0.1), 2: (12.0, 0.1), 4: (11.0, 0.1)}, 1),  # within the standard error of the difference
        ({1: (11.8, 0.1), 2: (12.0, 0.1)}, 2),  # 0.2 is more than 0.14
        ({1: (12.0, None), 2: (12.1, None)}, 2),  # of one repeat each no error is known
        ({1: (12.0, None), 2: (12.0, None)}, 1),
        ({1: (None, None), 2: (3.0, None)}, 2),
    ],
)
def test_the_best_thread_count_is_the_least_within_the_standard_error(figures, threads):
    most = [point(threads, *figure) for threads, figure in figures.items()]
    assert profiles.best(most, THROUGHPUT).threads == threads
    least = [point(n, value and 24 - value, se, goal=SINGLE) for n, (value, se) in figures.items()]
    assert profiles.best(least, SINGLE).threads == threads


@pytest.mark.deep
@given(st.lists(st.tuples(st.floats(1, 100), st.floats(0, 10)), min_size=1, max_size=6))
def test_what_is_chosen_is_never_beaten_by_more_than_the_error(figures):
    points = [point(2**at, *figure) for at, figure in enumerate(figures)]
    chosen = profiles.best(points, THROUGHPUT)
    top = max(points, key=lambda one: one.steps_per_hour.value)
    error = math.hypot(top.steps_per_hour.se, chosen.steps_per_hour.se)
    assert chosen is top or top.steps_per_hour.value - chosen.steps_per_hour.value <= error


def test_nothing_is_chosen_where_nothing_was_measured():
    assert profiles.best([point(1, None)], THROUGHPUT) is None
    assert profiles.profile([point(1, 10.0)], SINGLE, "compact", "none") == ""
    assert profiles.profile([point(1, 10.0)], THROUGHPUT, "scatter", "none") == ""


def test_a_profile_sets_the_threads_of_all_rules_of_a_step_and_says_from_what():
    points = [point(1, 10.0, 0.1), point(2, 12.0, 0.1), point(1, 3.0, 0.1, step="base_recalibration")]
    text = profiles.profile(points, THROUGHPUT, "compact", "none")
    assert yaml.safe_load(text) == {
        "set-threads": {
            **dict.fromkeys(("map_and_sort", "take_alignment", "trim"), 2),
            **dict.fromkeys(("base_recalibrator", "base_recalibration"), 1),
        }
    }
    assert "  # map_and_sort: 12.0 ± 0.4 an hour, 8 at once, 3 repeats; tried: 1, 2\n" in text
    assert "# A B, germline, binding compact, steps run whole.\n" in text, "no name breaks out of its line"


@pytest.mark.deep
def test_snakemake_accepts_the_profiles(golden, cohort, tmp_path):
    """And gives the rules these threads: beside the workflow, and in the place of its profile."""
    for goal, threads in ((THROUGHPUT, 4), (SINGLE, 16)):
        profile = (tmp_path / goal.path).parent
        profile.mkdir()
        (tmp_path / goal.path).write_text(profiles.profile(golden.configurations, goal, "compact", "none"))
        for option in ("--workflow-profile", "--profile"):
            ran = cohort.snakemake(option, str(profile), "--cores", "16", "--dry-run", "results/map_and_sort/S1/L1.bam")
            assert ran.exit_code == 0, ran.output
            assert f"    threads: {threads}" in ran.lines


@pytest.mark.deep
def test_figures_have_what_their_description_says(golden):
    findings = scaling_page.find(golden, {})
    shown = [shown for section in findings.sections for shown in section.figures]
    drawn = [one.drawing for one in shown if one.drawing]
    assert [drawing.name for drawing in drawn] == [
        *("map_and_sort-seconds", "map_and_sort-hourly", "haplotype_caller-seconds", "haplotype_caller-hourly")
    ]
    assert "threads" in drawn[0].svg
    assert "No curve over threads: one number of threads was measured." in [one.note for one in shown]


@pytest.mark.deep
def test_names_of_users_are_text_on_the_page(golden):
    nasty = "<script>alert(1)</script> a | b `c`"
    records = tuple(replace(record, host=replace(record.host, cpu_model=nasty)) for record in golden.records)
    html = render(scaling_page.find(replace(golden, records=records), {}))
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
