"""Streams: what they are by a study's settings, how they are served, what their records come to, and what checks."""

import io
import json
import re
import time
from dataclasses import replace
from datetime import timedelta
from itertools import islice, pairwise

import pytest
import streaming
import yaml
from msgspec.structs import replace as replace_row
from packing import SETTINGS, START, recomputed, write_study
from recording import write_pool
from rich.console import Console
from test_single_run import run, setup, snakemake  # noqa: F401

from gpd.commands import report
from gpd.errors import GpdError
from gpd.lab import runner, study
from gpd.lab import stream as stream_of_runs
from gpd.lab.study import Sample
from gpd.packages import checks, evidence, pack, plan_checks
from gpd.packages.verdicts import FAILS, HOLDS
from gpd.records.run_spec import CurveKey
from gpd.records.study import Arrivals, Pool, Study
from gpd.statistics import stream
from gpd.statistics.stream import Sojourn, Window
from gpd.tables import collect

POOL = [Sample(name) for name in ("S1", "S2", "S3")]
LINE = CurveKey("germline", "stream", "compact")
STREAMS = Study(
    pipelines={"germline": Pool()},
    modes=("stream",),
    concurrent_samples=(2,),
    window="10m",
    window_warm_up="1m",
    arrivals=Arrivals(rate=(0.5,), per_day=(7200,)),
)


# ---- figures -----------------------------------------------------------------------------------------


def ended(*moments, succeeded=True):
    return [Sojourn(None, moment - 10, moment, succeeded) for moment in moments]


def test_a_rate_is_of_what_succeeds_and_ends_in_the_window_and_its_interval_of_batches():
    window = Window(100, 200)
    found = stream.daily([*ended(100, 110, 120, 160, 200, 201), *ended(150, succeeded=False)], window, n=2)
    assert found.mean == pytest.approx(86400 * 4 / 100)
    # two batches of 50 s: 110 and 120; 160 and 200
    assert (found.n, found.sd) == (2, 0)
    uneven = stream.daily(ended(110, 120, 130, 160), window, n=2)
    assert uneven.mean == found.mean and uneven.sd == pytest.approx(86400 / 50 * 2**0.5)
    assert uneven.half_width() == pytest.approx(12.7062 * 86400 / 50, rel=1e-4)


def test_so_few_completions_have_no_interval():
    few = stream.daily(ended(110, 120, 130), Window(100, 200), n=2)
    assert (few.mean, few.n, few.interval()) == (86400 * 3 / 100, 1, None)
    assert stream.daily([], Window(100, 200), n=2).mean == 0


def test_no_more_batches_than_help():
    assert stream.daily(ended(*range(1, 1001)), Window(0, 1000), n=2).n == stream.MOST_BATCHES


def arrive(*sojourns):
    return [Sojourn(arrived, started, over, True) for arrived, started, over in sojourns]


def test_busy_waiting_and_stable_by_hand():
    found = arrive((0, 0, 60), (10, 10, 40), (20, 40, 90), (85, 85, 120))
    window = Window(0, 100)
    # two at work: 10 to 60, and 85 to 90
    assert stream.busy_share(found, window, n=2) == pytest.approx(0.55)
    assert stream.idle_queue_share(found, window) == pytest.approx(0.8)
    assert [stream.waiting(found, moment) for moment in (5, 20, 39, 40)] == [0, 1, 1, 0]
    assert stream.is_stable(found, window)
    assert not stream.is_stable([*found, *arrive((50, 110, 140))], window)
    assert stream.quantile([4, 1, 3, 2], 0.5) == 2.5 and stream.quantile([], 0.5) is None


# ---- what they are -----------------------------------------------------------------------------------


def test_the_full_stream_comes_first_and_arrivals_are_shares_of_what_it_gave():
    before = list(study.streams(STREAMS, "germline", POOL, 4, (), {}))
    assert [spec.name for spec in before] == [
        "germline-n2-stream-compact-full",
        "germline-n2-stream-compact-daily7200",
    ]
    full, half, fixed = study.streams(STREAMS, "germline", POOL, 4, ("S2",), {(LINE, 2): 5760.0})
    assert half.name == "germline-n2-stream-compact-load50"
    assert (half.stream.share, half.stream.per_day, fixed.stream.per_day) == (0.5, 2880, 7200)
    assert (full.n, full.samples, full.left_out) == (2, ("S1", "S3"), ("S2",))
    assert (full.stream.warm_up_s, full.stream.window_s, full.profile) == (60, 600, "profiles/throughput")
    assert not list(study.streams(replace(STREAMS, modes=("shared",)), "germline", POOL, 4, (), {}))


def test_samples_are_drawn_again_and_again_each_once_before_any_twice():
    spec = study.stream(STREAMS, LINE, 2, POOL, 4)
    rounds = list(islice(study.drawn(spec), 9))
    assert [sorted(rounds[at : at + 3]) for at in (0, 3, 6)] == [["S1", "S2", "S3"]] * 3
    assert rounds == list(islice(study.drawn(spec), 9))
    assert list(islice(study.drawn(replace(spec, seed=2)), 9)) != rounds


def test_arrivals_are_random_at_their_rate_and_the_same_for_a_seed():
    window = study.stream(replace(STREAMS, window="100h"), LINE, 2, POOL, 4, per_day=2880.0)
    moments = list(study.arrivals_s(window, window.stream))
    gaps = [later - earlier for earlier, later in pairwise(moments)]
    assert moments == list(study.arrivals_s(window, window.stream)) and moments[-1] <= window.stream.end_s
    assert sum(gaps) / len(gaps) == pytest.approx(30, rel=0.05)
    beyond = sum(gap > 30 for gap in gaps) / len(gaps)
    assert beyond == pytest.approx(0.368, abs=0.02), "exponential: exp(-1) of the gaps are longer than their mean"
    twice = study.stream(replace(STREAMS, window="100h"), LINE, 2, POOL, 4, per_day=5760.0)
    assert next(study.arrivals_s(twice, twice.stream)) == pytest.approx(moments[0] / 2, abs=1e-6)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"window": None}, "window: mode stream needs one, such as 30m"),
        ({"concurrent_samples": "saturation"}, "mode stream needs a list, such as [4]"),
        ({"modes": ["shared"]}, "window: it goes with mode stream"),
        ({"modes": ["cluster", "stream"]}, "cluster stands alone"),
        ({"arrivals": {"rate": [1.5]}}, "arrivals: {'rate': [1.5]}: must be {rate: [0.5, 0.8]} in shares below 1"),
        ({"arrivals": {"rates": [0.5]}}, "arrivals: unknown: rates; known are rate, per_day"),
        ({"arrivals": {"per_day": [1]}}, "1.00 a day are 0.00694 samples in a window of 10m: from 3 to 10,000"),
        ({"window": "10 minutes"}, "window: '10 minutes': must be a time such as 30m"),
        ({"concurrent_samples": [4]}, "mode stream: 4 samples at once are more than the 2 cores"),
    ],
)
def test_nonsense_is_refused_in_one_line(tmp_path, changes, line):
    with pytest.raises(GpdError, match=re.escape(line)) as refused:
        runner.make_plan(settings(tmp_path, **changes))
    assert len(str(refused.value).splitlines()) == 1


def test_a_name_that_has_no_room_for_a_number_is_refused_before_anything_runs(tmp_path):
    path = settings(tmp_path)
    for table in ("samples", "units"):
        sheet = tmp_path / "config" / f"{table}.tsv"
        sheet.write_text(sheet.read_text().replace("S1", "S" + 9 * "ABCDEFGHIJ"))
    with pytest.raises(
        GpdError, match=r"a name of 91 characters: mode stream adds .* so that 90 are the most"
    ) as refused:
        runner.make_plan(path)
    assert len(str(refused.value).splitlines()) == 1


def test_a_window_that_will_tell_too_little_is_said_in_the_plan(streamed):
    """Its batches took 2 samples through in some minutes."""
    recorded = collect.read_study_record(streamed).study
    plan = runner.StudyPlan(replace(recorded, directory=str(streamed.parent), name=streamed.name), {}, 2)
    long, short = (replace(plan, study=replace(plan.study, window=window)) for window in ("500h", "1m"))
    assert not list(runner.short_windows(long))
    (line,) = runner.short_windows(short)
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
    return lambda **changed: study.stream(settings, LINE, 2, members, 2, **changed)


@pytest.mark.deep
def test_a_full_stream_starts_a_sample_when_another_ends(short, setup, snakemake):  # noqa: F811
    snakemake("AT_START", "time.sleep(0.3)")
    record = run(short(), setup)
    ways = [process["passage"] for process in record["processes"]]
    assert len(ways) > 4 and all(way["arrived_s"] is None for way in ways)
    assert [way["copy_of"] for way in ways[:2]] == list(islice(study.drawn(short()), 2))
    assert len({process["samples"][0] for process in record["processes"]}) == len(ways)
    ends = sorted(way["ended_s"] for way in ways)
    for way, freed_s in zip(sorted(ways, key=lambda way: way["started_s"])[2:], ends, strict=False):
        assert freed_s <= way["started_s"]
    assert max(way["started_s"] for way in ways) < short().stream.end_s
    assert {output["samples"][0] for output in record["outputs"]} == {one["samples"][0] for one in record["processes"]}
    assert not list((setup.folder / short().name).rglob("results"))
    (row,) = collect.collect(setup.folder).streams
    assert row.failed == 0 and row.completed >= stream.LEAST_ENDS and row.busy_share > 0.8


@pytest.mark.deep
def test_samples_that_arrive_are_served_in_their_order_and_a_failure_is_no_completion(short, setup, snakemake):  # noqa: F811
    spec = short(per_day=2 * 86400.0)
    first = study.copy_name(next(study.drawn(spec)), 1)
    snakemake("FAILS", first)
    record = run(spec, setup)
    ways = [process["passage"] for process in record["processes"]]
    assert [way["arrived_s"] for way in ways] == list(study.arrivals_s(spec, spec.stream))
    assert all(way["arrived_s"] <= way["started_s"] for way in ways)
    tables = collect.collect(setup.folder)
    failed = next(sample for sample in tables.samples if sample.sample == first)
    assert (failed.succeeded, failed.failed_step) == (False, "map_and_sort")
    (row,) = tables.streams
    assert row.started == len(ways) and row.wait_median_s is not None and not tables.configurations


@pytest.mark.deep
def test_no_more_results_wait_for_their_digests_than_the_disk_was_asked_for(short, setup, snakemake, monkeypatch):  # noqa: F811
    asked, held, digest = [], [], stream_of_runs.snakemake_process.digests.outputs

    def room(found, samples, at_work, *_):
        asked.append((len(samples), at_work))

    def slow_digest(*arguments):
        time.sleep(0.3)
        held.append(len(list((setup.folder / short().name / "samples").glob("*/results"))))
        return digest(*arguments)

    monkeypatch.setattr(stream_of_runs.disk, "refuse_full", room)
    monkeypatch.setattr(stream_of_runs.snakemake_process.digests, "outputs", slow_digest)
    record = run(short(), setup)
    assert len(record["processes"]) > 4 and asked == [(4, 2)]
    assert max(held) <= 4, "two in flight, and what two before them left"


def test_a_window_in_which_next_to_nothing_ends_is_refused(short, setup, snakemake):  # noqa: F811
    snakemake("AT_START", "time.sleep(4)")
    with pytest.raises(GpdError, match=r"0 samples ended in its window of 3\.00 s: shorter than 3 samples"):
        run(short(), setup)
    with pytest.raises(GpdError, match="0 samples would arrive in its window"):
        run(short(per_day=1.0), setup)


# ---- what they come to -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def streamed(tmp_path_factory):
    """A study of a batch and of streams, of which every check holds."""
    return write_streams(tmp_path_factory.mktemp("streams") / "trusted", ("shared", "stream"))


def write_streams(path, modes, **settings):
    changed = {"modes": modes, "window": "10m", "window_warm_up": "1m"}
    changed |= {"arrivals": Arrivals(rate=(0.5,)), "profiles": SETTINGS.profiles | {"stream": "profiles/throughput"}}
    folder = write_study(path, **changed | settings)
    plan = collect.read_study_record(folder)
    measured = {(CurveKey("germline", "stream", "compact"), n): 2880.0 * n for n in (1, 2)}
    specs = study.streams(plan.study, "germline", plan.pools["germline"], plan.cores, (), measured)
    for number, spec in enumerate(specs):
        streaming.write(folder, spec, START + timedelta(hours=5 + number))
    return folder


def test_the_figures_of_recorded_streams(streamed):
    tables = collect.collect(streamed)
    one, two, half_of_one, half = sorted(tables.streams, key=lambda row: (row.arrivals_per_day or 0, row.n))
    # each server ends a sample every 30 s: 20 each in 10 minutes
    assert (one.completed, two.completed, two.failed, two.batches) == (20, 40, 0, 20)
    assert (one.genomes_per_day, two.genomes_per_day) == (2880, 5760)
    assert (two.genomes_per_day_low, two.genomes_per_day_high) == pytest.approx((5760, 5760))
    assert (two.gigabases_per_day, two.human_30x_per_day) == pytest.approx((5760 * 93, 5760))
    assert (two.result_median_s, two.result_p95_s, two.wait_median_s, two.stable) == (30, 30, None, None)
    assert two.busy_share == pytest.approx(1)
    assert (half_of_one.arrivals_per_day, half.arrivals_per_day, half.share) == (1440, 2880, 0.5)
    (record,) = (record for record in tables.records if record.spec.name == half.run)
    ways = [process.passage for process in record.processes]
    inside = [way for way in ways if 60 < way.arrived_s <= 660]
    waits = sorted(way.started_s - way.arrived_s for way in inside)
    assert half.arrived == len(inside) and half.completed == sum(60 < way.ended_s <= 660 for way in ways)
    middle = (waits[(len(waits) - 1) // 2] + waits[len(waits) // 2]) / 2
    assert half.wait_median_s == pytest.approx(middle) and half.result_median_s == pytest.approx(middle + 30)
    assert 0 < half.busy_share < 1 and half.stable and half.waiting_at_end == 0
    assert {row.mode for row in tables.configurations} == {"shared"}, "streams are on no curve of batches"
    assert [row.genomes_per_day for row in tables.runs if row.mode == "stream"] == [None] * 4


def test_what_streams_came_to_is_printed_and_in_the_report(streamed):
    shown = Console(file=io.StringIO(), width=200)
    assert report.write(streamed, shown) == 0
    printed = shown.file.getvalue()
    assert re.search(r"germline, compact binding │ 2 │ +40 │ +0 │ 5,760 \(5,760-5,760\) │ +5,760 │ +30.0 │", printed)
    assert re.search(r"│ 2 │ 2,880 \(50.0% of full\) │ +\d+ │ +0 │ +0 \(22.6\) │ +30.0 \(52.6\) │ .* yes │", printed)
    page = (streamed / "report.html").read_text()
    assert "first come, first served" in page and "5,760" in page


def verdicts(package):
    return {verdict.check: verdict for verdict in checks.judge(evidence.gather(package))}


def test_every_check_holds_of_a_study_with_streams(streamed):
    found = verdicts(pack.make(streamed))
    assert {name: verdict.why for name, verdict in found.items() if verdict.state != HOLDS} == {}


def test_checks_judge_a_study_of_streams_alone_by_what_streams_have(tmp_path):
    found = verdicts(pack.make(write_streams(tmp_path / "trusted", ("stream",))))
    assert {name: verdict.why for name, verdict in found.items() if verdict.state != HOLDS} == {}
    where = "germline N = 2 (stream, compact)"
    assert f"{where}: 20 batches of its window, 95% interval \u00b1 0%" in found["precision"].why
    assert found["duration"].why == ("the shortest run took 600 s, 40.0 s are needed",)
    short = verdicts(pack.make(write_streams(tmp_path / "short", ("stream",), precision=0.001)))
    assert short["duration"].state == FAILS and "600 s; 1,000 s are needed" in short["duration"].why[0]


def test_checks_name_a_full_stream_whose_interval_is_wide(streamed):
    found = evidence.gather(pack.make(streamed)).study
    wide = [replace_row(row, genomes_per_day_high=2 * row.genomes_per_day) for row in found.tables.streams]
    wrong = plan_checks.precision(replace(found, tables=replace(found.tables, streams=wide)))
    assert wrong[0] == FAILS and len(wrong[1]) == 2, "samples that arrive claim nothing of the machine"
    assert wrong[1][0].endswith("95% interval \u00b1 100%; 2.5% is claimed")


FULL, HALF = "germline-n2-stream-compact-full", "germline-n2-stream-compact-load50"


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "change", "output"),
    [
        (FULL, lambda ways: ways[3].update(ended_s=ways[3]["ended_s"] - 8), "its jobs ran at another time"),
        (FULL, lambda ways: ways[3].update(started_s=ways[3]["started_s"] - 20), "says 2 samples at once, and 3 were"),
        (FULL, lambda ways: ways[3].update(copy_of="HG001" if ways[3]["copy_of"] != "HG001" else "HG002"), "draws"),
        (HALF, lambda ways: ways[3].update(arrived_s=ways[3]["arrived_s"] + 1), "did not arrive when the seed"),
        (HALF, lambda ways: ways[3].update(started_s=0.0), "started before it arrived"),
    ],
)
def test_a_stream_that_was_tampered_with_is_refused(streamed, name, change, output):
    package = pack.make(streamed)
    record = json.loads(package.members[f"{name}/run.json"])
    change([process["passage"] for process in record["processes"]])
    members = package.members | {f"{name}/run.json": json.dumps(record).encode()}
    found = verdicts(recomputed(package, members))["at once"]
    assert found.state == FAILS and any(output in why for why in found.why), found.why


def test_a_stream_that_was_dropped_is_missed(streamed):
    package = pack.make(streamed)
    members = {name: content for name, content in package.members.items() if not name.startswith(f"{HALF}/")}
    found = verdicts(recomputed(package, members))
    assert f"{HALF}: it is planned, and did not end" in found["complete"].why


def test_streams_that_a_budget_did_not_buy_are_not_missing(streamed):
    package = pack.make(streamed)
    plan = json.loads(package.members["study.json"])
    plan["study"]["budget"] = "50m"
    members = {name: content for name, content in package.members.items() if "-load50/" not in name}
    members["study.json"] = json.dumps(plan).encode()
    found = verdicts(recomputed(package, members))["complete"]
    assert found.state == HOLDS and "within the budget of 50m" in found.why[0]
