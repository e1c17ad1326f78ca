"""Streams: what they are by a study's settings, how they are served, what their records come to, and what checks."""

import json
import re
import time
from dataclasses import replace
from datetime import timedelta
from itertools import islice

import pytest
import streaming
import yaml
from msgspec.structs import replace as replace_row
from packing import SETTINGS, START, recomputed, write_study
from recording import write_pool
from test_single_run import run, setup, snakemake  # noqa: F401

from gpd.errors import GpdError
from gpd.lab import stream_workload as stream_of_runs
from gpd.lab import study_plan, study_runs
from gpd.lab.study_state import StudyPlan, StudyState
from gpd.packages import checks, evidence, pack, plan_checks
from gpd.packages.check_verdicts import FAILS, HOLDS
from gpd.records.run_spec import CurveKey
from gpd.records.study import Pool, Sample, Study
from gpd.statistics import stream_rate
from gpd.statistics.estimates import Estimate
from gpd.statistics.stream_rate import Sojourn, Window
from gpd.tables import collect

POOL = [Sample(name) for name in ("S1", "S2", "S3")]
LINE = CurveKey("germline", "stream", "compact")
STREAMS = Study(
    pipelines={"germline": Pool()},
    modes=("stream",),
    concurrent_samples=(2,),
    window="10m",
    window_warm_up="1m",
)


# ---- figures -----------------------------------------------------------------------------------------


def ended(*moments, succeeded=True):
    return [Sojourn(moment - 10, moment, succeeded) for moment in moments]


def test_a_rate_is_of_what_succeeds_and_ends_in_the_window_and_its_interval_of_batches():
    window = Window(100, 200)
    found = stream_rate.daily([*ended(100, 110, 120, 160, 200, 201), *ended(150, succeeded=False)], window, n=2)
    assert found.value == pytest.approx(86400 * 4 / 100)
    # two batches of 50 s: 110 and 120; 160 and 200
    assert (found.n, found.sd) == (2, 0)
    uneven = stream_rate.daily(ended(110, 120, 130, 160), window, n=2)
    assert uneven.value == found.value and uneven.sd == pytest.approx(86400 / 50 * 2**0.5)
    assert uneven.half_width == pytest.approx(12.7062 * 86400 / 50, rel=1e-4)


def test_so_few_completions_have_no_interval():
    few = stream_rate.daily(ended(110, 120, 130), Window(100, 200), n=2)
    assert (few.value, few.n, few.half_width) == (86400 * 3 / 100, 1, None)
    assert stream_rate.daily([], Window(100, 200), n=2).value == 0


def test_no_more_batches_than_help():
    assert stream_rate.daily(ended(*range(1, 1001)), Window(0, 1000), n=2).n == stream_rate.MOST_BATCHES


def test_all_are_busy_where_n_are_at_work():
    found = [Sojourn(started, over, True) for started, over in ((0, 60), (10, 40), (40, 90), (85, 120))]
    # two at work: 10 to 60, and 85 to 90
    assert stream_rate.busy_share(found, Window(0, 100), n=2) == pytest.approx(0.55)
    assert stream_rate.quantile([4, 1, 3, 2], 0.5) == 2.5 and stream_rate.quantile([], 0.5) is None


# ---- what they are -----------------------------------------------------------------------------------


def test_a_stream_is_run_once_for_each_n():
    (full,) = study_runs.streams(STREAMS, "germline", POOL, 4)
    assert full.name == "germline-n2-stream-compact-full"
    assert (full.n, full.samples) == (2, ("S1", "S2", "S3"))
    assert (full.stream.warm_up_s, full.stream.window_s, full.profile) == (60, 600, "profiles/throughput")
    assert not list(study_runs.streams(replace(STREAMS, modes=("shared",)), "germline", POOL, 4))


def test_samples_are_drawn_again_and_again_each_once_before_any_twice():
    spec = study_runs.stream(STREAMS, LINE, 2, POOL, 4)
    rounds = list(islice(study_runs.drawn(spec), 9))
    assert [sorted(rounds[at : at + 3]) for at in (0, 3, 6)] == [["S1", "S2", "S3"]] * 3
    assert rounds == list(islice(study_runs.drawn(spec), 9))
    assert list(islice(study_runs.drawn(replace(spec, seed=2)), 9)) != rounds


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"window": None}, "window: mode stream needs one, such as 30m"),
        ({"concurrent_samples": "saturation"}, "mode stream needs a list, such as [4]"),
        ({"modes": ["shared"]}, "window: it goes with mode stream"),
        ({"modes": ["cluster"]}, "modes: ['cluster']: must be a list of shared, independent and stream"),
        ({"arrivals": {"rate": [0.5]}}, "settings: unknown: arrivals; known are "),
        ({"window": "10 minutes"}, "window: '10 minutes': must be a time such as 30m"),
        ({"concurrent_samples": [4]}, "mode stream: 4 samples at once are more than the 2 cores"),
    ],
)
def test_nonsense_is_refused_in_one_line(tmp_path, changes, line):
    with pytest.raises(GpdError, match=re.escape(line)) as refused:
        study_plan.make_plan(settings(tmp_path, **changes))
    assert len(str(refused.value).splitlines()) == 1


def test_a_name_that_has_no_room_for_a_number_is_refused_before_anything_runs(tmp_path):
    path = settings(tmp_path)
    for table in ("samples", "units"):
        sheet = tmp_path / "config" / f"{table}.tsv"
        sheet.write_text(sheet.read_text().replace("S1", "S" + 9 * "ABCDEFGHIJ"))
    with pytest.raises(
        GpdError, match=r"a name of 91 characters: mode stream adds .* so that 90 are the most"
    ) as refused:
        study_plan.make_plan(path)
    assert len(str(refused.value).splitlines()) == 1


def test_a_window_that_will_tell_too_little_is_said_in_the_plan(streamed):
    """Its batches took 2 samples through in some minutes."""
    recorded = collect.read_study_record(streamed).study
    plan = StudyPlan(replace(recorded, directory=str(streamed.parent), name=streamed.name), {}, 2)
    long, short = (replace(plan, study=replace(plan.study, window=window)) for window in ("500h", "1m"))
    assert not list(study_plan.short_windows(StudyState(long)))
    (line,) = study_plan.short_windows(StudyState(short))
    assert re.fullmatch(
        r"window: 1m holds about [\d.]+ samples of germline at the rate of the runs that have ended: "
        r"for an interval with 2 at once set [\d.,]+m or more",
        line,
    )


def settings(tmp_path, **changes):
    """The file of a study of streams of a pool that is not there."""
    write_pool(tmp_path, 2)
    given = {"directory": str(tmp_path / "runs"), "pipelines": {"germline": {"directory": str(tmp_path)}}, "cores": 2}
    given |= {"modes": ["stream"], "concurrent_samples": [2], "window": "10m"} | changes
    path = tmp_path / "throughput.yaml"
    path.write_text(yaml.safe_dump({key: value for key, value in given.items() if value is not None}))
    return path


# ---- how they are served -----------------------------------------------------------------------------


@pytest.fixture
def short(setup):  # noqa: F811
    """A stream of some seconds, of what stands in Snakemake's place."""
    settings = replace(STREAMS, window="0.05m", window_warm_up="0.005m")
    members = setup.source.members
    return study_runs.stream(settings, LINE, 2, members, 2)


@pytest.mark.deep
def test_a_full_stream_starts_a_sample_when_another_ends(short, setup, snakemake):  # noqa: F811
    snakemake("AT_START", "time.sleep(0.3)")
    record = run(short, setup)
    ways = [process["passage"] for process in record["processes"]]
    assert len(ways) > 4
    assert [way["copy_of"] for way in ways[:2]] == list(islice(study_runs.drawn(short), 2))
    assert len({process["samples"][0] for process in record["processes"]}) == len(ways)
    ends = sorted(way["ended_s"] for way in ways)
    for way, freed_s in zip(sorted(ways, key=lambda way: way["started_s"])[2:], ends, strict=False):
        assert freed_s <= way["started_s"]
    assert max(way["started_s"] for way in ways) < short.stream.end_s
    assert {output["samples"][0] for output in record["outputs"]} == {one["samples"][0] for one in record["processes"]}
    assert not list((setup.folder / short.name).rglob("results"))
    (row,) = collect.collect(setup.folder).streams
    assert row.failed == 0 and row.completed >= stream_rate.LEAST_ENDS and row.busy_share > 0.8


@pytest.mark.deep
def test_a_sample_that_fails_is_no_completion(short, setup, snakemake):  # noqa: F811
    first = study_runs.copy_name(next(study_runs.drawn(short)), 1)
    snakemake("FAILS", first)
    record = run(short, setup)
    tables = collect.collect(setup.folder)
    failed = next(sample for sample in tables.samples if sample.sample == first)
    assert (failed.succeeded, failed.failed_step) == (False, "map_and_sort")
    (row,) = tables.streams
    assert row.started == len(record["processes"]) and not tables.configurations


@pytest.mark.deep
def test_no_more_results_wait_for_their_digests_than_the_disk_was_asked_for(short, setup, snakemake, monkeypatch):  # noqa: F811
    asked, held, digest = [], [], stream_of_runs.snakemake_process.digests.outputs

    def room(found, samples, at_work, *_):
        asked.append((len(samples), at_work))

    def slow_digest(*arguments):
        time.sleep(0.3)
        held.append(len(list((setup.folder / short.name / "samples").glob("*/results"))))
        return digest(*arguments)

    monkeypatch.setattr(stream_of_runs.disk_room, "refuse_full", room)
    monkeypatch.setattr(stream_of_runs.snakemake_process.digests, "outputs", slow_digest)
    record = run(short, setup)
    assert len(record["processes"]) > 4 and asked == [(4, 2)]
    assert max(held) <= 4, "two in flight, and what two before them left"


@pytest.mark.deep
def test_a_window_in_which_next_to_nothing_ends_is_refused(short, setup, snakemake):  # noqa: F811
    snakemake("AT_START", "time.sleep(4)")
    with pytest.raises(GpdError, match=r"0 samples ended in its window of 3\.00 s: shorter than 3 samples"):
        run(short, setup)


# ---- what they come to -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def streamed(tmp_path_factory):
    """A study of a batch and of streams, of which every check holds."""
    return write_streams(tmp_path_factory.mktemp("streams") / "trusted", ("shared", "stream"))


def write_streams(path, modes, **settings):
    changed = {"modes": modes, "window": "10m", "window_warm_up": "1m"}
    changed |= {"profiles": SETTINGS.profiles | {"stream": "profiles/throughput"}}
    folder = write_study(path, **changed | settings)
    plan = collect.read_study_record(folder)
    specs = study_runs.streams(plan.study, "germline", plan.pools["germline"], plan.cores)
    for number, spec in enumerate(specs):
        streaming.write(folder, spec, START + timedelta(hours=5 + number))
    return folder


def test_the_figures_of_recorded_streams(streamed):
    tables = collect.collect(streamed)
    one, two = sorted(tables.streams, key=lambda row: row.n)
    # each server ends a sample every 30 s: 20 each in 10 minutes
    assert (one.completed, two.completed, two.failed, two.batches) == (20, 40, 0, 20)
    daily = two.genomes_per_day
    assert (one.genomes_per_day.value, daily.value, daily.low, daily.high) == pytest.approx((2880, 5760, 5760, 5760))
    assert (two.gigabases_per_day, two.human_30x_per_day) == pytest.approx((5760 * 93, 5760))
    assert (two.result_median_s, two.result_p95_s) == (30, 30)
    assert two.busy_share == pytest.approx(1)
    assert {row.mode for row in tables.configurations} == {"shared"}, "streams are on no curve of batches"
    assert [row.genomes_per_day for row in tables.runs if row.mode == "stream"] == [None] * 2


def verdicts(package):
    return {verdict.check: verdict for verdict in checks.judge(evidence.gather(package))}


@pytest.mark.deep
def test_every_check_holds_of_a_study_with_streams(streamed):
    found = verdicts(pack.make(streamed))
    assert {name: verdict.why for name, verdict in found.items() if verdict.state != HOLDS} == {}


@pytest.mark.deep
def test_checks_judge_a_study_of_streams_alone_by_what_streams_have(tmp_path):
    found = verdicts(pack.make(write_streams(tmp_path / "trusted", ("stream",))))
    assert {name: verdict.why for name, verdict in found.items() if verdict.state != HOLDS} == {}
    where = "germline N = 2 (stream, compact)"
    assert f"{where}: 20 batches of its window, 95% interval \u00b1 0%" in found["precision"].why
    assert found["duration"].why == ("the shortest run took 600 s, 40.0 s are needed",)
    short = verdicts(pack.make(write_streams(tmp_path / "short", ("stream",), precision=0.001)))
    assert short["duration"].state == FAILS and "600 s; 1,000 s are needed" in short["duration"].why[0]


@pytest.mark.deep
def test_checks_name_a_full_stream_whose_interval_is_wide(streamed):
    found = evidence.gather(pack.make(streamed)).study
    daily = Estimate(2880.0, high=5760.0, n=20)
    wide = [replace_row(row, genomes_per_day=daily) for row in found.tables.streams]
    wrong = plan_checks.precision(replace(found, tables=replace(found.tables, streams=wide)))
    assert wrong[0] == FAILS and len(wrong[1]) == 2
    assert wrong[1][0].endswith("95% interval \u00b1 100%; 2.5% is claimed")


FULL = "germline-n2-stream-compact-full"


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "change", "output"),
    [
        (FULL, lambda ways: ways[3].update(ended_s=ways[3]["ended_s"] - 20), "and for 15.0 s fewer were at work"),
        (FULL, lambda ways: ways[3].update(started_s=ways[3]["started_s"] - 20), "says 2 samples at once, and 3 were"),
        (FULL, lambda ways: ways[3].update(copy_of="HG001" if ways[3]["copy_of"] != "HG001" else "HG002"), "draws"),
    ],
)
def test_a_stream_that_was_tampered_with_is_refused(streamed, name, change, output):
    package = pack.make(streamed)
    record = json.loads(package.members[f"{name}/run.json"])
    change([process["passage"] for process in record["processes"]])
    members = package.members | {f"{name}/run.json": json.dumps(record).encode()}
    found = verdicts(recomputed(package, members))["at once"]
    assert found.state == FAILS and any(output in why for why in found.why), found.why


@pytest.mark.deep
def test_a_stream_that_was_dropped_is_missed(streamed):
    package = pack.make(streamed)
    members = {name: content for name, content in package.members.items() if not name.startswith(f"{FULL}/")}
    found = verdicts(recomputed(package, members))
    assert f"{FULL}: it is planned, and did not end" in found["complete"].why


@pytest.mark.deep
def test_streams_that_a_budget_did_not_buy_are_not_missing(streamed):
    package = pack.make(streamed)
    plan = json.loads(package.members["study.json"])
    members = {name: content for name, content in package.members.items() if not name.startswith(f"{FULL}/")}
    spent_s = sum(json.loads(content)["wall_s"] for name, content in members.items() if name.endswith("/run.json"))
    plan["study"]["budget"] = f"{spent_s / 60 - 0.1:.3f}m"
    members["study.json"] = json.dumps(plan).encode()
    found = verdicts(recomputed(package, members))["complete"]
    assert found.state == HOLDS and "ended within the budget of" in found.why[0]
