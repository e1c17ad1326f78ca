"""`gpd size`: what it says of the published results and of the recorded study, and what it refuses in one line."""

import json
from dataclasses import replace

import pytest
import recorded_studies
from markupsafe import escape
from pages import Page
from subcommands import gpd

from gpd.commands import size_display
from gpd.errors import GpdError
from gpd.sizing import cost, published_machines, study_machine
from gpd.sizing.machine import Machine, Measured, above_zero
from gpd.sizing.nodes_needed import GIGABASES_PER_X, Demand, size
from gpd.sizing.quantities import quantities
from gpd.statistics.estimates import Estimate, estimate
from gpd.tables import collect

STUDY = recorded_studies.study()
DEPTH = 0.0135  # of a human genome: as many bases as the recorded study's samples have


@pytest.fixture(scope="module")
def recorded():
    return study_machine.machine("first", collect.collect(STUDY))


@pytest.fixture(scope="module")
def machines():
    return published_machines.machines()


def needed(machine, watts=None, price=None, **asked):
    return size(Demand(**{"genomes_per_week": 200, "depth": 30} | asked), machine, watts, price)


def values(sizing):
    return {found.key: found.value for found in quantities(sizing)}


def made_up(*gigabases_a_day, **fields):
    """A machine of 4 cores on which N = 1, 2, ... samples of a whole genome came to these."""
    measured = tuple(
        Measured(n, 93.0, Estimate(each, 0.9 * each, 1.1 * each)) for n, each in enumerate(gigabases_a_day, 1)
    )
    return Machine("made up", "study", (), 4, measured, **fields)


def shown(*words):
    done = gpd("size", *words)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_it_says_what_follows_from_published_hours():
    """8358: 14 samples of 53x in 49.86 h."""
    (found,) = json.loads(shown("--genomes", "200/week", "--published", "8358", "--nodes", "4", "--json"))["machines"]
    assert found["name"] == "published:8358"
    told = {key: quantity["value"] for key, quantity in found["quantities"].items() if quantity["value"] is not None}
    hours = 49.86 * 30 / 53
    assert (told["n"], told["nodes_counted"], told["nodes"]) == (14, 4, 3)
    assert told["makespan"] == pytest.approx(hours)
    assert told["genomes_per_day"] == pytest.approx(24 * 14 / hours)
    assert told["core_hours"] == pytest.approx(64 * hours / 14)
    assert told["days"] == pytest.approx(4 * hours / 24), "56 genomes a batch"


def test_terminal_page_and_json_have_the_same_lines(machines):
    sizings = [needed(machines["8358"], 500, 3.0)]
    lines = json.loads(size_display.to_json(sizings, ()))["machines"][0]["quantities"].values()
    page = size_display.to_html(sizings, ())
    text = shown("--genomes", "200/week", "--published", "8358", "--watts", "500", "--price-per-hour", "3")
    assert len(lines) == 20
    for quantity in lines:
        for part in (quantity["label"], quantity["unit"], quantity["why"]):
            assert part in text
            assert str(escape(part)) in page


def test_it_says_what_a_study_measured(recorded):
    told = shown("--genomes", "200/week", "--depth", str(DEPTH), "--study", str(STUDY), "--watts", "100")
    for words in (
        "samples at once (N)",
        "limited by what was measured",
        "watts: given",
        "measured: 4 runs of shared",
    ):
        assert words in told
    rows = collect.collect(STUDY).runs
    rows = [row for row in rows if (row.pipeline, row.mode, row.n, row.counted) == ("germline", "shared", 2, True)]
    found = needed(recorded, depth=DEPTH)
    assert found.n == 2
    daily = estimate(row.gigabases_per_day for row in rows).times(1 / DEPTH / GIGABASES_PER_X)
    assert found.genomes_per_day.value == pytest.approx(daily.value)
    assert (found.genomes_per_day.low, found.genomes_per_day.high) == pytest.approx((daily.low, daily.high))
    assert values(found)["cpu_utilisation"].value == pytest.approx(0.97, abs=0.03)
    assert values(found)["memory"].value == pytest.approx(max(row.peak_memory_mib for row in rows) / 1024)


def test_of_a_study_of_small_samples_a_genome_is_not_known_and_it_says_what_to_measure():
    done = gpd("size", "--genomes", "200/week", "--study", STUDY)
    assert done.exit_code == 2
    assert "not known: measured at 0.0" in done.stderr
    assert "a human genome at 30x has 93.0 Gb; run a study of samples of that size, or the rehearsal" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_small_samples_answer_for_a_genome_where_that_is_asked_for_and_every_place_says_so(recorded):
    """By gigabases a day alone: no interval of repeats tells how far off that is."""
    options = ["--genomes", "200/week", "--study", str(STUDY), "--extrapolate"]
    text = " ".join(shown(*options).split())
    assert "study, extrapolated" in text
    assert "EXTRAPOLATED from 0.04" in text
    (found,) = json.loads(shown(*options, "--json"))["machines"]
    assert found["extrapolated"] is True
    told = found["quantities"]
    assert told["genomes_per_day"]["low"] is told["memory"]["value"] is None
    daily = next(one.gigabases_per_day.value for one in recorded.measured if one.n == told["n"]["value"])
    assert told["genomes_per_day"]["value"] == pytest.approx(daily / 93)
    page = size_display.to_html([size(Demand(200, 30), recorded, extrapolate=True)], ())
    assert "first: EXTRAPOLATED from" in page


def test_samples_of_the_size_asked_for_are_not_extrapolated(machines):
    asked = Demand(200, 53)
    assert size(asked, machines["8358"], extrapolate=True) == size(asked, machines["8358"])


@pytest.mark.parametrize(("depth", "answers"), [(60, False), (58, True), (53, True), (27, True), (26, False)])
def test_samples_that_are_larger_than_the_measured_ones_or_less_than_half_are_not_known(machines, depth, answers):
    if answers:
        assert bool(needed(machines["8358"], depth=depth).scaled) is (depth < 48)
    else:
        with pytest.raises(GpdError, match=r"published:8358: not known: .* answers for --depth 26\.5 to 58\.9"):
            needed(machines["8358"], depth=depth)


@pytest.mark.parametrize(
    ("options", "output"),
    [
        (["--genomes", "many"], "--genomes many: a number above 0 is needed"),
        (["--genomes", "0/week"], "--genomes 0: a number above 0 is needed"),
        (["--genomes", "200/fortnight"], "not as 200/week; a period is one of day, week, month, year"),
        (["--genomes", "200/week", "--depth", "-3"], "--depth -3: a number above 0 is needed"),
        (["--genomes", "200/week", "--deadline", "soon"], "--deadline soon: a time as 24h, 90m or 2d is needed"),
        (["--genomes", "200/week", "--nodes", "1.5"], "--nodes 1.5: a whole number from 1 is needed"),
        (["--genomes", "1", "--price-per-hour", "nan"], "--price-per-hour nan: a number of 0 or more is needed"),
        (["--genomes", "200/week", "--watts", "inf"], "--watts inf: a number above 0 is needed"),
        (["--genomes", "200/week", "--study", "/nowhere"], "/nowhere: no such folder"),
    ],
)
def test_what_it_can_not_answer_it_says_in_one_line(options, output):
    done = gpd("size", *options)
    assert done.exit_code == 2
    assert output in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_table_of_prices_that_is_none_is_named_with_its_line(tmp_path):
    prices = tmp_path / "prices.tsv"
    prices.write_text("name\tprice_per_hour\n8358\tcheap\n")
    with pytest.raises(GpdError, match=r"prices\.tsv line 2: price_per_hour is no number: cheap"):
        cost.read_prices(prices)
    prices.write_text("sku\tprice\n8358\t3\n")
    with pytest.raises(GpdError, match=r"no column name, price_per_hour"):
        cost.read_prices(prices)
    prices.write_bytes("name\tprice_per_hour\n8358\t3\n".encode("utf-16"))
    with pytest.raises(GpdError, match=r"prices\.tsv: not UTF-8 \(.* at byte 0\): save it as tabs in UTF-8"):
        cost.read_prices(prices)
    prices.write_text("name\tprice_per_hour\n8358\t3.5\n7763\t3\n")
    assert cost.read_prices(prices) == {"8358": 3.5, "7763": 3.0}


def test_prices_go_by_name_or_sku_and_the_one_price_is_for_the_others(machines):
    assert cost.price_of(machines["8358"], 2.0, {"8358": 3.5}) == 3.5
    assert cost.price_of(machines["7763"], 2.0, {"8358": 3.5}) == 2.0
    assert cost.price_of(machines["7763"], None, {}) is None


def test_counters_over_the_runs_come_before_all_but_what_is_given(recorded):
    """Of two runs at N = 2: 80 and 120 W."""
    tables = collect.collect(STUDY)
    joules = {"germline-n2-shared-compact-r1": 80, "germline-n2-shared-compact-r2": 120}
    records = [
        replace(one, energy_j={"package-0": (watts - 10) * one.wall_s, "package-0 dram": 10 * one.wall_s})
        if (watts := joules.get(one.spec.name))
        else one
        for one in tables.records
    ]
    found = study_machine.machine("first", replace(tables, records=tuple(records)))
    assert [one.watts for one in found.measured] == [None, pytest.approx(100)]
    counted = needed(replace(found, watts=280), depth=DEPTH)
    assert counted.power.source == "counters of packages and memory over the runs (RAPL)"
    assert values(counted)["kwh"].value == pytest.approx(0.1 * counted.makespan_h.value / 2)
    assert needed(replace(found, watts=280), 500, depth=DEPTH).power.watts == 500
    assert needed(replace(recorded, watts=280), depth=DEPTH).power.watts == 280
    assert needed(recorded, depth=DEPTH).power is None


def test_nodes_energy_and_money_follow_from_the_makespan(machines):
    found = needed(machines["8358"], 1000, 5.0)
    told, makespan_h = values(found), found.makespan_h.value
    assert found.n == 14
    assert told["kwh"].value == pytest.approx(makespan_h / 14)
    assert told["cost"].value == pytest.approx(5 * makespan_h / 14)
    assert told["cost_per_week"].value == pytest.approx(200 * 5 * makespan_h / 14)
    assert told["core_hours"].value == pytest.approx(64 * makespan_h / 14)
    assert found.nodes.low <= found.nodes.value <= found.nodes.high
    assert found.nodes.value == -(-200 // (7 * found.genomes_per_day.value))


def test_whole_nodes_cost_what_they_are_idle_too():
    """One node of 10 h a batch of one genome: all 168 hours of a week."""
    told = values(needed(made_up(93 * 2.4), price=2.0, genomes_per_week=12, nodes=1))
    assert told["cost"].value == pytest.approx(20)
    assert told["cost_per_week_whole_nodes"] == Estimate(336)
    assert "cost" not in values(needed(made_up(93 * 2.4)))


def test_a_deadline_allows_fewer_samples_at_once_and_one_that_none_keeps_is_said(machines):
    free, tight, never = (needed(machines["8358"], deadline_h=hours) for hours in (None, 26, 1))
    assert free.n > tight.n >= 1
    assert tight.limit == "the deadline: without it N = 14 gives most"
    assert tight.makespan_h.worst <= 26
    assert not never.within
    assert never.n == 1
    assert never.limit == "the deadline: no N that was measured keeps 1 h"


def test_a_deadline_holds_for_the_upper_end_of_the_interval():
    machine = made_up(93 * 24 / 10)  # 10 h, 9.1 to 11.1
    assert needed(machine, deadline_h=11.2).within
    assert not needed(machine, deadline_h=11).within
    once = replace(machine, measured=(replace(machine.measured[0], gigabases_per_day=Estimate(93 * 24 / 10)),))
    note = "deadline: N = 1 has no interval, so how much longer a batch may take is not known"
    assert note in needed(once, deadline_h=11).remarks
    assert note not in [*needed(machine, deadline_h=11).remarks, *needed(once).remarks]


def test_it_says_what_keeps_a_node_from_doing_more(machines):
    assert needed(made_up(100, 200)).limit.startswith("what was measured: N = 2 is the most")
    assert needed(made_up(100, 100.1)).limit == "the machine: up to N = 2 more samples at once gave no more"
    assert needed(made_up(100, 200, n_failed=3)).limit.startswith(
        "failures: N = 2 is the most that was run without any"
    )
    assert needed(machines["7763"]).limit.startswith("failures: N = 4 is the most that was run without any, N = 6 had")


def test_memory_is_what_jobs_took_at_this_n_of_what_there_is():
    machine = made_up(100, 200)
    full = replace(machine, memory_mib=4096, measured=tuple(replace(one, memory_mib=1024) for one in machine.measured))
    assert "memory: jobs of N = 2 took at most 25% of it" in needed(full).remarks
    assert "memory: what jobs take, or what there is, is not known" in needed(machine).remarks


def test_an_n_at_which_jobs_ask_for_more_memory_than_there_is_is_not_recommended():
    """Its own samples took less of it; the next ones may not."""
    machine = made_up(100, 200, 300)
    asking = [replace(one, memory_mib=900.0, declared_mib=2000.0 * one.n) for one in machine.measured]
    full = replace(machine, memory_mib=4096, measured=tuple(asking))
    found = needed(full)
    assert (found.n, values(found)["declared_memory"]) == (2, Estimate(4000 / 1024))
    assert found.limit == "memory: at N = 3, which gives most, jobs that run at once ask for more than there is"
    assert "memory: those that ran at once had asked for 98% of it" in found.remarks
    assert needed(replace(full, memory_mib=8192)).n == 3
    small = needed(replace(full, memory_mib=1024))
    assert (small.n, small.limit) == (
        1,
        "memory: at no N that was measured is there as much as jobs that run at once ask for",
    )


def test_what_jobs_ask_for_is_summed_over_those_that_run_at_once(recorded):
    """Jobs of the recorded study ask for 2,000 MB each, and two run at once."""
    assert [one.declared_mib for one in recorded.measured] == [4000] * len(recorded.measured)


def test_what_is_not_known_is_null_and_never_zero(machines):
    answer = size_display.to_json([needed(machines["8358"])], published_machines.core_hours())
    told = json.loads(answer)["machines"][0]["quantities"]
    for name in ("cpu_utilisation", "memory", "declared_memory", "scratch", "kept", "shared", "watts", "kwh"):
        assert told[name]["value"] is None, name


def test_an_interval_that_reaches_zero_tells_nothing():
    """Students t of 2 degrees of freedom: 4.303."""
    found = above_zero(estimate([9, 10, 11]))
    assert (found.low, found.high) == pytest.approx((10 - 4.303 / 3**0.5, 10 + 4.303 / 3**0.5), rel=1e-4)
    wide = above_zero(estimate([1, 19]))
    assert (wide.value, wide.low, wide.high) == (10, None, None)


# ---- pages ---------------------------------------------------------------------------------------------------------


def tags(page):
    return [tag for tag, _ in Page(page).elements]


@pytest.mark.deep
def test_a_page_of_a_size_has_the_curve_and_the_tables(machines):
    needs = [needed(machines[sku], 500, 3.0) for sku in ("8358", "7763")]
    page = size_display.to_html(needs, published_machines.core_hours())
    assert tags(page).count("svg") == 1
    assert tags(page).count("table") == 2
    assert page.count("scaled from 164 to 93.0 Gb a sample") == 1, "of both machines"


def test_options_are_passed_on():
    options = ["--depth", "40", "--deadline", "90m", "--nodes", "8", "--published", "8358", "--json"]
    asked = json.loads(shown("--genomes", "30/day", *options))["asked"]
    assert Demand(**asked) == Demand(210, 40, 1.5, 8)
    asked = json.loads(shown("--genomes", "30/month", "--json"))["asked"]
    assert asked["genomes_per_week"] == pytest.approx(6.9, abs=0.01)
