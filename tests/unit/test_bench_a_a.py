"""A/A comparisons: how many false positives are counted where that follows from the numbers."""

import random
import sys
from pathlib import Path

import pytest
from conftest import ROOT, script
from packing import write_study

sys.path.insert(0, str(ROOT / "scripts" / "bench"))

from benches import relabelled

from gpd.statistics.estimates import Estimate

a_a = script(ROOT / "scripts/bench/a_a.py")


def test_an_interval_without_one_is_a_false_positive_and_none_is_nothing() -> None:
    ratios = [Estimate(1.1, 1.05, 1.2), Estimate(1.1, 0.9, 1.3), Estimate(0.9, 0.8, 0.95), Estimate(1.0, 1.0, 1.0)]
    assert relabelled.false_positives([*ratios, Estimate(1.2), Estimate()]) == 0.5
    assert relabelled.false_positives([Estimate(1.2)]) is None
    assert relabelled.false_positives([]) is None


def test_halves_are_told_apart_where_chance_sorts_them() -> None:
    """Of two slow and two fast repeats one split in three has the slow ones together."""
    found = relabelled.halves([1, 1.001, 10, 10.01], 3000, random.Random(1))
    assert relabelled.false_positives(found) == pytest.approx(1 / 3, abs=0.03)
    assert relabelled.false_positives(relabelled.halves([2.0] * 6, 100, random.Random(1))) == 0
    assert list(relabelled.halves([1, 2, 3], 100, random.Random(1))) == [], "a half of one has no error"


def test_pairs_are_told_apart_where_all_are_turned_alike() -> None:
    """Of five pairs with nearly one ratio two labellings in 2^5 leave all of them one way round."""
    pairs = [(1.1 + at / 1000, 1.0) for at in range(5)]
    found = relabelled.swapped(pairs, 5000, random.Random(1))
    assert relabelled.false_positives(found) == pytest.approx(2 / 32, abs=0.015)
    assert list(relabelled.swapped(pairs[:1], 100, random.Random(1))) == []


def test_repeats_of_two_studies_are_compared_by_their_number(tmp_path: Path) -> None:
    given = [a_a.repeats_of(write_study(tmp_path / name)) for name in ("one", "two")]
    one, two = (f"germline, shared, compact, N = {n}" for n in (1, 2))
    assert given[0].keys() == {one, two} and given[0][one].keys() == {1, 2, 3, 4, 5}
    found = {each.what: each.values for each in a_a.of_studies(given, random.Random(1))}
    assert found.keys() == {
        *(f"study {number}, {name}: halves told apart, %" for number in (1, 2) for name in (one, two)),
        *(f"studies 1 and 2, {name}: pairs told apart, %" for name in (one, two)),
    }
    assert found[f"studies 1 and 2, {one}: pairs told apart, %"] == (0.0,), "each repeat is its own pair's"
