"""Throughput without ramp and tail: batches whose rate is known beforehand."""

import random

import pytest
import recorded_studies
from msgspec import structs

from gpd.statistics.steady_state import Batch, steady_state
from gpd.tables import collect, rows
from gpd.text.formats import SECONDS_PER_DAY

RAMP_S, RATE_S = 50.0, 10.0  # of a batch, and a sample


def batches(numbers, repeats=5, noise=0.0, used=None, makespan=lambda n: RAMP_S + RATE_S * n):
    """Runs whose samples take so much longer or shorter a repeat, as other samples do."""
    draw = random.Random(1)
    return [
        Batch(n, repeat, makespan(n) * factor, used)
        for repeat, factor in ((repeat, 1 + draw.uniform(-noise, noise)) for repeat in range(1, repeats + 1))
        for n in numbers
    ]


def test_the_slope_has_no_ramp_and_no_tail():
    """32 samples take 370 s: 7,473 a day, where 8,640 are to be had."""
    found = steady_state(batches((8, 16, 32, 48, 64)))
    assert found.daily == pytest.approx(SECONDS_PER_DAY / RATE_S)
    assert (found.low, found.high) == pytest.approx((found.daily, found.daily))
    assert found.numbers == (32, 48, 64), "below that a batch gives less than nine tenths of the most"


def test_its_interval_holds_what_is_to_be_had():
    found = steady_state(batches((32, 64), noise=0.05))
    assert found.low < SECONDS_PER_DAY / RATE_S < found.high
    assert 0.9 < found.low / found.high < 1


def test_cores_that_were_idle_are_no_throughput():
    """One sample leaves half of the machine idle and a second takes 2% longer: that is no 170,000 a day."""
    assert steady_state(batches((1, 2), makespan=lambda n: 22.0 + 0.5 * (n - 1))) is None


def test_more_than_the_cpus_can_give_is_no_steady_state():
    """From 9 to 10 samples next to nothing is added while a tenth of the cores is idle."""
    flat = batches((9, 10), makespan=lambda n: 100.0 + n / 1000, used=0.9)
    assert steady_state(flat) is None
    filled = batches((10, 11, 12), makespan={10: 100.0, 11: 100.1, 12: 110.0}.get, used=0.9)
    assert steady_state(filled).numbers == (11, 12), "the eleventh took an idle core"


def test_a_makespan_that_may_not_grow_has_no_upper_end():
    slopes = [Batch(n, repeat, 100 + slope * n) for repeat, slope in ((1, 5), (2, 15)) for n in (100, 110)]
    found = steady_state(slopes)
    assert found.daily == pytest.approx(8640)
    assert (found.high, found.low) == (None, pytest.approx(SECONDS_PER_DAY / (10 + 12.706 * 5), rel=1e-4))


def test_of_one_repeat_there_is_no_interval_and_of_one_n_no_slope():
    one = steady_state(batches((32, 64), repeats=1))
    assert (one.daily, one.low, one.high) == (pytest.approx(8640), None, None)
    assert steady_state(batches((32,))) is None
    assert steady_state([]) is None


def test_it_stands_in_the_rows_of_the_n_that_it_is_over():
    run = next(run for run in collect.collect(recorded_studies.study()).runs if run.counted)

    def at(n, repeat):
        makespan_s = RAMP_S + RATE_S * n
        return structs.replace(run, n=n, repeat=repeat, makespan_s=makespan_s, cpu_utilisation=None, failed=0)

    points = rows.configurations([at(n, repeat) for n in (1, 32, 64) for repeat in (1, 2)])
    assert [point.steady_genomes_per_day for point in points] == [None, pytest.approx(8640), pytest.approx(8640)]
