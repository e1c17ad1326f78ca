"""Amdahl's law fitted: known answers, and what too few thread counts do not tell."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpd.statistics.amdahl import Fit, fit

THREAD_COUNTS = (1, 2, 4, 8, 16)


def law(threads, t1_s, serial):
    """Seconds with so many threads."""
    return t1_s * (serial + (1 - serial) / threads)


@pytest.mark.parametrize(("t1_s", "serial"), [(100.0, 0.0), (100.0, 1.0), (3600.0, 0.05), (0.5, 0.7)])
def test_exact_times_give_the_law_back(t1_s, serial):
    found = fit((threads, law(threads, t1_s, serial)) for threads in THREAD_COUNTS)
    assert found.thread_counts == 5
    assert (found.t1_s, found.serial_fraction) == pytest.approx((t1_s, serial), abs=1e-6)
    assert (found.t1_se, found.serial_fraction_se) == pytest.approx((0, 0), abs=1e-6)


@pytest.mark.deep
@given(
    t1_s=st.floats(0.1, 1e5),
    serial=st.floats(0, 1),
    thread_counts=st.sets(st.integers(1, 128), min_size=3, max_size=8),
    repeats=st.integers(1, 3),
)
def test_any_law_is_found_in_exact_times(t1_s, serial, thread_counts, repeats):
    found = fit([(threads, law(threads, t1_s, serial)) for threads in thread_counts] * repeats)
    assert found.t1_s == pytest.approx(t1_s, rel=1e-3)
    assert found.serial_fraction == pytest.approx(serial, abs=1e-3)


@pytest.mark.deep
@given(st.floats(1e-3, 1e3), st.randoms(use_true_random=False))
def test_another_unit_of_time_changes_no_fraction(unit, draw):
    times = [(threads, law(threads, 50.0, 0.2) * draw.uniform(0.9, 1.1)) for threads in THREAD_COUNTS]
    one, other = fit(times), fit((threads, seconds * unit) for threads, seconds in times)
    assert other.serial_fraction == pytest.approx(one.serial_fraction, rel=1e-3, abs=1e-5)
    assert other.serial_fraction_se == pytest.approx(one.serial_fraction_se, rel=1e-2)
    assert other.t1_s == pytest.approx(one.t1_s * unit, rel=1e-3)


def test_its_standard_error_is_that_of_many_fits():
    """Of 300 sets of noisy times: the spread of what was fitted is what each fit said of itself."""
    draw = random.Random(1)
    fits = [
        fit((n, law(n, 100.0, 0.1) * draw.gauss(1, 0.02)) for n in THREAD_COUNTS for _ in range(3)) for _ in range(300)
    ]
    mean = sum(one.serial_fraction for one in fits) / len(fits)
    spread = (sum((one.serial_fraction - mean) ** 2 for one in fits) / (len(fits) - 1)) ** 0.5
    told = sum(one.serial_fraction_se for one in fits) / len(fits)
    assert mean == pytest.approx(0.1, abs=0.002)
    assert told == pytest.approx(spread, rel=0.15)


def test_two_thread_counts_are_met_exactly_and_have_no_uncertainty():
    found = fit([(1, 11.0), (1, 9.0), (2, 6.0), (2, 8.0)])
    assert found == Fit(2, 4, pytest.approx(10.0), None, pytest.approx(0.4))


@pytest.mark.parametrize("times", [[], [(4, 10.0)], [(2, 10.0), (2, 11.0)]])
def test_one_thread_count_has_no_law(times):
    found = fit(times)
    assert found.serial_fraction is found.t1_s is found.serial_fraction_se is None
    assert found.thread_counts == len({threads for threads, _ in times})


@pytest.mark.parametrize(
    ("times", "beyond"),
    [
        ([(1, 10.0), (2, 4.0), (4, 1.5)], lambda serial: serial < 0),
        ([(1, 10.0), (2, 12.0), (4, 15.0)], lambda s: s > 1),
    ],
)
def test_what_the_law_is_not_is_not_hidden(times, beyond):
    assert beyond(fit(times).serial_fraction)


def test_times_of_nothing_are_left_out():
    assert fit([(1, 0.0), (2, 5.0), (4, 3.0)]).thread_counts == 2
