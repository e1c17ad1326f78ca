"""Means and intervals against figures that others computed: textbooks, R, scipy.stats."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpd.statistics.estimates import Estimate, by_student, estimate, paired_ratio, ratio, total

# Student's sleep data of 1908, as R has it (datasets::sleep)
SLEEP_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SLEEP_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
# t at 97.5% by degrees of freedom, as tables print it
T_975 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 9: 2.262, 30: 2.042}
positive = st.lists(st.floats(0.5, 2), min_size=2, max_size=6)


def test_mean_and_errors():
    found = estimate([2, 4, 4, 4, 5, 5, 7, 9])
    assert (found.n, found.value) == (8, 5)
    assert found.sd == pytest.approx(math.sqrt(32 / 7))
    assert found.se == pytest.approx(math.sqrt(32 / 7 / 8))


def test_the_interval_that_r_prints():
    """t.test(sleep$extra[1:10]): mean 0.75, 95 percent confidence interval -0.5297804 2.0297804."""
    found = estimate(SLEEP_1)
    assert found.value == pytest.approx(0.75)
    assert (found.low, found.high) == pytest.approx((-0.5297804, 2.0297804), abs=5e-8)


@pytest.mark.parametrize("freedom", T_975)
def test_the_quantiles_of_printed_tables(freedom):
    found = by_student(0.0, 1.0, freedom + 1)
    assert found.high == found.half_width == pytest.approx(T_975[freedom], abs=5e-4)
    assert found.low == -found.high


def test_one_repeat_has_no_error_and_no_interval():
    one = estimate([3.5])
    assert one == Estimate(3.5, n=1)
    assert (one.half_width, one.relative_half_width) == (None, None)
    assert ratio(one, estimate([1, 2])) == Estimate(3.5 / 1.5)
    assert ratio(estimate([1, 2]), one) == Estimate(1.5 / 3.5)


def test_what_is_missing_is_left_out_and_is_not_zero():
    assert estimate([None, 4, None, 6]) == estimate([4, 6])
    assert estimate([None]) == estimate([]) == Estimate()
    assert ratio(estimate([]), estimate([1, 2])) == Estimate()


def test_a_ratio_by_hand():
    """Relative errors 0.1 and 0.1: together sqrt(0.02), with 4 degrees of freedom, t = 2.776445."""
    half = 2.776445 * math.sqrt(0.02)
    found = ratio(by_student(10.0, 1.0, 3), by_student(5.0, 0.5, 3))
    assert found.value == 2
    assert found.low == pytest.approx(2 * math.exp(-half), rel=1e-6)
    assert found.high == pytest.approx(2 * math.exp(half), rel=1e-6)


def test_a_ratio_is_the_welch_interval_of_logarithms_where_spread_is_small():
    import scipy.stats

    draw = np.random.default_rng(1)
    a, b = draw.normal(800, 4, 5), draw.normal(500, 8, 3)
    welch = scipy.stats.ttest_ind(np.log(a), np.log(b), equal_var=False).confidence_interval()
    found = ratio(estimate(a), estimate(b))
    assert math.log(found.low) == pytest.approx(welch.low, rel=0.01)
    assert math.log(found.high) == pytest.approx(welch.high, rel=0.01)


def test_the_interval_of_a_ratio_holds_the_truth_as_often_as_it_says():
    draw = np.random.default_rng(2)
    pairs = [(draw.normal(1300, 40, 5), draw.normal(1000, 60, 4)) for _ in range(2000)]
    found = [ratio(estimate(a), estimate(b)) for a, b in pairs]
    held = sum(r.low <= 1.3 <= r.high for r in found) / len(found)
    assert 0.935 < held < 0.968  # 0.95, and three standard errors of a share of 2,000 beside it


@given(positive, positive)
def test_a_ratio_turned_over_has_its_interval_turned_over(a, b):
    there, back = ratio(estimate(a), estimate(b)), ratio(estimate(b), estimate(a))
    assert there.low <= there.value <= there.high
    assert there.low == pytest.approx(1 / back.high)
    assert there.high == pytest.approx(1 / back.low)


def test_a_paired_ratio_is_the_t_interval_of_logarithms():
    import scipy.stats

    pairs = list(zip(np.exp(SLEEP_2), np.exp(SLEEP_1), strict=True))
    expected = scipy.stats.ttest_rel(SLEEP_2, SLEEP_1)  # R: t.test(paired = TRUE): 0.7001142 2.4598858
    found, interval = paired_ratio(pairs), expected.confidence_interval()
    assert math.log(found.value) == pytest.approx(1.58)
    assert (math.log(found.low), math.log(found.high)) == pytest.approx((0.7001142, 2.4598858), abs=5e-8)
    assert (math.log(found.low), math.log(found.high)) == pytest.approx((interval.low, interval.high))


def test_what_pairs_share_is_not_in_their_interval():
    """Samples that differ by a factor of 3, and one mode 10% faster on each of them."""
    slow = [100.0, 200.0, 300.0, 150.0, 250.0]
    fast = [110.5, 219.0, 331.0, 164.0, 276.0]
    paired, apart = paired_ratio(list(zip(fast, slow, strict=True))), ratio(estimate(fast), estimate(slow))
    assert 1.09 < paired.low < 1.1 < paired.high < 1.11
    assert apart.low < 0.7 and apart.high > 1.6


def test_pairs_without_a_ratio_have_none():
    assert paired_ratio([]) == paired_ratio([(0.0, 1.0), (1.0, 1.0)]) == Estimate()
    assert paired_ratio([(3.0, 2.0)]) == Estimate(pytest.approx(1.5), n=1)


def test_repeats_that_are_all_the_same_leave_no_doubt():
    assert ratio(estimate([3, 3]), estimate([2, 2])) == Estimate(1.5, 1.5, 1.5)


def test_a_mean_that_is_not_above_zero_has_no_ratio_to_trust():
    assert ratio(estimate([0, 0]), estimate([1, 2])) == Estimate(0)
    assert ratio(estimate([1, 2]), estimate([0, 0])) == Estimate()
    assert ratio(estimate([1, 2]), estimate([-3, 1])).low is None


def test_an_interval_beyond_all_numbers_is_none():
    found = ratio(estimate([-100, 100.1]), estimate([1, 2]))
    assert found.value > 0
    assert (found.low, found.high) == (None, None)


def test_a_share_of_nothing_is_not_known():
    assert Estimate(2.0, 1.0, 3.0).relative_half_width == 0.5
    assert [Estimate(value, -1.0, 1.0).relative_half_width for value in (0.0, None, -1.0)] == [None] * 3


def test_what_is_divided_by_an_estimate_has_its_ends_turned():
    assert Estimate(2, 1, 4).over(8) == Estimate(4, 2, 8)
    assert Estimate(2).over(8) == Estimate(4)
    assert Estimate(2, 1.1, 2.2).each(math.ceil) == Estimate(2, 2, 3)


def test_the_worst_is_the_upper_end_as_far_as_it_is_known():
    assert [one.worst for one in (Estimate(2, 1, 4), Estimate(2), Estimate())] == [4, 2, math.inf]


def test_the_errors_of_a_sum_add_in_squares():
    """3^2 + 4^2 = 5^2, of 4 degrees of freedom each: 25^2 / (81 / 4 + 256 / 4) = 7.4, so 7, of which t is 2.365."""
    found = total([by_student(10.0, 3.0, 5), by_student(20.0, 4.0, 5), Estimate(1.0, se=0.0)])
    assert (found.value, found.se, found.n) == (31, 5, 8)
    assert found.half_width == pytest.approx(2.365 * 5, rel=1e-3)


def test_a_sum_with_a_part_of_no_known_error_has_no_interval():
    assert total([by_student(10.0, 3.0, 5), Estimate(1.0)]) == Estimate(11.0)
    assert total([Estimate(1.0, se=0.0)]) == Estimate(1.0)


def test_an_error_of_another_kind_adds_in_squares():
    """3 and 4% of 100 are 5; the half-widths are 2.776 x 3 by Student's t, and 1.96 x 4."""
    of = by_student(100.0, 3.0, 5).with_error(0.04)
    assert (of.value, of.n, of.se) == (100, 5, pytest.approx(5))
    assert of.half_width == pytest.approx(math.hypot(2.776 * 3, 1.96 * 4), rel=1e-3)
    assert by_student(100.0, 3.0, 5).with_error(0.0).half_width == pytest.approx(2.776 * 3, rel=1e-3)
    assert estimate([100.0]).with_error(0.04) == estimate([100.0])
