"""Models of published machines: simulated as their laws say, and held against runs that they have not seen."""

from dataclasses import replace
from random import Random

import pytest

from gpd.published import figures
from gpd.published.series import GIGABASES_A_SAMPLE
from gpd.sizing import published
from gpd.sizing.model import Seen
from gpd.sizing.published import FAMILIES, STEPS_FAMILY, errors, held_out
from gpd.sizing.sources import core_hours

RUNS = figures.read()


@pytest.fixture(scope="module")
def models():
    return published.models(RUNS, Random(1))


@pytest.mark.deep
@pytest.mark.parametrize("n", [1, 2, 4, 8, 12])
def test_the_simulated_makespan_is_the_sum_of_the_steps_laws(models, n):
    """All samples are alike, so that they go through each step together."""
    model = models["8352Y"]
    hours = sum(
        work.law.seconds(GIGABASES_A_SAMPLE, min(work.width, model.cores / n), n - 1) / 3600 for work in model.works
    )
    assert model.predict(n, GIGABASES_A_SAMPLE).makespan_s / 3600 == pytest.approx(hours, rel=1e-6)


def test_published_runs_are_predicted_by_a_model_that_has_not_seen_them(figure):
    found = {name: errors(held_out(RUNS, family)) for name, family in FAMILIES.items()}
    for name, one in found.items():
        figure(
            f"published runs left out, {name}: median {one.median:.1%}, worst {one.worst:.1%} of {one.runs};"
            f" with failed samples median {one.median_failed:.1%}, worst {one.worst_failed:.1%} of {one.runs_failed}"
        )
    ours = found["steps, slowed by the number of jobs"]
    assert (ours.runs, ours.runs_failed) == (12, 4)
    assert ours.median <= 0.03
    assert ours.worst <= 0.08
    assert ours.median <= min(one.median for one in found.values()) + 0.01, "a simpler one would do"


@pytest.mark.deep
def test_a_run_that_is_left_out_is_not_seen_in_any_way():
    """Its hours may be anything: what is predicted of it is the same."""
    wrong = [
        replace(run, hours={step: hours * 3 for step, hours in run.hours.items()})
        if (run.table, run.sku, run.n_samples) == (figures.THROUGHPUT, "8358", 1)
        else run
        for run in RUNS
    ]
    first, second = (
        next(one for one in held_out(runs, STEPS_FAMILY) if (one.sku, one.n) == ("8358", 1)) for runs in (RUNS, wrong)
    )
    assert first.predicted_hours == pytest.approx(second.predicted_hours)
    assert second.measured_hours == pytest.approx(3 * first.measured_hours)


@pytest.mark.deep
def test_runs_with_failures_are_in_no_fit_and_told_apart():
    failed = [(one.sku, one.n, one.failed) for one in held_out(RUNS, STEPS_FAMILY) if one.failed]
    assert failed == [("8352Y", 16, 2), ("8358", 16, 2), ("7763", 6, 1), ("7763", 10, 4)]
    assert all(run.n_failed == 0 for run in published.whole(RUNS))


def test_a_model_says_what_was_seen(models):
    size = GIGABASES_A_SAMPLE
    assert models["8352Y"].seen == Seen(1, 12, size, size, 16)
    assert models["7763"].seen == Seen(1, 4, size, size, 6)
    assert models["7763"].seen.factor(4, size) == 1
    assert models["7763"].seen.factor(8, size) == 2
    assert models["7763"].seen.factor(8, size / 2) == 4


def test_more_samples_take_longer_and_give_more_a_day(models):
    for model in models.values():
        hours = [model.predict(n, GIGABASES_A_SAMPLE).makespan_s for n in range(1, model.seen.n_high + 1)]
        daily = [model.predict(n, GIGABASES_A_SAMPLE).genomes_per_day for n in range(1, model.seen.n_high + 1)]
        assert hours == sorted(hours)
        assert daily == sorted(daily)


@pytest.mark.deep
def test_the_interval_is_of_the_seed_and_wider_beyond_what_was_seen():
    model = published.models(RUNS, Random(1), redraws=20)["8358"]

    def spread(gigabases, seed=1):
        found = model.makespan_h(model.predict(8, gigabases), Random(seed))
        assert found.low <= found.mid <= found.high
        return found.high / found.low

    seen = spread(GIGABASES_A_SAMPLE)
    assert seen == spread(GIGABASES_A_SAMPLE)
    assert spread(GIGABASES_A_SAMPLE / 64) > seen > 1


def test_core_hours_of_others_have_sources_and_the_one_from_rows_follows_from_them():
    least, *cited = core_hours(RUNS)
    assert least.core_hours == pytest.approx(64 * 49.86 / 14, abs=0.1), "8358, 14 samples: 228"
    assert [(one.core_hours, one.depth) for one in cited] == [(31, 20), (230, 50)]
    assert all(one.source and one.conditions for one in (least, *cited))
