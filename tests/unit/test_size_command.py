"""`gpd size`: what it says of the published figures and of the recorded study, and what it refuses in one line."""

import importlib.util
import json
from dataclasses import replace
from html.parser import HTMLParser
from random import Random
from statistics import median

import pandas as pd
import pytest
import recorded_studies
from conftest import ROOT
from typer.testing import CliRunner

from gpd.cli import app
from gpd.commands import size, size_display
from gpd.published import figures
from gpd.records import node
from gpd.sizing import genome, power, published, sources, study
from gpd.sizing.model import Range
from gpd.sizing.needs import Asked, need
from gpd.tables import collect

GOLDEN = ROOT / "tests" / "golden" / "size"
STUDY = recorded_studies.study()
RUNS = figures.read()


@pytest.fixture(scope="module")
def recorded():
    return collect.collect(STUDY)


@pytest.fixture(scope="module")
def evidence(recorded):
    return study.evidence("first", recorded)


@pytest.fixture(scope="module")
def models():
    return published.models(RUNS, Random(1), redraws=3)


def needed(model, power_of=None, price=None, **asked):
    return need(Asked(**{"genomes_per_week": 200, "depth": 30} | asked), model, Random(1), power_of, price)


def test_it_says_what_was_recorded():
    spec = importlib.util.spec_from_file_location("record", GOLDEN / "record.py")
    record = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(record)
    for name, text in record.texts().items():
        assert text == (GOLDEN / name).read_text(encoding="utf-8"), name


@pytest.mark.parametrize(
    ("options", "said"),
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
def test_what_it_can_not_answer_it_says_in_one_line(options, said):
    done = CliRunner().invoke(app, ["size", *options])
    assert done.exit_code == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_table_of_prices_that_is_none_is_named_with_its_line(tmp_path):
    prices = tmp_path / "prices.tsv"
    prices.write_text("name\tprice_per_hour\n8358\tcheap\n")
    with pytest.raises(power.PriceError, match=r"prices\.tsv line 2: price_per_hour is no number: cheap"):
        power.read_prices(prices)
    prices.write_text("sku\tprice\n8358\t3\n")
    with pytest.raises(power.PriceError, match=r"no column name, price_per_hour"):
        power.read_prices(prices)
    prices.write_text("name\tprice_per_hour\n8358\t3.5\n")
    assert power.read_prices(prices) == {"8358": 3.5}


@pytest.mark.deep
def test_prices_go_by_name_or_sku_and_the_one_price_is_for_the_others(models):
    assert power.price_of(models["8358"], 2.0, {"8358": 3.5}) == 3.5
    assert power.price_of(models["7763"], 2.0, {"8358": 3.5}) == 2.0
    assert power.price_of(models["7763"], None, {}) is None


def test_watts_are_those_given_those_measured_or_the_processors_and_it_says_which(models):
    tdp = power.read_tdp()
    assert power.power(models["7763"], 900, tdp) == power.Power(900, "given")
    assert power.power(models["7763"], None, tdp) == power.Power(560, "TDP of 2 processors alone")
    assert power.power(models["7763"], None, {}) is None


def test_nodes_energy_and_money_follow_from_the_makespan(models):
    found = needed(models["8358"], power.Power(1000, "given"), 5.0, carbon_g_per_kwh=400)
    assert found.n == 14
    assert found.kwh.mid == pytest.approx(found.makespan_h.mid / 14)
    assert found.co2_kg.mid == pytest.approx(0.4 * found.kwh.mid)
    assert found.cost.mid == pytest.approx(5 * found.makespan_h.mid / 14)
    assert found.core_hours.mid == pytest.approx(64 * found.makespan_h.mid / 14)
    assert found.nodes.low <= found.nodes.mid <= found.nodes.high
    assert found.nodes.mid == -(-200 // (7 * found.genomes_per_day.mid))


def test_of_53x_as_measured_nothing_is_extrapolated_and_the_core_hours_are_those_published(models):
    found = needed(models["8358"], depth=53)
    assert found.factor == pytest.approx(1)
    assert found.core_hours.mid == pytest.approx(228, rel=0.05)
    assert needed(models["8358"], depth=30).factor == pytest.approx(53 / 30)


def test_a_deadline_allows_fewer_samples_at_once_and_one_that_none_keeps_is_said(models):
    free, tight, never = (needed(models["8358"], deadline_h=hours) for hours in (None, 20, 1))
    assert free.n > tight.n >= 1
    assert tight.limit.startswith("the deadline")
    assert tight.makespan_h.mid <= 20
    assert not never.within
    assert never.limit.startswith("the deadline: no N keeps 1 h")


def test_what_is_not_known_is_null_and_never_zero(models):
    shown = size_display.Shown([needed(models["8358"])], {}, sources.core_hours(RUNS))
    told = json.loads(size_display.to_json(shown))["machines"][0]
    for name in ("cpu_utilisation", "memory_gib_per_node", "scratch_gib_per_node", "power", "kwh_per_genome"):
        assert told[name] is None, name


def test_cells_of_a_study_are_predicted_from_the_others(evidence, figure):
    """This study's times are made up: each cell is slower than the last by up to 10%, and takes no note of sizes."""
    found = study.held_out(evidence)
    figure(f"recorded study, cells left out: errors {', '.join(f'{one.error:+.1%}' for one in found)}")
    assert [one.n for one in found] == [1, 1, 2, 2]
    assert all(abs(one.error) <= 0.10 for one in found)


def test_one_sample_at_once_predicts_two_but_for_what_it_can_not_know(evidence):
    """That jobs beside each other were made up to be some 10% slower."""
    one, two = ([row for row in evidence.whole_runs if row["n"] == n] for n in (1, 2))
    known = evidence.only(row["cell"] for row in one)
    for row in two:
        assert -0.12 <= study.predicted(known, row, evidence.gigabases(row)).error <= 0


def test_a_model_of_a_study_has_its_jobs_in_the_order_of_the_workflow(evidence):
    model = study.model(evidence, Random(1))
    chain = [work.name for work in model.works if not work.untimed]
    assert chain[:5] == [
        *("map_and_sort", "mark_duplicates", "base_recalibrator", "base_recalibration", "haplotype_caller")
    ]
    assert [work.after for work in model.works if work.name == "samtools_stats"] == ["haplotype_caller"]
    assert model.leased
    assert model.predict(2, 0.04).cpu_utilisation == pytest.approx(0.97, abs=0.03)
    assert model.predict(1, 0.04).memory_mib == pytest.approx(1200, rel=0.05)


def test_steps_are_cut_where_cores_are_free_unless_they_were_seen_to_stay_whole(evidence):
    full = evidence.only(row["cell"] for row in evidence.whole_runs if row["n"] == row["cores"])
    seen, unseen = (study.model(found, Random(1)) for found in (evidence, full))
    assert {work.name for work in seen.works if work.piece_gigabases and work.piece_gigabases <= 0.04 / 2} == set()
    steps = {"base_recalibrator", "base_recalibration", "haplotype_caller", "genotype_gvcfs"}
    assert {work.name for work in unseen.works if work.piece_gigabases} == steps
    assert unseen.predict(1, 0.04).makespan_s < 0.9 * seen.predict(1, 0.04).makespan_s


def test_pieces_stand_for_their_job_and_share_its_gigabases(recorded):
    """Each job of HaplotypeCaller as two pieces side by side, and what gathers them."""
    caller = recorded.jobs["rule"] == "haplotype_caller"
    pieces = [recorded.jobs[caller].assign(shard=shard) for shard in ("1/2", "2/2", "gather")]
    pieces[2] = pieces[2].assign(start_s=pieces[2]["end_s"] - 0.1)
    jobs = pd.concat([recorded.jobs[~caller], *pieces], ignore_index=True)
    whole, cut = (study.evidence("first", replace(recorded, jobs=each)) for each in (recorded.jobs, jobs))
    own = [[job for job in found.jobs if job.rule == "haplotype_caller"] for found in (whole, cut)]
    assert len(own[1]) == 2 * len(own[0])
    assert sum(job.gigabases for job in own[1]) == pytest.approx(sum(job.gigabases for job in own[0]))
    (work,) = [work for work in study.model(cut, Random(1)).works if work.name == "haplotype_caller"]
    assert (work.jobs, work.piece_gigabases is None) == (1, False)


def test_a_study_of_one_size_says_that_start_up_is_counted_as_growing(evidence):
    assert any("counted as growing" in note for note in study.model(evidence, Random(1)).notes)


def test_a_study_of_small_samples_says_that_their_jvms_were_warming_up(evidence):
    """Samples of 0.04 and 0.08 Gb."""
    jobs = tuple(replace(job, gigabases=2 * job.gigabases) for job in evidence.jobs)
    runs = tuple({**row, "gigabases": 2 * row["gigabases"]} for row in evidence.runs)
    sizes = study.joined("sizes", [evidence, replace(evidence, name="second", jobs=jobs, runs=runs)])
    assert any("JVMs warm up" in note for note in study.model(sizes, Random(1)).notes)


def test_a_larger_genome_takes_longer_to_map_and_nothing_else(evidence):
    """The recorded study does not tell its genome."""
    assert study.model(evidence, Random(1)).genome_mb is None
    jobs = tuple(replace(job, genome_mb=5.0) for job in evidence.jobs)
    runs = tuple({**row, "genome_mb": 5.0} for row in evidence.runs)
    small = study.model(replace(evidence, jobs=jobs, runs=runs), Random(1), redraws=2)
    human = replace(small, genome_mb=genome.HUMAN_MB)
    longer = genome.factor(genome.HUMAN_MB) / genome.factor(5.0)
    assert longer > 1.3
    assert any(f"last {longer:.2g} times as long" in note for note in small.notes)
    cpu_s = [model.predict(2, 0.04).cpu_s for model in (small, human)]
    (mapping,) = [work for work in small.works if work.mapped]
    assert mapping.name == "map_and_sort"
    share = mapping.cpu.seconds(mapping.amount(0.02, 5.0)) * 4
    assert cpu_s[1] - cpu_s[0] == pytest.approx((longer - 1) * share, rel=0.02)
    assert human.predict(1, 0.04).makespan_s > small.predict(1, 0.04).makespan_s
    asked = Asked(genomes_per_week=1, depth=0.01)
    assert need(asked, small, Random(1), None, None).model.genome_mb == genome.HUMAN_MB
    assert need(asked, study.model(evidence, Random(1)), Random(1), None, None).model.genome_mb is None


def test_figures_of_a_node_are_taken_from_its_record():
    assert study.node_figures(None) == study.NodeFigures()
    nodes = ROOT / "tests" / "golden" / "nodes"
    assert study.node_figures(node.read_node(nodes / "epyc-2x64.json")).watts is None
    record = node.read_node(nodes / "xeon-2x32-4numa.json")
    triad = record.bandwidth.place("node").mb_s["triad"]
    assert study.node_figures(record) == study.NodeFigures(480.0 + 20.0, median(triad))


def test_a_range_divided_has_its_ends_turned_and_half_nodes_are_whole():
    assert Range(1, 2, 4).over(8) == Range(2, 4, 8)
    assert Range(1.1, 2, 2.2).up() == Range(2, 2, 3)


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
def test_a_page_of_a_size_has_the_curve_the_picture_and_the_tables(models):
    needs = [needed(models[sku], power.Power(500, "given"), 3.0) for sku in ("8358", "7763")]
    errors = {"steps": published.errors(published.held_out(RUNS, published.STEPS_FAMILY))}
    page = size_display.to_html(size_display.Shown(needs, errors, sources.core_hours(RUNS)), 1)
    assert tags(page).count("svg") == 2
    assert tags(page).count("table") == 3
    assert "extrapolated" in page
    assert "We have not run a whole genome" in page
    assert "genomes a unit of money" in page


@pytest.mark.deep
def test_a_page_of_a_comparison_needs_nothing_else(tmp_path):
    path = tmp_path / "comparison.html"
    done = CliRunner().invoke(app, ["compare", str(STUDY), "published:8352Y", "published:8358", "--html", str(path)])
    assert done.exit_code == 0, done.output
    page = path.read_text()
    assert tags(page).count("svg") == 2
    assert "published:8352Y" in page
    assert not [tag for tag in tags(page) if tag in ("script", "link", "img")]
    assert "95% confidence intervals" in page


def test_options_are_passed_on(monkeypatch):
    asked = size._asked("30/day", "40", "90m", "8", "0")
    assert asked == Asked(210, 40, 1.5, 8, 0)
    assert size._asked("30/month", "30", None, None, None).genomes_per_week == pytest.approx(6.9, abs=0.01)
