"""A study's plan, its order and its resumption; runs are made up, no workflow runs."""

import json
from dataclasses import replace

import pytest
from made_up import OWN, SETTINGS, SILENT, Lab, write_run
from recording import write_pool

from gpd.lab import earlier_runs, provenance, runner, single_run, study_plan, study_runs
from gpd.lab.study_runs import StudyError
from gpd.lab.study_state import StudyState
from gpd.records.run import JobNames
from gpd.records.run_spec import CurveKey
from gpd.tables.collect import CollectError

pytestmark = pytest.mark.e2e  # many processes: each plan asks the workflow for its configuration

OTHER = {
    **{"tools": {"bwa": "0.7.18"}, "environment": {"OMP_NUM_THREADS": "4"}},
    **{"profile_digest": "other", "binding": {"smt": True}, "job_names": JobNames(wildcard="id")},
}
LINE = CurveKey("germline", "shared", "compact")


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A study whose makespan is 10 s up to N = 3, and grows from there by 10 s a sample: N = 3 is best."""
    made = Lab(tmp_path, monkeypatch, concurrent_samples=[1, 2], repeats=2, warm_up=1)
    made.makespan_s = lambda spec: 10.0 * max(1, spec.n - 2)
    return made


def test_a_study_with_and_without_smt_takes_cores_and_their_threads(lab, monkeypatch):
    monkeypatch.setattr(study_plan.launcher, "usable_cores", lambda smt: 192 if smt else 128)
    plan = lab.plan(cores=None, smt=[False, True], warm_up=0, repeats=1)
    assert (plan.cores, plan.too_many) == (128, None)
    assert {spec.binding: spec.cores for spec in plan.specs} == {"compact-nosmt": 128, "compact-smt": 192}


def test_smt_is_refused_where_no_core_has_a_second_thread(lab, monkeypatch):
    monkeypatch.setattr(study_plan.launcher, "usable_cores", lambda smt: 128)
    with pytest.raises(StudyError, match="smt: on: no core has a second thread that may be used here"):
        lab.plan(smt=[False, True])
    assert lab.plan(smt=[False]).specs[0].binding == "compact-nosmt"
    of_another = lab.plan(smt=[True], threads_per_core=2)
    assert {spec.cores for spec in of_another.specs} == {8}


def test_two_bindings_that_come_to_the_same_are_refused(lab):
    twice = ["scatter", "compact", {"policy": "compact", "boundary": "l3"}]  # l3 is usual
    with pytest.raises(StudyError, match="bindings: compact and compact-l3 are the same: name one"):
        lab.plan(bindings=twice)
    told = lab.plan(bindings=["compact", {"policy": "compact", "boundary": "numa"}], warm_up=0)
    assert {spec.binding for spec in told.specs} == {"compact", "compact-numa"}


class Told:
    """What a watcher is told."""

    def __init__(self):
        self.lines = []
        self.watcher = runner.StudyCallbacks(
            begin=lambda spec, title, state: self.lines.append(f"begin {title}"),
            changed=lambda sample, state: None,
            end=lambda spec, failed: self.lines.append(f"end {spec.name}"),
        )


# ---- the plan ----------------------------------------------------------------------------------------


def test_a_plan_has_its_pools_and_its_runs(lab):
    plan = lab.plan()
    assert [member.name for member in plan.sources["germline"].members] == [f"S{number}" for number in range(1, 7)]
    assert plan.cores == 4
    assert len(plan.specs) == 1 + 2 * 2


def test_more_samples_than_the_pool_has(lab):
    with pytest.raises(StudyError) as error:
        lab.plan(concurrent_samples=[2, 9])
    assert str(error.value) == f"{lab.file}: concurrent_samples: 9 is more than the 6 samples in the pool of germline"


def tuxedo(lab, config, **changes):
    folder = lab.folder / "tuxedo"
    write_pool(folder, [("A1", "a"), ("A2", "a"), ("B1", "b"), ("B2", "b")], **config)
    return lab.plan(pipelines={"tuxedo": {"directory": str(folder)}}, **changes)


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
def test_a_comparison_of_conditions_needs_two_samples_a_run(lab, changes, starts):
    with pytest.raises(StudyError) as error:
        tuxedo(lab, {}, **changes)
    faults = [line.removeprefix(f"{lab.file}: ") for line in str(error.value).splitlines()]
    assert [fault[: len(start)] for fault, start in zip(faults, starts, strict=True)] == starts
    assert "stop_after: quantify" in faults[-1]


def test_what_stops_before_the_comparison_runs_with_any_number(lab):
    plan = tuxedo(lab, {"stop_after": "quantify"}, concurrent_samples=[1], modes=["independent"])
    assert {spec.n for spec in plan.specs} == {1}


# ---- how long it takes -------------------------------------------------------------------------------


def estimates(plan):
    return {spec.n: seconds for spec, seconds in zip(plan.specs, StudyState(plan).estimates_s(plan.specs), strict=True)}


def test_runs_that_have_ended_tell_it_better(lab):
    plan = lab.plan(concurrent_samples=[1, 2, 6], repeats=3, warm_up=0)
    of_two = [spec for spec in plan.specs if spec.n == 2]
    for spec, wall_s in zip(of_two, (10, 14, 30), strict=True):
        write_run(plan.study.folder, spec, wall_s=wall_s)
    assert estimates(plan) == {1: 14, 2: 14, 6: 42}
    other = replace(of_two[0], mode="independent")
    assert StudyState(plan).estimates_s([other]) == [None], "another mode tells nothing"


# ---- running -----------------------------------------------------------------------------------------


def test_each_run_runs_once_in_the_order_of_the_grid(lab):
    plan, told = lab.plan(), Told()
    runner.run(plan, told.watcher)
    assert lab.ran == [spec.name for spec in plan.specs]
    assert told.lines[0] == "begin germline: indexes and dictionaries"
    assert told.lines[1:] == [line for spec in lab.ran for line in (f"begin {spec}", f"end {spec}")]
    lab.run()
    assert len(lab.ran) == len(plan.specs), "a finished study runs nothing"


# ---- settings that changed ---------------------------------------------------------------------------


@pytest.mark.parametrize("wanted", [[1, 2], [2, 4]], ids=str)
def test_another_seed_is_refused_while_runs_of_the_old_one_are_there(lab, wanted):
    lab.run()
    with pytest.raises(StudyError) as error:
        lab.plan(seed=2, concurrent_samples=wanted)
    (line,) = str(error.value).splitlines()
    assert line.startswith(f"{lab.folder / 'runs/study/germline-n1-shared-compact-'}")
    assert "seed" in line
    lab.plan(seed=2, name="other")
    lab.plan(concurrent_samples=wanted)


def test_warm_up_runs_are_known_by_their_number(lab):
    lab.run(warm_up=2)
    assert lab.plan(warm_up=2).specs
    assert [spec for spec in lab.ran if "warmup" in spec] == [
        "germline-n1-shared-compact-warmup1",
        "germline-n1-shared-compact-warmup2",
    ]


def test_runs_of_a_pipeline_that_is_left_out_now_stay_as_they_are(lab):
    lab.run()
    folder = lab.folder / "tuxedo"
    write_pool(folder, [("A1", "a"), ("B1", "b")], stop_after="quantify")
    assert lab.plan(pipelines={"tuxedo": {"directory": str(folder)}}).specs


@pytest.mark.parametrize(("key", "word"), earlier_runs.MADE_WITH.items())
def test_runs_made_with_something_else_come_into_no_table_together(lab, monkeypatch, key, word):
    lab.run(repeats=1)
    before = list(lab.ran)
    monkeypatch.setattr(
        provenance, "settings", lambda source, dictionary: replace(SETTINGS, **{key: OTHER.get(key, "other")})
    )
    lab.run(repeats=1)  # nothing is left, so nothing is mixed
    with pytest.raises(StudyError, match=f"was made with another {word}: give the study another name"):
        lab.run()
    assert lab.ran == before


@pytest.mark.parametrize(("key", "word"), earlier_runs.MADE_WITH_BY_RUN.items())
def test_runs_bound_otherwise_or_of_another_profile_come_into_no_table_together(lab, monkeypatch, key, word):
    lab.run(repeats=1)
    before = list(lab.ran)
    monkeypatch.setattr(single_run, "made_with", lambda spec, source: OWN | {key: OTHER[key]})
    lab.run(repeats=1)
    other = "an unknown" if key == "job_names" else "another"  # our pipelines have none
    with pytest.raises(StudyError, match=f"was made with {other} {word}: give the study another name"):
        lab.run()
    assert lab.ran == before


@pytest.mark.parametrize(
    ("key", "output"),
    [
        ("profile_digest", "an unknown content of the profile"),
        ("settings", "an unknown configuration and an unknown r"),
    ],
)
def test_what_a_record_does_not_tell_is_not_taken_for_equal(lab, key, output):
    lab.run(repeats=1, warm_up=0)
    for path in (lab.folder / "runs").rglob("run.json"):
        record = json.loads(path.read_text())
        del record[key]
        path.write_text(json.dumps(record))
    with pytest.raises(StudyError, match=f"was made with {output}"):
        lab.run()


# ---- the search for the saturation point -------------------------------------------------------------------------


def numbers(runs):
    """N and repeat of each run; 0: a warm-up."""
    names = (spec.removeprefix("germline-n").split("-shared-compact-") for spec in runs)
    return [(int(n), 0 if "warmup" in when else int(when[1:])) for n, when in names]


def test_the_search_doubles_narrows_and_ends(lab):
    """The makespan is 10 s up to N = 3 and grows from there by 10 s a sample: N = 3 is best.

    It seeks with one run an N; then N = 3 and its neighbours are repeated in one shuffled block, which alone counts.
    """
    tables = lab.run(concurrent_samples="saturation")
    sought, measured = lab.ran[1:5], numbers(lab.ran[5:])
    assert sought == [f"germline-n{n}-shared-compact-seek" for n in (1, 2, 4, 3)]
    assert sorted(measured) == [(n, repeat) for n in (2, 3, 4) for repeat in (1, 2)]
    assert [repeat for _, repeat in measured] == [1, 1, 1, 2, 2, 2]
    assert {run.run for run in tables.runs if run.seeking} == set(sought)
    assert [(point.n, point.repeats) for point in tables.configurations] == [(2, 2), (3, 2), (4, 2)]
    lab.run(concurrent_samples="saturation")
    assert len(lab.ran) == 11, "a search that has ended runs nothing"


def test_the_block_of_a_search_is_shuffled_over_n_modes_and_bindings(lab):
    changes = {"modes": ["shared", "independent"], "bindings": ["compact", "scatter"], "repeats": 4}
    lab.run(concurrent_samples="saturation", **changes)
    block = [name.rpartition("-r") for name in lab.ran if "-r" in name]
    rounds = [[name for name, _, repeat in block if repeat == str(number)] for number in range(1, 5)]
    assert [name for one in rounds for name in one] == [name for name, _, _ in block], "repeat by repeat"
    assert len({frozenset(one) for one in rounds}) == 1
    assert len(rounds[0]) == 9
    assert len({tuple(one) for one in rounds}) == 4, "each in an order of its own"
    assert sorted(rounds[0]) not in rounds


def test_repeats_that_no_search_asked_for_are_refused(lab):
    lab.run()
    with pytest.raises(StudyError, match="germline-n1-shared-compact-r1: no search asked for it: its N was listed; "):
        lab.plan(concurrent_samples="saturation")


@pytest.mark.parametrize("kept", range(11))
def test_an_interrupted_search_goes_on_as_if_it_had_not_been(lab, kept):
    lab.run(concurrent_samples="saturation")
    whole = list(lab.ran)
    for spec in whole[kept:]:
        (lab.folder / "runs/study" / spec).rename(lab.folder / spec)
    lab.ran.clear()
    lab.run(concurrent_samples="saturation")
    assert lab.ran == whole[kept:]


def test_each_curve_has_its_search_and_the_pipeline_its_warm_up(lab):
    both = {"concurrent_samples": "saturation", "modes": ["shared", "independent"], "repeats": 1}
    lab.run(**both)
    searched = ["n1", "n2", "n4", "n3"]
    assert lab.ran[:9] == [
        "germline-n1-shared-compact-warmup1",
        *(f"germline-{n}-shared-compact-seek" for n in searched),
        *(f"germline-{n}-independent-none-seek" for n in searched),
    ]
    assert {name.removesuffix("-r1") for name in lab.ran[9:]} == {
        f"germline-n{n}-{curve}" for n in (2, 3, 4) for curve in ("shared-compact", "independent-none")
    }


def test_a_study_of_two_machines_is_none(lab):
    plan = lab.plan(concurrent_samples="saturation", repeats=1)
    first, second = (study_runs.seek(plan.study, LINE, n, plan.sources["germline"].members, plan.cores) for n in (1, 2))
    write_run(plan.study.folder, first)
    write_run(plan.study.folder, second, host={"sku": "8352Y"})
    with pytest.raises(CollectError, match="its runs ran on different machines: SKU: 8358 and 8352Y"):
        runner.run(plan, SILENT)
