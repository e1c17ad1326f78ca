"""Published results as curves: what follows from their rows, what is missing, what is said of them."""

import pytest

from gpd.published import curves
from gpd.published.curves import NOTES, SINGLE, STEPS, THROUGHPUT

HEADS = {
    THROUGHPUT: "sku published n_samples n_failed step hours",
    SINGLE: "sku published cores_per_socket step hours",
    NOTES: "sku n_samples note",
}


@pytest.fixture
def of(tmp_path):
    """The curves of tables; those that are not given are empty."""

    def read(**tables):
        for name, head in HEADS.items():
            rows = [head.split(), *tables.get(name, [])]
            (tmp_path / f"{name}.tsv").write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
        return curves.by_sku(tmp_path)

    return read


def run(sku="X1", n=2, failed=0, hours="2.00"):
    return [(sku, "2021", n, failed, step, hours) for step in STEPS]


def alone(sku):
    return [(sku, "2021", 32, step, "2.00") for step in STEPS]


def test_figures_follow_from_the_rows(of):
    """Nine steps of 2 h are 18 h; 24 x (4 - 1) / 18 is 4."""
    (found,) = of(**{THROUGHPUT: run(n=4, failed=1)})
    (point,) = found.points
    assert (found.sku, point.n, point.failed, point.total_hours, point.genomes_per_day) == ("X1", 4, 1, 18.0, 4.0)
    assert point.hours["map_and_sort"] == 2.0
    assert point.notes == ()
    assert point.gigabases == pytest.approx(3 * 53 * 3.1)
    assert found.cores is None


def test_what_is_missing_stays_missing(of):
    (found,) = of(**{THROUGHPUT: run(failed="", hours="")})
    (point,) = found.points
    assert (point.failed, point.total_hours, point.genomes_per_day) == (None, None, None)
    assert point.hours["map_and_sort"] is None
    assert found.saturation.n is None


def test_the_two_tables_are_not_joined(of):
    found = of(**{THROUGHPUT: [*run(n=2), *run(n=1)], SINGLE: [*alone("X1"), *alone("X2")]})
    assert [(one.sku, one.cores, [point.n for point in one.points]) for one in found] == [
        ("X1", 64, [1, 2]),
        ("X2", 64, [1]),
    ]


def test_the_published_curve():
    found = {one.sku: one for one in curves.by_sku()}
    assert " ".join(found) == "8352Y 8358 7763 7713 7543 7702 7502 7402 6248R 6248"
    assert [point.n for point in found["7763"].points] == [1, 2, 4, 6, 10]
    assert [one.sku for one in curves.curves()] == ["8352Y", "8358", "7763"]
    notes = {sku: [note for point in one.points for note in point.notes] for sku, one in found.items()}
    assert {sku: told for sku, told in notes.items() if told} == {
        "7763": ["7763, N = 4: genomes a day: printed 4.79, 3.19 follows from the steps"],
        "7402": ["7402, N = 1: total hours: printed 27.25, 27.19 follows from the steps"],
    }
    assert found["8352Y"].published == "2021-05-24"
    assert (found["8352Y"].cores, found["6248"].cores) == (64, 40)
