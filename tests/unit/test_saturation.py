"""Which N the search for saturation tries next, and what it says of curves: recorded ones and made up ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpd.published import curves
from gpd.statistics.saturation import NARROW, TOLERANCE, Observation, Saturation, around, find_saturation, next_n

# what the published rows give, on paper: 24 x (N - failed) / total hours
# 8352Y: 24 x 12 / 48.20 = 5.975, 24 x 14 / 55.79 = 6.023; 8358: 24 x 14 / 49.86 = 6.739, 24 x 14 / 51.48 = 6.527
# 7763: 24 x 4 / 30.08 = 3.191, 24 x 5 / 30.08 = 3.989, 24 x 6 / 39.78 = 3.620
PUBLISHED = {"8352Y": (16, 2, 12), "8358": (14, 0, 14), "7763": (6, 1, 4)}


def curve(*daily, failed=None, se=None):
    """A curve over N = 1, 2, 3, ..."""
    return [Observation(n, value, se, (failed or {}).get(n, 0)) for n, value in enumerate(daily, 1)]


def search(throughput, limit, failed=lambda n: 0, se=None):
    """Try what next_n asks for until it asks no more: the numbers in order, and the curve."""
    seen = []
    while (n := next_n(seen, limit)) is not None:
        assert 1 <= n <= limit
        assert n not in [one.n for one in seen]
        seen.append(Observation(n, throughput(n), se, failed(n)))
    return [one.n for one in seen], seen


# the published curves


@pytest.mark.parametrize("sku", PUBLISHED)
def test_published_curves(sku):
    (curve,) = [one for one in curves.by_sku() if one.sku == sku]
    assert (curve.saturation.n, curve.saturation.failed, curve.saturation.n_without_failures) == PUBLISHED[sku]


def test_what_was_published_of_one_sample_alone_is_no_curve():
    alone = {one.sku: one.saturation for one in curves.by_sku() if one.sku not in PUBLISHED}
    assert list(alone) == ["7713", "7543", "7702", "7502", "7402", "6248R", "6248"]
    assert {(saturation.n, saturation.failed, saturation.n_without_failures) for saturation in alone.values()} == {
        (1, 0, 1)
    }
    assert alone["6248"].reason == "most genomes a day at N = 1: 0.94; more than N = 1 was not tried"


def test_the_reason_says_what_is_not_known():
    saturations = {one.sku: one.saturation for one in curves.curves()}
    assert saturations["8352Y"].reason == (
        "most genomes a day at N = 16: 6.02 (2 failed); without failures N = 12: 5.98; more than N = 16 was not tried; "
        "nothing was tried between N = 12 and 16"
    )
    assert saturations["8358"].reason == (
        "most genomes a day at N = 14: 6.74; no more at N = 16: 6.53 (2 failed); "
        "nothing was tried between N = 12 and 14, 14 and 16"
    )


# what a curve says


def test_of_what_is_equally_good_the_smallest_n_is_the_saturation():
    saturation = find_saturation(curve(5.0, 9.99, 10.0, 9.98))
    assert (saturation.n, saturation.n_without_failures) == (2, 2)
    assert (
        saturation.reason
        == "most genomes a day at N = 2: 9.99; N = 3: 10.00 is within the noise of it; no more at N = 4: 9.98"
    )


def test_more_than_the_tolerance_is_better():
    assert find_saturation(curve(10.0, 10.0 / (1 - 1.01 * TOLERANCE))).n == 2
    assert find_saturation(curve(10.0, 10.0 / (1 - 0.99 * TOLERANCE))).n == 1


def test_noise_that_repeats_tell_is_no_rise():
    # the standard error of a difference of two means of 0.3 is 0.3 x sqrt(2) = 0.424
    assert find_saturation(curve(10.0, 10.4, se=0.3)).n == 1
    assert find_saturation(curve(10.0, 10.45, se=0.3)).n == 2


def test_of_what_is_equally_good_one_without_failures_is_the_saturation():
    saturation = find_saturation(curve(5.0, 10.0, 10.0, failed={2: 1}))
    assert (saturation.n, saturation.failed, saturation.n_without_failures) == (3, 0, 3)


def test_where_all_n_have_failures_none_is_without():
    saturation = find_saturation(curve(5.0, 8.0, failed={1: 1, 2: 3}))
    assert (saturation.n, saturation.failed, saturation.n_without_failures) == (2, 3, None)
    assert "no N without failures" in saturation.reason


def test_failed_samples_that_are_not_known_are_not_none():
    saturation = find_saturation([Observation(1, 5.0), Observation(2, 8.0, failed=None)])
    assert (saturation.n, saturation.failed, saturation.n_without_failures) == (2, None, 1)


def test_without_a_genome_there_is_no_saturation():
    assert find_saturation([]) == Saturation(None, None, None, "no N was tried")
    assert find_saturation([Observation(1, 0.0, failed=1), Observation(2, None, failed=2)]) == Saturation(
        None, None, None, "no sample succeeded"
    )


def test_the_order_of_a_curve_does_not_matter():
    seen = curve(1.0, 1.9, 2.5, 2.4, failed={4: 1})
    assert find_saturation(seen[::-1]) == find_saturation(seen)


def test_repeats_have_to_be_pooled_first():
    with pytest.raises(ValueError, match="pool the repeats"):
        find_saturation([Observation(1, 5.0), Observation(1, 5.1)])


# which N to try


def test_the_search_doubles_and_then_narrows():
    # rises to 11 and falls from there: 8 and 16 are the rungs around it
    tried, seen = search(lambda n: float(n if n <= 11 else 22 - n), 40)
    assert tried == [1, 2, 4, 8, 16, 12, 10, 9, 11]
    assert find_saturation(seen).n == 11


def test_the_search_ends_where_the_pool_does():
    tried, seen = search(float, 11)
    assert tried == [1, 2, 4, 8, 11, 9, 10]
    assert find_saturation(seen).n == 11


def test_the_search_goes_no_further_where_samples_fail():
    tried, seen = search(lambda n: 10.0 * n if n < 6 else 55.0, 64, failed=lambda n: int(n >= 6))
    assert tried == [1, 2, 4, 8, 6, 5, 7]
    saturation = find_saturation(seen)
    assert (saturation.n, saturation.failed, saturation.n_without_failures) == (6, 1, 5)


def test_the_best_without_failures_is_narrowed_too():
    # the best N is 16, with failures; up to 13 none fails
    tried, seen = search(float, 64, failed=lambda n: int(n > 13))
    assert find_saturation(seen).n == 16
    assert find_saturation(seen).n_without_failures == 13
    assert max(tried) == 16


def test_the_search_narrows_to_a_tenth_of_n_and_no_further():
    tried, _ = search(lambda n: float(n if n <= 70 else 140 - n), 256)
    assert tried == [1, 2, 4, 8, 16, 32, 64, 128, 96, 48, 80, 56, 72, 68]


def test_the_search_goes_no_further_into_what_is_as_good_within_the_error():
    """From 16 on throughput is the same but for 2%: nothing is tried between 16 and 24."""
    curve = {n: min(n, 16) / 16 * (1 + 0.01 * (-1) ** n) for n in range(1, 65)}
    seen = []
    while (n := next_n(seen, 64, tolerance=0.025)) is not None:
        seen.append(Observation(n, curve[n]))
    assert [one.n for one in seen] == [1, 2, 4, 8, 16, 32, 24, 12, 14, 15]


def test_the_n_to_measure_are_the_best_and_the_next_that_are_far_enough():
    _, seen = search(lambda n: float(n if n <= 70 else 140 - n), 256)
    assert around(seen) == (48, 68, 96)
    assert around(curve(5.0, 6.0, 10.0, 9.0)) == (2, 3, 4), "nearer ones where there are no others"
    assert around(curve(5.0, 10.0, 7.0, 10.1), tolerance=0.02) == (1, 2, 4), "what comes closest to the best"
    assert around(curve(5.0, 10.0, 9.0, failed={3: 2})) == (1, 2), "none that is overloaded"
    assert around(curve(5.0, 8.0)) == (1, 2)
    assert around([Observation(1, None, failed=1)]) == around([]) == ()


def test_a_flat_curve_ends_at_once():
    assert search(lambda n: 7.0, 64)[0] == [1, 2]


def test_a_failure_at_one_sample_ends_the_search():
    assert search(lambda n: 0.0, 64, failed=lambda n: n)[0] == [1]


def test_a_pool_of_one():
    assert search(float, 1)[0] == [1]


def test_what_is_beyond_the_pool_counts_nothing():
    assert next_n([Observation(1, 1.0), Observation(8, 8.0)], 2) == 2
    assert next_n([Observation(1, 1.0), Observation(2, 2.0), Observation(8, 8.0)], 2) is None


def test_a_pool_of_none_is_refused():
    with pytest.raises(ValueError, match="limit is 0"):
        next_n([], 0)


daily = st.one_of(st.none(), st.floats(0, 1e6))
errors = st.one_of(st.none(), st.floats(0, 1e5))


@given(st.integers(1, 200), st.data())
def test_the_search_ends_on_any_curve(limit, data):
    seen = []
    while (n := next_n(seen, limit)) is not None:
        assert 1 <= n <= limit
        assert all(n != one.n for one in seen)
        seen.append(Observation(n, data.draw(daily), data.draw(errors), data.draw(st.sampled_from([0, 0, 0, 1, None]))))
    assert seen[0].n == 1
    saturation = find_saturation(seen)
    assert saturation.n in {None, *(one.n for one in seen)}
    assert saturation.n_without_failures in {None, *(one.n for one in seen if one.failed == 0)}


@pytest.mark.deep
@given(limit=st.integers(1, 200), peak=st.integers(1, 200), failing=st.integers(2, 300))
def test_the_search_finds_a_single_peak_and_the_last_n_without_failures(limit, peak, failing):
    """Rises by 1% up to the peak, falls by as much behind it, and fails from some N on."""
    tried, seen = search(lambda n: 1.01 ** (peak - abs(n - peak)), limit, failed=lambda n: int(n >= failing))
    saturation = find_saturation(seen)
    best = min(peak, limit)

    def is_near(found, wanted):
        return abs(found - wanted) <= NARROW * max(found, wanted)

    assert is_near(saturation.n_without_failures, min(best, failing - 1))
    if best < failing:
        assert is_near(saturation.n, best)
    assert len(tried) <= 8 + 1 + 3 * 8  # rungs up to 200, and halves of a gap around two answers


@given(limit=st.integers(1, 150))
def test_a_rising_curve_is_followed_to_its_end(limit):
    assert find_saturation(search(float, limit)[1]).n == limit
