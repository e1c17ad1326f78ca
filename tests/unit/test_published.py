"""Others' figures: what follows from hand-made tables, what the real ones come to, and what is refused."""

import importlib.util
import runpy
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpd.pipelines import ALTERNATIVES, PIPELINES
from gpd.published import curves
from gpd.published.curves import SINGLE, THROUGHPUT

spec = importlib.util.spec_from_file_location("check_published", curves.FOLDER / "check.py")
figures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(figures)
PublishedRun, TOTALS = figures.PublishedRun, figures.TOTALS

HEADS = {
    THROUGHPUT: "sku published server cpu n_samples n_failed step_number step hours",
    TOTALS: "sku n_samples n_failed total_hours genomes_per_day",
    SINGLE: "sku published cores_per_socket base_ghz step_number step hours cores_used published_total_hours",
}
HOURS = ("2.00", "1.00", "0.50", "8.00", "2.00", "10.00", "0.02", "0.40", "0.08")  # 24.00 together

# On paper, from the printed rows:
# 7763, N = 4: 4.33 + 1.69 + 1.77 + 8.92 + 2.79 + 10.27 + 0.10 + 0.20 + 0.01 = 30.08; 24 x 4 / 30.08 = 3.1915;
#   24 x 4 / (30.08 +- 0.045) is 3.187 to 3.196, and with 0.005 for the figure's own rounding 3.19 and 3.20 are left
# 7402, alone: 5.73 + 0.94 + 0.44 + 8.21 + 2.67 + 9.05 + 0.01 + 0.13 + 0.01 = 27.19; +- 0.050 is 27.14 to 27.24
# 8352Y, N = 16: 26.62 + 3.05 + 1.25 + 8.11 + 7.20 + 9.26 + 0.04 + 0.23 + 0.03 = 55.79, printed 55.78: rounding;
#   24 x (16 - 2) / 55.79 = 6.0226, printed 6.02: follows
CHECKED = """\
7763, N = 4: genomes a day: printed 4.79, 3.19 follows from the steps
7402, N = 1: total hours: printed 27.25, 27.19 follows from the steps
40 of 42 printed figures follow from the steps' hours
"""


def step_rows(hours=HOURS, sku="X1", samples=1, failed=0):
    named = zip(curves.STEPS, hours, strict=True)
    return [
        [sku, "2021-01-01", "a server", "two CPUs", samples, failed, number, step, value]
        for number, (step, value) in enumerate(named, 1)
    ]


@pytest.fixture
def folder(tmp_path):
    """Write tables; those that are not given are empty. Return their folder."""

    def write(**tables):
        for name, head in HEADS.items():
            rows = [head.split(), *tables.get(name, [])]
            (tmp_path / f"{name}.tsv").write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
        return tmp_path

    return write


def run(hours=HOURS, samples=1, failed=0, **printed):
    """A made-up run, of numbers as they would be printed."""
    named = zip(curves.STEPS.values(), hours, strict=True)
    return PublishedRun(
        table=THROUGHPUT,
        sku="X1",
        n_samples=samples,
        n_failed=failed,
        hours={step: Decimal(value) if value else None for step, value in named},
        printed={name: Decimal(value) for name, value in printed.items()},
    )


# what follows


def test_the_publications_steps_are_our_nine_in_order():
    assert tuple(curves.STEPS.values()) == tuple(
        step for step in PIPELINES["germline"].steps if step not in ALTERNATIVES
    )


times = st.decimals(min_value="0.3", max_value=30, places=6)


@given(st.lists(times, min_size=9, max_size=9), st.integers(1, 64), st.data())
def test_consistent_numbers_yield_no_finding_however_they_were_rounded(exact, samples, data):
    failed = data.draw(st.integers(0, samples))
    total = sum(exact)
    cent = Decimal("0.01")
    whole = run(
        [str(value.quantize(cent)) for value in exact],
        samples,
        failed,
        total_hours=str(total.quantize(cent)),
        genomes_per_day=str((24 * (samples - failed) / total).quantize(cent)),
    )
    assert [figure.follows for figure in figures.figures([whole])] == [True, True]


@given(st.lists(times, min_size=9, max_size=9), st.integers(6, 500), st.sampled_from((-1, 1)))
def test_a_total_further_off_than_rounding_is_always_found(exact, cents, sign):
    hours = [value.quantize(Decimal("0.01")) for value in exact]
    (figure,) = figures.figures([run(map(str, hours), total_hours=str(sum(hours) + sign * cents * Decimal("0.01")))])
    assert figure.follows is False


# tables


def test_the_tables_agree_with_themselves():
    """Each run has each step once, in order; what is said of a whole run is the same in each of its rows."""
    steps, totals, alone = (curves.read_table(curves.FOLDER, name) for name in (THROUGHPUT, TOTALS, SINGLE))
    alone = [{**row, "n_samples": "1", "n_failed": "0"} for row in alone]
    names = list(curves.STEPS)
    for table, of_run in ((steps, "published server cpu n_failed"), (alone, "published published_total_hours")):
        assert [int(row["step_number"]) for row in table] == [names.index(row["step"]) + 1 for row in table]
        for rows in figures.by_run(table).values():
            numbers = [int(row["step_number"]) for row in rows]
            assert numbers == sorted(set(numbers))
            assert all(len({row[column] for row in rows}) == 1 for column in of_run.split())
    for rows in figures.by_run([*({**row, "total": ""} for row in steps), *totals]).values():
        assert sum("total" not in row for row in rows) <= 1
        assert len({row["n_failed"] for row in rows}) == 1
    for row in (*steps, *totals, *alone):
        assert None not in (*row, *row.values())
        assert int(row["n_failed"] or 0) <= int(row["n_samples"])
        assert all(float(row[name] or 0) >= 0 for name in ("hours", *figures.FIGURES) if name in row)


# check


def test_check_of_the_published_results(capsys):
    runpy.run_path(str(curves.FOLDER / "check.py"), run_name="__main__")
    assert capsys.readouterr().out == CHECKED
    notes = [row["note"] for row in curves.read_table(curves.FOLDER, curves.NOTES)]
    assert notes == CHECKED.splitlines()[:-1]


def test_what_cannot_be_recomputed_is_said(folder):
    totals = [["X1", 1, 0, "24.00", "1.00"], ["X2", 4, 0, "30.00", ""]]
    place = folder(**{THROUGHPUT: step_rows(), TOTALS: totals})
    notes = [figures.notes(run) for run in figures.read(place)]
    assert notes == [[], ["X2, N = 4: total hours: printed 30.00, which the rows do not suffice to recompute"]]
