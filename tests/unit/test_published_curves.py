"""Published figures as curve: what follows from their rows, what is missing, what is said of them."""

from decimal import Decimal

import pytest

from gpd.published import curves, figures
from gpd.published.figures import SINGLE, STEPS, THROUGHPUT, PublishedRun


def run(table=THROUGHPUT, sku="X1", n=2, failed=0, hours="2.00", printed=None):
    return PublishedRun(
        table, sku, n, failed, dict.fromkeys(STEPS.values(), hours and Decimal(hours)), printed or {}, published="2021"
    )


def test_figures_follow_from_the_rows():
    """Nine steps of 2 h are 18 h; 24 x (4 - 1) / 18 is 4."""
    (found,) = curves.by_sku([run(n=4, failed=1, printed={"genomes_per_day": Decimal("4.00")})])
    (point,) = found.points
    assert (found.sku, point.n, point.failed, point.total_hours, point.genomes_per_day) == ("X1", 4, 1, 18.0, 4.0)
    assert point.hours["map_and_sort"] == 2.0
    assert point.notes == ()
    assert point.gigabases == pytest.approx(3 * 53 * 3.1)
    assert found.cores is None


def test_a_printed_figure_that_does_not_follow_is_noted_and_not_used():
    (found,) = curves.by_sku([run(n=4, printed={"genomes_per_day": Decimal("6.00")})])
    assert found.points[0].genomes_per_day == pytest.approx(96 / 18)
    assert found.points[0].notes == ("X1, N = 4: genomes a day: printed 6.00, 5.33 follows from the steps",)


def test_what_is_missing_stays_missing():
    (found,) = curves.by_sku([run(hours=None, printed={"total_hours": Decimal("18.00")})])
    (point,) = found.points
    assert (point.total_hours, point.genomes_per_day, point.hours["map_and_sort"]) == (None, None, None)
    assert point.notes == ("X1, N = 2: total hours: printed 18.00, which the rows do not suffice to recompute",)
    assert found.saturation.n is None


def test_the_two_tables_are_not_joined():
    runs = [run(n=2), run(SINGLE, n=1), run(n=1), run(SINGLE, sku="X2", n=1)]
    found = curves.by_sku(runs)
    assert [(one.sku, one.table, [point.n for point in one.points]) for one in found] == [
        ("X1", THROUGHPUT, [1, 2]),
        ("X2", SINGLE, [1]),
    ]
    assert [one.sku for one in curves.curves(runs)] == ["X1"]


def test_the_published_curve():
    found = {one.sku: one for one in curves.by_sku(figures.read())}
    assert " ".join(found) == "8352Y 8358 7763 7713 7543 7702 7502 7402 6248R 6248"
    assert [point.n for point in found["7763"].points] == [1, 2, 4, 6, 10]
    notes = {sku: [note for point in one.points for note in point.notes] for sku, one in found.items()}
    assert {sku: told for sku, told in notes.items() if told} == {
        "7763": ["7763, N = 4: genomes a day: printed 4.79, 3.19 follows from the steps"],
        "7402": ["7402, N = 1: total hours: printed 27.25, 27.19 follows from the steps"],
    }
    assert found["8352Y"].published == "2021-05-24"
    assert (found["8352Y"].cores, found["6248"].cores) == (64, 40)
