"""Laws of steps: what was put in is found, what the data can't tell is left out, and what is drawn anew has a seed."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpd.sizing.contention import mean_others
from gpd.sizing.steps import Law, Observed, fit, redrawn

LAW = Law(5.0, 40.0, 300.0, 0.05)
SIZES, WIDTHS, OTHERS = (0.3, 0.6, 1.2, 5.0), (1, 2, 4, 8), (0, 1, 3, 7)


def seen(law, gigabases, width, others, machine="a", run="1"):
    return Observed(machine, run, gigabases, width, others, law.seconds(gigabases, width, others))


GRID = [seen(LAW, size, width, others) for size in SIZES for width in WIDTHS for others in OTHERS]


def test_a_law_is_found_from_what_follows_it():
    found = fit(GRID)["a"]
    assert found.fixed_s == pytest.approx(LAW.fixed_s, rel=0.02)
    assert found.serial_s_per_gb == pytest.approx(LAW.serial_s_per_gb, rel=0.02)
    assert found.parallel_core_s_per_gb == pytest.approx(LAW.parallel_core_s_per_gb, rel=0.02)
    assert found.slowdown == pytest.approx(LAW.slowdown, abs=0.002)


@settings(deadline=None, max_examples=20)
@given(st.floats(0.5, 20), st.integers(1, 8), st.integers(0, 7))
def test_what_it_says_between_and_beyond_is_what_the_law_says(size, width, others):
    found = fit(GRID)["a"]
    assert found.seconds(size, width, others) == pytest.approx(LAW.seconds(size, width, others), rel=0.02)


def test_of_one_size_what_is_fixed_is_not_told_from_what_grows():
    found = fit([seen(LAW, 1.0, width, 0) for width in WIDTHS])["a"]
    assert (found.has_fixed, found.fixed_s) == (False, 0.0)
    assert found.seconds(1.0, 4) == pytest.approx(LAW.seconds(1.0, 4), rel=0.01)


def test_of_one_width_what_cores_do_is_not_told():
    found = fit([seen(LAW, size, 1, 0) for size in SIZES])["a"]
    assert (found.has_parallel, found.parallel_core_s_per_gb) == (False, 0.0)
    assert found.slowdown == 0


def test_no_term_is_below_zero():
    noisy = [Observed("a", str(at), size, 1, 0, 100 / size) for at, size in enumerate(SIZES)]
    found = fit(noisy)["a"]
    assert min(found.fixed_s, found.serial_s_per_gb, found.parallel_core_s_per_gb) >= 0


def test_a_machine_of_which_little_is_known_borrows_from_the_others():
    few = seen(LAW, 1.0, 1, 0, machine="b")
    alone, beside = fit([few])["b"], fit([*GRID, few])["b"]
    assert beside.seconds(1.0, 8) == pytest.approx(LAW.seconds(1.0, 8), rel=0.05)
    assert alone.seconds(1.0, 8) > 2 * beside.seconds(1.0, 8)


def test_runs_are_drawn_anew_the_same_for_all_steps_and_by_the_seed():
    steps = {
        step: [seen(LAW, 1.0, 1, 0, run=str(run)) for run in range(5)] for step in ("map_and_sort", "haplotype_caller")
    }
    one, again, other = (redrawn(steps, Random(seed)) for seed in (1, 1, 2))
    assert one == again != other
    assert [job.run for job in one["map_and_sort"]] == [job.run for job in one["haplotype_caller"]]
    assert len(one["map_and_sort"]) == 5


def test_how_many_ran_beside_a_job_is_a_mean_over_its_time():
    assert mean_others([(0, 10), (5, 15)]) == [0.5, 0.5]
    assert mean_others([(0, 10), (0, 10), (0, 10)]) == [2, 2, 2]
    assert mean_others([(0, 4), (4, 8)]) == [0, 0]
