"""Machines from published results: what was printed, its scatter, and what runs with failures say."""

import pytest

from gpd.published import curves
from gpd.published.curves import GIGABASES_A_SAMPLE, PublishedPoint
from gpd.sizing import published_machines
from gpd.sizing.sizing_grids import source_grid


@pytest.fixture(scope="module")
def machines():
    return published_machines.machines()


def test_a_machine_has_the_n_that_ran_without_failures(machines):
    numbers = {sku: [one.n for one in machine.measured] for sku, machine in machines.items()}
    assert numbers == {"8352Y": [1, 2, 4, 8, 12], "8358": [1, 8, 12, 14], "7763": [1, 2, 4]}
    assert {sku: machine.n_failed for sku, machine in machines.items()} == {"8352Y": 16, "8358": 16, "7763": 6}


def test_its_figures_are_those_that_follow_from_the_printed_hours(machines):
    one = machines["8358"].measured[-1]
    assert one.gigabases_per_day.value == pytest.approx(24 * 14 * GIGABASES_A_SAMPLE / 49.86)
    assert one.gigabases_per_day.low < one.gigabases_per_day.value < one.gigabases_per_day.high
    assert (one.gigabases, one.memory_mib, one.cpu_utilisation) == (GIGABASES_A_SAMPLE, None, None)


def point(n, hours):
    return PublishedPoint(n, 0, None, hours, {}, ())


def test_curves_that_are_lines_have_no_scatter_and_two_runs_tell_none():
    line = [point(n, 20 + 2 * n) for n in (1, 2, 4)]
    assert published_machines.scatter([line, [point(1, 20), point(2, 90)]]).se == pytest.approx(0, abs=1e-9)


def test_the_scatter_is_that_of_relative_residuals_over_all_curves():
    """Hours 100, 103 and 100 about their line of 101.2, 101.0 and 100.8, or nearly so; of five runs more none."""
    curves = [[point(n, h) for n, h in ((1, 100), (2, 103), (3, 100))], [point(n, 10.0 * n) for n in range(1, 6)]]
    found = published_machines.scatter(curves)
    residuals = (0.01, -0.0195, 0.01)
    assert found.se == pytest.approx((sum(r**2 for r in residuals) / 4) ** 0.5, rel=0.02)
    assert found.n == 5


def test_core_hours_of_others_have_sources_and_the_one_from_rows_follows_from_them():
    least, *cited = published_machines.core_hours()
    assert least.core_hours == pytest.approx(64 * 49.86 / 14, abs=0.1), "8358, 14 samples: 228"
    known = [(31, 20), (230, 50), (289, 30), (192, 30), (None, 30)]
    assert [(one.core_hours, one.depth) for one in cited] == known
    assert all(one.source and one.conditions and one.does_not_follow for one in (least, *cited))


def test_what_a_genome_held_and_used_follows_from_the_rules_of_its_workflow():
    """Daylily, mean of 7 genomes at 30x: threads x wall time, mean load x wall time, and the column cpu_time."""
    rows = curves.read_table(curves.FOLDER, "daylily_rules")
    held, used, cpu_time, usd = (
        sum(float(row[name]) for row in rows)
        for name in ("vcpu_hours_held", "vcpu_hours_used", "cpu_time_hours", "usd")
    )
    assert (round(held), round(used), round(cpu_time, 1), round(used / cpu_time)) == (578, 191, 2.4, 80)
    daylily = next(one for one in published_machines.core_hours() if "daylily" in one.source)
    assert (daylily.core_hours, daylily.usd) == (round(held / 2), round(usd, 2)), "two vCPUs a core"
    assert "191 vCPU hours used of 578 held, their column cpu_time 2.4" in daylily.does_not_follow


def test_a_genome_that_gpus_did_has_no_core_hours():
    grid = source_grid([], [one for one in published_machines.core_hours() if one.core_hours is None])
    (entry, *_) = grid.groups[-1].lines[0].entries
    assert entry.text == "not known"
