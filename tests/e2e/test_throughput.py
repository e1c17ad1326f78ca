"""A study's plan, its order and its resumption; runs are made up, no workflow runs."""

import json
import os
import subprocess
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta

import pytest
import yaml

from gpd.errors import GpdError
from gpd.execution import run_lock
from gpd.lab import earlier_runs, preparation, provenance, runner, single_run, study, study_plan
from gpd.lab.snakemake_process import StudyRunError
from gpd.lab.study import StudyError
from gpd.lab.study_state import StudyState
from gpd.machines import launcher
from gpd.records.run import JobNames, RecordError, Settings
from gpd.records.run_spec import CurveKey
from gpd.tables import collect

pytestmark = pytest.mark.e2e  # many processes: each plan asks the workflow for its configuration

BEGIN = datetime(2026, 11, 20, 12, tzinfo=UTC)
SETTINGS = Settings(
    config_digest="c",
    reference_digest="r",
    workflow_digest="w",
    environments_digest="e",
    tools={"bwa": "0.7.17"},
    environment={},
)
OTHER = {
    **{"tools": {"bwa": "0.7.18"}, "environment": {"OMP_NUM_THREADS": "4"}},
    **{"profile_digest": "other", "binding": {"smt": True}, "job_names": JobNames(wildcard="id")},
}
LINE = CurveKey("germline", "shared", "compact")


@pytest.fixture
def settings(tmp_path):
    """The settings of a study of six samples on four cores; change and write them with plan_of()."""
    write_pool(tmp_path / "pool", {}, [(f"S{number}", "") for number in range(1, 7)])
    return {
        "name": "study",
        "directory": str(tmp_path / "runs"),
        "pipelines": {"germline": {"directory": str(tmp_path / "pool")}},
        "concurrent_samples": [1, 2],
        "repeats": 2,
        "warm_up": 1,
        "cores": 4,
    }


def write_pool(folder, config, samples):
    (folder / "config").mkdir(parents=True)
    (folder / "config/config.yaml").write_text(
        yaml.safe_dump({"reference": {"fasta": "genome.fa"}, "known_sites": ["known.vcf"], **config})
    )
    rows = "".join(f"{name}\t{condition}\n" for name, condition in samples)
    (folder / "config/samples.tsv").write_text(f"sample_name\tcondition\n{rows}")
    rows = "".join(f"{name}\tL1\t{name}_1.fq\t{name}_2.fq\n" for name, _ in samples)
    (folder / "config/units.tsv").write_text(f"sample_name\tunit_name\tfq1\tfq2\n{rows}")


def plan_of(tmp_path, settings, **changes):
    path = tmp_path / "throughput.yaml"
    path.write_text(yaml.safe_dump(settings | changes))
    return study_plan.make_plan(path)


def test_a_study_with_and_without_smt_takes_cores_and_their_threads(tmp_path, settings, monkeypatch):
    monkeypatch.setattr(study_plan.launcher, "usable_cores", lambda smt: 192 if smt else 128)
    plan = plan_of(tmp_path, settings, cores=None, smt=[False, True], warm_up=0, repeats=1)
    assert (plan.cores, plan.too_many) == (128, None)
    assert {spec.binding: spec.cores for spec in plan.specs} == {"compact-nosmt": 128, "compact-smt": 192}


def test_smt_is_refused_where_no_core_has_a_second_thread(tmp_path, settings, monkeypatch):
    monkeypatch.setattr(study_plan.launcher, "usable_cores", lambda smt: 128)
    with pytest.raises(StudyError, match="smt: on: no core has a second thread that may be used here"):
        plan_of(tmp_path, settings, smt=[False, True])
    assert plan_of(tmp_path, settings, smt=[False]).specs[0].binding == "compact-nosmt"
    of_another = plan_of(tmp_path, settings, smt=[True], threads_per_core=2)
    assert {spec.cores for spec in of_another.specs} == {8}


def test_two_bindings_that_come_to_the_same_are_refused(tmp_path, settings):
    twice = ["scatter", "compact", {"policy": "compact", "boundary": "l3"}]  # l3 is usual
    with pytest.raises(StudyError, match="bindings: compact and compact-l3 are the same: name one"):
        plan_of(tmp_path, settings, bindings=twice)
    told = plan_of(tmp_path, settings, bindings=["compact", {"policy": "compact", "boundary": "numa"}], warm_up=0)
    assert {spec.binding for spec in told.specs} == {"compact", "compact-numa"}


def attempt(sample, wall_s, cpu_s=1.0, step="haplotype_caller", run="run"):
    return {
        **{"schema": 1, "run": run, "rule": step, "step": step, "wildcards": {"sample": sample}, "threads": 1},
        **{"start": BEGIN.isoformat(), "end": (BEGIN + timedelta(seconds=wall_s)).isoformat(), "wall_s": wall_s},
        **{"cpu_s": cpu_s, "exit_code": 0, "message": None, "log": f"logs/{sample}.log"},
    }


def made_with(spec, source=None):
    return {"profile_digest": "p", "binding": {"smt": False}}


def write_spec(folder, spec, makespan_s=10.0, wall_s=12.0, sku="8358"):
    """What a run leaves whose jobs took that long, each sample one."""
    place, wall_s = folder / spec.name, max(wall_s, makespan_s)
    place.mkdir(parents=True)
    lines = [json.dumps(attempt(sample, makespan_s)) for sample in spec.samples]
    (place / "ledger.jsonl").write_text("".join(f"{line}\n" for line in lines))
    record = {
        **{"schema": 1, "run": "run", "spec": spec.to_dict(), "start": BEGIN.isoformat()},
        **{"end": (BEGIN + timedelta(seconds=wall_s)).isoformat(), "wall_s": wall_s, "host": {"sku": sku}},
        "processes": [{"directory": ".", "samples": list(spec.samples), "exit_code": 0}],
        "settings": asdict(SETTINGS),
        **made_with(spec),
    }
    (place / "run.json").write_text(json.dumps(record))


@pytest.fixture
def runs(monkeypatch, tmp_path):
    """Runs are made up in place of runs: the list of those that were, whose makespan grows from N = 3 on."""
    ran = []

    def run(spec, setup, changed):
        ran.append(spec.name)
        write_spec(setup.folder, spec, makespan_s=10.0 * max(1, spec.n - 2))

    monkeypatch.setattr(preparation, "prepare", lambda setup, cores, changed: None)
    monkeypatch.setattr(single_run, "run", run)
    monkeypatch.setattr(single_run, "made_with", made_with)
    monkeypatch.setattr(provenance, "settings", lambda source, dictionary: SETTINGS)
    monkeypatch.setattr(launcher, "jobs", list)
    return ran


class Told:
    """What a watcher is told."""

    def __init__(self):
        self.lines = []
        self.watcher = runner.StudyCallbacks(
            begin=lambda spec, title, state: self.lines.append(f"begin {title}"),
            changed=lambda sample, state: None,
            end=lambda spec, failed: self.lines.append(f"end {spec.name}"),
        )


SILENT = runner.StudyCallbacks(lambda spec, title, state: None, lambda sample, state: None, lambda spec, failed: None)


# ---- the plan ----------------------------------------------------------------------------------------


def test_a_plan_has_its_pools_and_its_runs(tmp_path, settings):
    plan = plan_of(tmp_path, settings)
    assert [member.name for member in plan.sources["germline"].members] == [f"S{number}" for number in range(1, 7)]
    assert plan.cores == 4
    assert len(plan.specs) == 1 + 2 * 2


def test_more_samples_than_the_pool_has(tmp_path, settings):
    with pytest.raises(StudyError) as error:
        plan_of(tmp_path, settings, concurrent_samples=[2, 9])
    assert str(error.value) == (
        f"{tmp_path / 'throughput.yaml'}: concurrent_samples: 9 is more than the 6 samples in the pool of germline"
    )


def tuxedo(tmp_path, settings, config, **changes):
    folder = tmp_path / "tuxedo"
    write_pool(folder, config, [("A1", "a"), ("A2", "a"), ("B1", "b"), ("B2", "b")])
    return plan_of(tmp_path, settings, pipelines={"tuxedo": {"directory": str(folder)}}, **changes)


@pytest.mark.parametrize(
    ("changes", "starts"),
    [
        ({"concurrent_samples": [1, 2]}, ["concurrent_samples: tuxedo compares conditions, so list numbers from 2"]),
        (
            {"concurrent_samples": "saturation"},
            ["concurrent_samples: tuxedo compares conditions, so list numbers from 2"],
        ),
        (
            {"concurrent_samples": [2], "modes": ["shared", "independent"]},
            ["modes: independent runs take one sample each, and tuxedo compares conditions"],
        ),
        (
            {"concurrent_samples": [1, 5], "modes": ["independent"]},
            ["concurrent_samples: 5 is more than the 4", "modes: independent", "concurrent_samples: tuxedo compares"],
        ),
    ],
)
def test_a_comparison_of_conditions_needs_two_samples_a_run(tmp_path, settings, changes, starts):
    with pytest.raises(StudyError) as error:
        tuxedo(tmp_path, settings, {}, **changes)
    faults = [line.removeprefix(f"{tmp_path / 'throughput.yaml'}: ") for line in str(error.value).splitlines()]
    assert [fault[: len(start)] for fault, start in zip(faults, starts, strict=True)] == starts
    assert "stop_after: quantify" in faults[-1]


def test_what_stops_before_the_comparison_runs_with_any_number(tmp_path, settings):
    plan = tuxedo(tmp_path, settings, {"stop_after": "quantify"}, concurrent_samples=[1], modes=["independent"])
    assert {spec.n for spec in plan.specs} == {1}


def test_a_profile_that_is_not_there(tmp_path, settings):
    with pytest.raises(GpdError, match="profile profiles/fastest: no such folder"):
        plan_of(tmp_path, settings, profiles={"shared": "profiles/fastest"})


# ---- how long it takes -------------------------------------------------------------------------------


def estimates(plan):
    return {spec.n: seconds for spec, seconds in zip(plan.specs, StudyState(plan).estimates_s(plan.specs), strict=True)}


def test_without_any_run_nobody_knows_how_long_it_takes(tmp_path, settings):
    assert estimates(plan_of(tmp_path, settings)) == {1: None, 2: None}


def test_runs_that_have_ended_tell_it_better(tmp_path, settings):
    plan = plan_of(tmp_path, settings, concurrent_samples=[1, 2, 6], repeats=3, warm_up=0)
    of_two = [spec for spec in plan.specs if spec.n == 2]
    for spec, wall_s in zip(of_two, (10, 14, 30), strict=True):
        write_spec(plan.study.folder, spec, wall_s=wall_s)
    assert estimates(plan) == {1: 14, 2: 14, 6: 42}
    other = replace(of_two[0], mode="independent")
    assert StudyState(plan).estimates_s([other]) == [None], "another mode tells nothing"


# ---- running -----------------------------------------------------------------------------------------


def test_each_run_runs_once_in_the_order_of_the_grid(tmp_path, settings, runs):
    plan, told = plan_of(tmp_path, settings), Told()
    runner.run(plan, told.watcher)
    assert runs == [spec.name for spec in plan.specs]
    assert told.lines[0] == "begin germline: indexes and dictionaries"
    assert told.lines[1:] == [line for spec in runs for line in (f"begin {spec}", f"end {spec}")]
    runner.run(plan_of(tmp_path, settings), SILENT)
    assert len(runs) == len(plan.specs), "a finished study runs nothing"


def test_what_was_interrupted_goes_on_where_it_was(tmp_path, settings, runs, monkeypatch):
    whole, fake = plan_of(tmp_path, settings), single_run.run

    def fail_at_the_third(spec, setup, changed):
        if len(runs) == 2:
            raise StudyRunError("no job ran")
        fake(spec, setup, changed)

    monkeypatch.setattr(single_run, "run", fail_at_the_third)
    with pytest.raises(StudyRunError):
        runner.run(whole, SILENT)
    monkeypatch.setattr(single_run, "run", fake)
    runner.run(plan_of(tmp_path, settings), SILENT)
    assert runs == [spec.name for spec in whole.specs]


def hold(folder):
    return run_lock.hold(folder / runner.LOCK, folder, "gpd throughput run")


def test_only_one_at_a_time_is_at_work_on_a_study(tmp_path, settings, runs):
    plan = plan_of(tmp_path, settings)
    plan.study.folder.mkdir(parents=True)
    with hold(plan.study.folder), pytest.raises(GpdError) as error:
        runner.run(plan, SILENT)
    output = f"{plan.study.folder}: another gpd throughput run is at work here (pid {os.getpid()}, since 20"
    assert str(error.value).startswith(output)
    assert not runs
    runner.run(plan, SILENT)
    assert runs


def test_the_lock_is_held_as_long_as_anything_that_was_started_lives(tmp_path):
    """gpd may be killed while its Snakemake still ends: nobody else may start then."""
    with hold(tmp_path) as lock:
        left = subprocess.Popen(["sleep", "60"], pass_fds=[lock])
    try:
        with pytest.raises(GpdError), hold(tmp_path):
            pass
    finally:
        left.kill()
        left.wait()
    with hold(tmp_path) as lock:
        assert os.fstat(lock)


# ---- settings that changed ---------------------------------------------------------------------------


@pytest.mark.parametrize("wanted", [[1, 2], [2, 4]], ids=str)
def test_another_seed_is_refused_while_runs_of_the_old_one_are_there(tmp_path, settings, runs, wanted):
    runner.run(plan_of(tmp_path, settings), SILENT)
    with pytest.raises(StudyError) as error:
        plan_of(tmp_path, settings, seed=2, concurrent_samples=wanted)
    (line,) = str(error.value).splitlines()
    assert line.startswith(f"{tmp_path / 'runs/study/germline-n1-shared-compact-'}")
    assert "seed" in line
    plan_of(tmp_path, settings, seed=2, name="other")
    plan_of(tmp_path, settings, concurrent_samples=wanted)


def test_warm_up_runs_are_known_by_their_number(tmp_path, settings, runs):
    runner.run(plan_of(tmp_path, settings, warm_up=2), SILENT)
    assert plan_of(tmp_path, settings, warm_up=2).specs
    assert [spec for spec in runs if "warmup" in spec] == [
        "germline-n1-shared-compact-warmup1",
        "germline-n1-shared-compact-warmup2",
    ]


def test_runs_of_a_pipeline_that_is_left_out_now_stay_as_they_are(tmp_path, settings, runs):
    runner.run(plan_of(tmp_path, settings), SILENT)
    folder = tmp_path / "tuxedo"
    write_pool(folder, {"stop_after": "quantify"}, [("A1", "a"), ("B1", "b")])
    assert plan_of(tmp_path, settings, pipelines={"tuxedo": {"directory": str(folder)}}).specs


@pytest.mark.parametrize(("key", "word"), earlier_runs.MADE_WITH.items())
def test_runs_made_with_something_else_come_into_no_table_together(tmp_path, settings, runs, monkeypatch, key, word):
    runner.run(plan_of(tmp_path, settings, repeats=1), SILENT)
    before = list(runs)
    monkeypatch.setattr(
        provenance, "settings", lambda source, dictionary: replace(SETTINGS, **{key: OTHER.get(key, "other")})
    )
    runner.run(plan_of(tmp_path, settings, repeats=1), SILENT)  # nothing is left, so nothing is mixed
    with pytest.raises(StudyError, match=f"was made with another {word}: give the study another name"):
        runner.run(plan_of(tmp_path, settings), SILENT)
    assert runs == before


@pytest.mark.parametrize(("key", "word"), earlier_runs.MADE_WITH_BY_RUN.items())
def test_runs_bound_otherwise_or_of_another_profile_come_into_no_table_together(
    tmp_path, settings, runs, monkeypatch, key, word
):
    runner.run(plan_of(tmp_path, settings, repeats=1), SILENT)
    before = list(runs)
    monkeypatch.setattr(
        single_run,
        "made_with",
        lambda spec, source: made_with(spec) | {key: OTHER[key]},
    )
    runner.run(plan_of(tmp_path, settings, repeats=1), SILENT)
    other = "an unknown" if key == "job_names" else "another"  # our pipelines have none
    with pytest.raises(StudyError, match=f"was made with {other} {word}: give the study another name"):
        runner.run(plan_of(tmp_path, settings), SILENT)
    assert runs == before


@pytest.mark.parametrize(
    ("key", "output"),
    [
        ("profile_digest", "an unknown content of the profile"),
        ("settings", "an unknown configuration and an unknown r"),
    ],
)
def test_what_a_record_does_not_tell_is_not_taken_for_equal(tmp_path, settings, runs, key, output):
    """As where an earlier version of gpd ran the runs."""
    runner.run(plan_of(tmp_path, settings, repeats=1, warm_up=0), SILENT)
    for path in (tmp_path / "runs").rglob("run.json"):
        record = json.loads(path.read_text())
        del record[key]
        path.write_text(json.dumps(record))
    with pytest.raises(StudyError, match=f"was made with {output}"):
        runner.run(plan_of(tmp_path, settings), SILENT)


def test_a_record_that_is_none_is_named(tmp_path, settings, runs):
    runner.run(plan_of(tmp_path, settings, repeats=1, warm_up=0), SILENT)
    broken = tmp_path / "runs/study/germline-n2-shared-compact-r1/run.json"
    broken.write_text("{")
    with pytest.raises(RecordError, match="not JSON") as error:
        plan_of(tmp_path, settings)
    assert str(broken) in str(error.value)


# ---- the search for the saturation point -------------------------------------------------------------------------


def numbers(runs):
    """N and repeat of each run; 0: a warm-up."""
    names = (spec.removeprefix("germline-n").split("-shared-compact-") for spec in runs)
    return [(int(n), 0 if "warmup" in when else int(when[1:])) for n, when in names]


def test_the_search_doubles_narrows_and_ends(tmp_path, settings, runs):
    """The makespan is 10 s up to N = 3 and grows from there by 10 s a sample: N = 3 is best.

    It seeks with one run an N; then N = 3 and its neighbours are repeated in one shuffled block, which alone counts.
    """
    runner.run(plan_of(tmp_path, settings, concurrent_samples="saturation"), SILENT)
    sought, measured = runs[1:5], numbers(runs[5:])
    assert sought == [f"germline-n{n}-shared-compact-seek" for n in (1, 2, 4, 3)]
    assert sorted(measured) == [(n, repeat) for n in (2, 3, 4) for repeat in (1, 2)]
    assert [repeat for _, repeat in measured] == [1, 1, 1, 2, 2, 2]
    tables = collect.collect(tmp_path / "runs/study")
    assert {run.run for run in tables.runs if run.seeking} == set(sought)
    assert [(point.n, point.repeats) for point in tables.configurations] == [(2, 2), (3, 2), (4, 2)]
    runner.run(plan_of(tmp_path, settings, concurrent_samples="saturation"), SILENT)
    assert len(runs) == 11, "a search that has ended runs nothing"


def test_the_block_of_a_search_is_shuffled_over_n_modes_and_bindings(tmp_path, settings, runs):
    changes = {"modes": ["shared", "independent"], "bindings": ["compact", "scatter"], "repeats": 4}
    runner.run(plan_of(tmp_path, settings, concurrent_samples="saturation", **changes), SILENT)
    block = [name.rpartition("-r") for name in runs if "-r" in name]
    rounds = [[name for name, _, repeat in block if repeat == str(number)] for number in range(1, 5)]
    assert [name for one in rounds for name in one] == [name for name, _, _ in block], "repeat by repeat"
    assert len({frozenset(one) for one in rounds}) == 1
    assert len(rounds[0]) == 9
    assert len({tuple(one) for one in rounds}) == 4, "each in an order of its own"
    assert sorted(rounds[0]) not in rounds


def test_repeats_that_no_search_asked_for_are_refused(tmp_path, settings, runs):
    """As of an earlier version, which sought with repeats, one N after the other."""
    runner.run(plan_of(tmp_path, settings), SILENT)
    with pytest.raises(StudyError, match="germline-n1-shared-compact-r1: no search asked for it: its N was listed, or"):
        plan_of(tmp_path, settings, concurrent_samples="saturation")


@pytest.mark.parametrize("kept", range(11))
def test_an_interrupted_search_goes_on_as_if_it_had_not_been(tmp_path, settings, runs, kept):
    runner.run(plan_of(tmp_path, settings, concurrent_samples="saturation"), SILENT)
    whole = list(runs)
    for spec in whole[kept:]:
        (tmp_path / "runs/study" / spec).rename(tmp_path / spec)
    runs.clear()
    runner.run(plan_of(tmp_path, settings, concurrent_samples="saturation"), SILENT)
    assert runs == whole[kept:]


def test_each_curve_has_its_search_and_the_pipeline_its_warm_up(tmp_path, settings, runs):
    both = {"concurrent_samples": "saturation", "modes": ["shared", "independent"], "repeats": 1}
    runner.run(plan_of(tmp_path, settings, **both), SILENT)
    searched = ["n1", "n2", "n4", "n3"]
    assert runs[:9] == [
        "germline-n1-shared-compact-warmup1",
        *(f"germline-{n}-shared-compact-seek" for n in searched),
        *(f"germline-{n}-independent-none-seek" for n in searched),
    ]
    assert {name.removesuffix("-r1") for name in runs[9:]} == {
        f"germline-n{n}-{curve}" for n in (2, 3, 4) for curve in ("shared-compact", "independent-none")
    }


def test_a_study_of_two_machines_is_none(tmp_path, settings, runs, monkeypatch):
    plan = plan_of(tmp_path, settings, concurrent_samples="saturation", repeats=1)
    first, second = (study.seek(plan.study, LINE, n, plan.sources["germline"].members, plan.cores) for n in (1, 2))
    write_spec(plan.study.folder, first)
    write_spec(plan.study.folder, second, sku="8352Y")
    with pytest.raises(StudyError, match="its runs ran on different machines: SKU: 8358 and 8352Y"):
        runner.run(plan, SILENT)
