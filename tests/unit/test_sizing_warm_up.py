"""How JVMs warm up, and how mapping slows down with the genome: what was measured, and what follows from it."""

import csv
import math
from dataclasses import replace
from itertools import pairwise

import pytest
from conftest import ROOT

from gpd.sizing import genome, warm_up
from gpd.sizing.steps import Observed, fit
from gpd.sizing.warm_up import WARM, WARM_UPS, WarmUp

RECORDED = ROOT / "tests" / "golden" / "warm_up.tsv"  # scripts/bench/warm_up.py wrote it
SOON = WarmUp(extra=1.2, over=0.02)


@pytest.fixture(scope="module")
def recorded():
    """Machine, genome, gigabases and CPU seconds of jobs, by rule."""
    with RECORDED.open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    of_rule: dict[str, list[tuple[str | float, ...]]] = {}
    for row in rows:
        amounts = (float(row[name]) for name in ("genome_mb", "gigabases", "cpu_s"))
        of_rule.setdefault(row["rule"], []).append((row["machine"], *amounts))
    return {rule: list(zip(*jobs, strict=True)) for rule, jobs in of_rule.items()}


@pytest.mark.parametrize("rule", WARM_UPS)
def test_warm_ups_are_those_of_the_recorded_jobs(recorded, rule):
    machines, _, gigabases, cpu_s = recorded[rule]
    found, stated = warm_up.fit(machines, gigabases, cpu_s), WARM_UPS[rule]
    assert (found.extra, found.over) == pytest.approx((stated.extra, stated.over), rel=0.02)
    assert found.start == pytest.approx(stated.start, rel=0.02, abs=1e-4)


@pytest.mark.parametrize("rule", WARM_UPS)
def test_walks_warm_up_alike_on_machines_that_are_not(recorded, rule):
    machines, genome_mb, gigabases, cpu_s = recorded[rule]
    assert len(set(machines)) == 2
    warm = WARM_UPS[rule]
    off = warm_up.misfits(machines, [(warm.start or 0) + warm.work(one) for one in gigabases], cpu_s)
    for kind in set(zip(machines, genome_mb, strict=True)):
        own = [error for error, *of in zip(off, machines, genome_mb, strict=True) if tuple(of) == kind]
        assert abs(sum(own) / len(own)) < 0.08, kind


def test_what_a_larger_genome_costs_is_what_recorded_mapping_took(recorded):
    assert genome.fit(*recorded["map_and_sort"]) == pytest.approx((genome.CACHED_MB, genome.A_DOUBLING), rel=0.02)
    assert max(recorded["map_and_sort"][1]) == pytest.approx(genome.MEASURED_MB, rel=0.05)


def test_work_is_more_than_gigabases_at_first_and_grows_with_them_at_last():
    assert WARM.work(0.3) == 0.3
    assert SOON.work(1e-6) == pytest.approx(2.2e-6, rel=1e-3)
    assert SOON.work(90) == pytest.approx(90 + 1.2 * 0.02)
    work = [SOON.work(gigabases / 100) for gigabases in range(20)]
    slopes = [after - before for before, after in pairwise(work)]
    assert slopes == sorted(slopes, reverse=True)


def test_a_warm_up_is_found_again_in_the_jobs_that_follow_it():
    sizes = [0.005, 0.01, 0.02, 0.05, 0.1, 0.4]
    amounts = [0.004 + SOON.work(size) for size in sizes]
    slow, fast = [500 * amount for amount in amounts], [200 * amount for amount in amounts[:4]]
    found = warm_up.fit(["slow"] * 6 + ["fast"] * 4, sizes + sizes[:4], slow + fast)
    assert (found.extra, found.over, found.start) == pytest.approx((1.2, 0.02, 0.004), rel=0.05)


@pytest.mark.parametrize("sizes", [(0.006, 0.0062), (0.006, 0.012)], ids=["of one size", "twice as large"])
def test_a_start_that_is_known_from_elsewhere_is_told_from_what_grows(sizes):
    def seen(size: float, error: float = 1.0) -> Observed:
        return Observed("", f"{size}", size, 1, 0, error * (5 + 500 * SOON.work(size)))

    started = replace(SOON, start=0.01)
    observed = [seen(sizes[0], 0.97), seen(sizes[1], 1.03)]
    known, unknown = (fit(observed, warm_up=each)[""].seconds(0.4) / seen(0.4).wall_s - 1 for each in (started, SOON))
    assert abs(known) < 0.1 < unknown


def test_jobs_of_many_sizes_tell_their_start_themselves():
    observed = [Observed("", f"{size}", size, 1, 0, 20 + 500 * SOON.work(size)) for size in (0.006, 0.02, 0.1, 0.4)]
    law = fit(observed, warm_up=replace(SOON, start=0.01))[""]
    assert law.fixed_s == pytest.approx(20, rel=0.15)


def test_small_jobs_tell_of_large_ones_where_their_warm_up_is_known():
    def seen(size: float) -> Observed:
        return Observed("", f"{size}", size, 1, 0, 2 + 500 * SOON.work(size))

    known, unknown = (fit([seen(0.005), seen(0.01)], warm_up=each)[""] for each in (SOON, WARM))
    assert known.seconds(0.4) == pytest.approx(seen(0.4).wall_s, rel=0.02)
    assert unknown.seconds(0.4) > 1.5 * seen(0.4).wall_s


def test_a_genome_that_is_cached_or_not_known_costs_nothing_more():
    assert genome.factor(None) == genome.factor(0.1) == genome.factor(genome.CACHED_MB) == 1
    once, twice = (genome.factor(genome.CACHED_MB * 2**doublings) for doublings in (1, 2))
    assert math.isclose(once - 1, genome.A_DOUBLING)
    assert math.isclose(twice - once, genome.A_DOUBLING)
    assert genome.factor(genome.HUMAN_MB) == genome.factor(genome.MEASURED_MB) > twice
