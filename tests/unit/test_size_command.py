"""`gpd size`: what it says of the published results and of the recorded study, and what it refuses in one line."""

import json
import random
from dataclasses import replace
from html.parser import HTMLParser
from statistics import mean

import pytest
import recorded_studies
from typer.testing import CliRunner

from gpd.cli import app
from gpd.commands import size_display
from gpd.errors import GpdError
from gpd.reports.page import render
from gpd.reports.sizing_page import sizing_page
from gpd.sizing import cost, power, published, study
from gpd.sizing.cost import Price
from gpd.sizing.machine import Machine, Measured, Range
from gpd.sizing.nodes_needed import GIGABASES_PER_X, Demand, size
from gpd.statistics.estimates import estimate
from gpd.tables import collect

STUDY = recorded_studies.study()
DEPTH = 0.0135  # of a human genome: as many bases as the recorded study's samples have


@pytest.fixture(scope="module")
def recorded():
    return study.machine("first", collect.collect(STUDY))


@pytest.fixture(scope="module")
def machines():
    return published.machines()


def needed(machine, power_of=None, price=None, **asked):
    return size(Demand(**{"genomes_per_week": 200, "depth": 30} | asked), machine, power_of, price)


def made_up(*gigabases_a_day, **fields):
    """A machine of 4 cores on which N = 1, 2, ... samples of a whole genome came to these."""
    measured = tuple(
        Measured(n, 93.0, Range(each, 0.9 * each, 1.1 * each)) for n, each in enumerate(gigabases_a_day, 1)
    )
    return Machine("made up", "study", (), None, 4, measured, **fields)


def shown(*words):
    done = CliRunner().invoke(app, ["size", *words])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_it_says_what_follows_from_published_hours():
    """8358: 14 samples of 53x in 49.86 h."""
    found = json.loads(shown("--genomes", "200/week", "--published", "8358", "--nodes", "4", "--json"))["machines"][0]
    hours = 49.86 * 30 / 53
    assert found["name"] == "published:8358"
    assert (found["n"], found["nodes_counted"], found["nodes"]["mid"]) == (14, 4, 3)
    assert found["makespan_h"]["mid"] == pytest.approx(hours)
    assert found["genomes_per_day_per_node"]["mid"] == pytest.approx(24 * 14 / hours)
    assert found["core_hours_per_genome"]["mid"] == pytest.approx(64 * hours / 14)
    assert found["days"]["mid"] == pytest.approx(4 * hours / 24), "56 genomes a batch"


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
    assert found.genomes_per_day.mid == pytest.approx(
        mean(row.gigabases_per_day for row in rows) / DEPTH / GIGABASES_PER_X
    )
    assert found.genomes_per_day.low < found.genomes_per_day.mid < found.genomes_per_day.high
    assert found.at.cpu_utilisation == pytest.approx(0.97, abs=0.03)
    assert found.memory_gib == pytest.approx(max(row.peak_memory_mib for row in rows) / 1024)


def test_of_a_study_of_small_samples_a_genome_is_not_known_and_it_says_what_to_measure():
    done = CliRunner().invoke(app, ["size", "--genomes", "200/week", "--study", str(STUDY)])
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
    assert found["genomes_per_day_per_node"]["low"] is found["memory_gib_per_node"] is None
    daily = next(one.gigabases_per_day.mid for one in recorded.measured if one.n == found["n"])
    assert found["genomes_per_day_per_node"]["mid"] == pytest.approx(daily / 93)
    page = render(sizing_page([size(Demand(200, 30), recorded, None, None, extrapolate=True)], ()))
    assert "first: EXTRAPOLATED from" in page


def test_samples_of_the_size_asked_for_are_not_extrapolated(machines):
    asked = Demand(200, 53)
    assert size(asked, machines["8358"], None, None, extrapolate=True) == size(asked, machines["8358"], None, None)


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
        (["--genomes", "200/week", "--carbon", "nan"], "--carbon nan: a number of 0 or more is needed"),
        (["--genomes", "200/week", "--watts", "inf"], "--watts inf: a number above 0 is needed"),
        (["--genomes", "200/week", "--study", "/nowhere"], "/nowhere: no such folder"),
    ],
)
def test_what_it_can_not_answer_it_says_in_one_line(options, output):
    done = CliRunner().invoke(app, ["size", *options])
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
    prices.write_text("name\tprice_per_hour\n8358\t3.5\n")
    assert cost.read_prices(prices) == {"8358": Price(3.5)}
    prices.write_text(
        "name\tprice_per_hour\tspot_price_per_hour\tpreemptions_per_day\n8358\t3.5\t1\t0.5\n7763\t3\t\t\n"
    )
    assert cost.read_prices(prices) == {"8358": Price(3.5, 1.0, 0.5), "7763": Price(3.0)}
    prices.write_text("name\tprice_per_hour\tspot_price_per_hour\n8358\t3.5\t1\n")
    with pytest.raises(GpdError, match=r"prices\.tsv line 2: a spot price and pre-emptions a day go together"):
        cost.read_prices(prices)


def test_prices_go_by_name_or_sku_and_the_one_price_is_for_the_others(machines):
    assert cost.price_of(machines["8358"], Price(2.0, lost_h=1), {"8358": Price(3.5)}) == Price(3.5, lost_h=1)
    assert cost.price_of(machines["7763"], Price(2.0), {"8358": Price(3.5)}) == Price(2.0)
    assert cost.price_of(machines["7763"], Price(), {}) == Price()


def test_watts_are_those_given_those_measured_or_the_processors_and_it_says_which(machines):
    tdp = power.read_tdp()
    assert power.power(machines["7763"], 900, tdp) == power.Power(900, "given")
    assert power.power(machines["7763"], None, tdp) == power.Power(560, "TDP of 2 processors alone")
    assert power.power(machines["7763"], None, {}) is None


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
    found = study.machine("first", replace(tables, records=tuple(records)))
    assert [one.watts for one in found.measured] == [None, pytest.approx(100)]
    tdp = power.Power(280, "TDP of 1 processor alone")
    assert needed(found, tdp, depth=DEPTH).power.source == "counters of packages and memory over the runs (RAPL)"
    assert needed(found, tdp, depth=DEPTH).kwh.mid == pytest.approx(0.1 * needed(found, depth=DEPTH).makespan_h.mid / 2)
    assert needed(found, power.Power(500, "given"), depth=DEPTH).power.watts == 500
    assert needed(recorded, tdp, depth=DEPTH).power == tdp


def test_nodes_energy_and_money_follow_from_the_makespan(machines):
    found = needed(machines["8358"], power.Power(1000, "given"), Price(5.0), carbon_g_per_kwh=400)
    assert found.n == 14
    assert found.kwh.mid == pytest.approx(found.makespan_h.mid / 14)
    assert found.co2_kg.mid == pytest.approx(0.4 * found.kwh.mid)
    assert found.cost.mid == pytest.approx(5 * found.makespan_h.mid / 14)
    assert found.core_hours.mid == pytest.approx(64 * found.makespan_h.mid / 14)
    assert found.nodes.low <= found.nodes.mid <= found.nodes.high
    assert found.nodes.mid == -(-200 // (7 * found.genomes_per_day.mid))


def test_whole_nodes_cost_what_they_are_idle_too():
    """One node of 10 h a batch of one genome, 12 genomes a week: 120 of 168 hours."""
    found = needed(made_up(93 * 2.4), price=Price(2.0), genomes_per_week=12, nodes=1)
    assert found.cost.mid == pytest.approx(20)
    assert found.cost_of_whole_nodes == 336
    assert found.idle_share.mid == pytest.approx(1 - 120 / 168)
    assert found.idle_share.low < found.idle_share.mid < found.idle_share.high
    many = needed(made_up(93 * 2.4), price=Price(2.0), genomes_per_week=100, nodes=1)
    assert many.idle_share.mid == 0, "one node does not suffice"
    assert needed(made_up(93 * 2.4)).cost_of_whole_nodes is None


def test_a_node_that_may_be_preempted_takes_more_hours():
    """10 h a batch, 2.4 pre-emptions a day, one in ten hours: e - 1 times as long where a batch begins anew."""
    machine = made_up(93 * 2.4)
    anew = needed(machine, price=Price(2.0, 0.5, 2.4))
    assert anew.spot_hours.mid == pytest.approx(10 * (2.718281828 - 1))
    assert anew.spot_cost.mid == pytest.approx(0.5 * anew.spot_hours.mid)
    assert any("at each a batch begins anew: 72% more hours" in remark for remark in anew.remarks)
    kept = needed(machine, price=Price(2.0, 0.5, 2.4, lost_h=2))
    assert kept.spot_hours.mid == pytest.approx(10 / (1 - 0.1 * 2))
    assert needed(machine, price=Price(2.0, 0.5, 0)).spot_hours.mid == pytest.approx(10)
    assert needed(machine, price=Price(2.0)).spot_cost is None
    for never in (Price(2.0, 0.5, 24 * 100), Price(2.0, 0.5, 2.4, lost_h=11)):
        with pytest.raises(GpdError, match=r"a batch of 11\.1 h would never end with"):
            _ = needed(machine, price=never).spot_cost


def test_batches_that_are_preempted_take_as_long_as_drawn_ones_do():
    """Exponential times until the next pre-emption, as many as it takes: the mean of many batches, within 3%."""
    draw, took = random.Random(1), []
    for _ in range(40_000):
        spent = 0.0
        while (until := draw.expovariate(0.1)) < 10:
            spent += until
        took.append(spent + 10)
    assert Price(None, 1.0, 2.4).with_loss(10) == pytest.approx(mean(took), rel=0.03)


def test_results_that_are_kept_cost_a_price_a_month():
    machine = made_up(100)
    kept = replace(machine, measured=(replace(machine.measured[0], kept_mib_per_gb=1024.0),))
    assert needed(kept, price_per_gib_month=0.02).storage_a_month == pytest.approx(93 * 0.02)
    assert needed(kept).storage_a_month is None
    assert needed(machine, price_per_gib_month=0.02).storage_a_month is None


def test_every_price_has_its_line():
    options = ["--price-per-hour", "5", "--spot-price-per-hour", "2", "--preemptions-per-day", "0.5"]
    text = shown("--genomes", "200/week", "--published", "8358", *options, "--price-per-gib-month", "0.02")
    for words in ("cost a week, whole nodes", "idle part of whole nodes", "cost a genome, spot", "storage a month, of"):
        assert words in text
    done = CliRunner().invoke(app, ["size", "--genomes", "1", "--spot-price-per-hour", "2"])
    assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1)
    assert "a spot price and pre-emptions a day go together" in done.stderr


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
    once = replace(machine, measured=(replace(machine.measured[0], gigabases_per_day=Range(93 * 24 / 10)),))
    note = "deadline: N = 1 ran once, so how much longer a batch may take is not known"
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
    assert (found.n, found.declared_gib) == (2, 4000 / 1024)
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
    answer = size_display.to_json([needed(machines["8358"])], published.core_hours())
    told = json.loads(answer)["machines"][0]
    for name in (
        "cpu_utilisation",
        "memory_gib_per_node",
        "declared_memory_gib_per_node",
        "scratch_gib_per_node",
        "power",
        "kwh_per_genome",
    ):
        assert told[name] is None, name


def test_a_range_divided_has_its_ends_turned_and_half_nodes_are_whole():
    assert Range(2, 1, 4).over(8) == Range(4, 2, 8)
    assert Range(2, 1.1, 2.2).up() == Range(2, 2, 3)
    assert Range(2).over(8) == Range(4)


def test_a_range_is_the_t_interval_of_repeats_and_is_never_below_zero():
    """Students t of 2 degrees of freedom: 4.303."""
    found = Range.of(10.0, estimate([9, 10, 11]))
    assert (
        found.high / 10
        == pytest.approx(10 / found.low)
        == pytest.approx(2.718281828 ** (4.303 / 10 / 3**0.5), rel=1e-4)
    )
    assert Range.of(10.0, estimate([10])) == Range(10)
    assert 0 < Range.of(10.0, estimate([1, 19])).low < 10


# ---- pages ---------------------------------------------------------------------------------------------------------


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen = []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)


def tags(page):
    parser = Tags()
    parser.feed(page)
    return parser.seen


@pytest.mark.deep
def test_a_page_of_a_size_has_the_curve_and_the_tables(machines):
    needs = [needed(machines[sku], power.Power(500, "given"), Price(3.0)) for sku in ("8358", "7763")]
    page = render(sizing_page(needs, published.core_hours()))
    assert tags(page).count("svg") == 1
    assert tags(page).count("table") == 2
    assert "scaled from 164 to 93.0 Gb a sample" in page


@pytest.mark.deep
def test_a_page_of_a_comparison_needs_nothing_else(tmp_path):
    path = tmp_path / "comparison.html"
    done = CliRunner().invoke(app, ["compare", str(STUDY), "published:8352Y", "published:8358", "--html", str(path)])
    assert done.exit_code == 0, done.output
    page = path.read_text()
    assert tags(page).count("svg") == 2
    assert "published:8352Y" in page
    assert not [tag for tag in tags(page) if tag in ("script", "link", "img")]
    assert "95% confidence intervals of the mean" in page


def test_options_are_passed_on():
    options = ["--depth", "40", "--deadline", "90m", "--nodes", "8", "--carbon", "0", "--published", "8358", "--json"]
    asked = json.loads(shown("--genomes", "30/day", *options))["asked"]
    assert Demand(**asked) == Demand(210, 40, 1.5, 8, 0)
    asked = json.loads(shown("--genomes", "30/month", "--json"))["asked"]
    assert asked["genomes_per_week"] == pytest.approx(6.9, abs=0.01)
