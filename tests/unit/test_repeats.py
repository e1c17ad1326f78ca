"""How often a configuration is measured: by a number, or by the error that is left."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recording import row_of

from gpd.lab import study_runs
from gpd.lab.study_file import read_study
from gpd.records.study import Sample
from gpd.statistics.estimates import Estimate, estimate
from gpd.tables.columns import ConfigurationRow
from gpd.tables.repeats import LEAST, Repeats

AUTO = Repeats(None, 0.025, 7)


def seen(repeats, value, half=None):
    """A configuration whose repeats came to this many genomes a day, and this half-width."""
    daily = value if isinstance(value, Estimate) else Estimate(value, high=half if half is None else value + half)
    return row_of(ConfigurationRow, repeats=repeats, genomes_per_day=daily)


@pytest.mark.parametrize(
    ("so_far", "wanted"),
    [
        (None, 5),
        (seen(2, 100.0, 0.1), 5),  # two are not believed, however near each other
        (seen(5, 100.0, 2.5), 5),
        (seen(5, 100.0, 2.6), 6),
        (seen(6, 100.0, 2.6), 7),
        (seen(7, 100.0, 50.0), 7),  # the limit
        (seen(8, 100.0, 50.0), 8),  # of an earlier, higher limit: what was run stays
        (seen(5, 0.0, 0.0), 5),  # nothing came out: nothing is left to learn
        (seen(5, None), 6),
    ],
)
def test_repeats_go_on_until_the_error_is_small_or_the_limit_is_reached(so_far, wanted):
    assert AUTO.wanted(so_far) == wanted


def test_a_number_is_a_number():
    assert Repeats(3, 0.025, 6).wanted(seen(1, 100.0, 50.0)) == 3
    assert (Repeats(3, 0.025, 6).limit, AUTO.limit) == (3, 7)


def test_what_is_small_enough_is_the_half_width_of_a_t_interval():
    """Of 98, 99, 100, 101 and 102 the standard error is sqrt(2.5 / 5) = 0.707, t of 4 degrees of freedom 2.776."""
    so_far = seen(5, estimate([98, 99, 100, 101, 102]))
    assert so_far.genomes_per_day.half_width == pytest.approx(2.776 * 0.7071, abs=1e-3)
    assert Repeats(None, 0.0197, 10).wanted(so_far) == 5
    assert Repeats(None, 0.0196, 10).wanted(so_far) == 6


def test_a_limit_below_the_least_is_the_limit():
    assert Repeats(None, 0.025, 2).wanted() == 2
    assert Repeats(None, 0.025, 2).wanted(seen(2, 100.0, 50.0)) == 2


@given(
    st.integers(0, 30),
    st.floats(0, 1e6),
    st.one_of(st.none(), st.floats(0, 1e6)),
    st.integers(1, 20),
)
def test_no_repeat_is_given_back_and_the_next_is_one_more(ended, mean, half, most):
    wanted = Repeats(None, 0.025, most).wanted(seen(ended, mean, half))
    assert wanted >= ended or wanted == min(LEAST, most)
    assert wanted <= max(most, ended)
    assert wanted <= max(ended + 1, LEAST)


# ---- the grid ------------------------------------------------------------------------------------------


@pytest.fixture
def settings(tmp_path):
    path = tmp_path / "throughput.yaml"
    path.write_text(
        "pipelines: {germline: {}}\nconcurrent_samples: [1, 2, 4]\nrepeats: auto\nmost_repeats: 7\nwarm_up: 0\n"
    )
    return read_study(path)


POOLS = {"germline": [Sample(f"S{number}") for number in range(1, 9)]}


def specs(settings, so_far=None):
    return [(spec.n, spec.repeat) for spec in study_runs.planned(settings, POOLS, 8, seen=so_far)]


def test_each_point_has_as_many_repeats_as_it_takes(settings):
    (line,) = study_runs.curves(settings, "germline")
    so_far = {
        (line, 1): seen(5, 100.0, 1.0),
        (line, 2): seen(5, 100.0, 9.0),
        (line, 4): seen(7, 100.0, 9.0),
    }
    found = specs(settings, so_far)
    assert {n: max(repeat for at, repeat in found if at == n) for n in (1, 2, 4)} == {1: 5, 2: 6, 4: 7}
    assert len(found) == 5 + 6 + 7


def test_what_repeats_came_to_does_not_change_the_order_of_the_others(settings):
    (line,) = study_runs.curves(settings, "germline")
    before, later = specs(settings), specs(settings, {(line, 2): seen(5, 100.0, 9.0)})
    assert later[: len(before)] == before == sorted(before, key=lambda spec: spec[1])
    assert later[len(before) :] == [(2, 6)]
    assert {tuple(n for n, repeat in before if repeat == round_) for round_ in (1, 2, 3)} != {(1, 2, 4)}
