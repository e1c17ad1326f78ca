"""Measurements and runs of benches: medians, bounds, how long a run took and in how many shards."""

import sys
from datetime import UTC, datetime

import pytest
import recording
from conftest import ROOT

from gpd.records.ledger import Attempt

sys.path.insert(0, str(ROOT / "scripts" / "bench"))

from benches.measurements import Measurement, show
from benches.runs import BenchRun

MOMENT = datetime(2026, 11, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("values", "bounds", "holds"),
    [
        ((1.0, 2.0, 9.0), {"least": 2.0}, True),
        ((1.0, 1.9, 9.0), {"least": 2.0}, False),
        ((0.1, 0.5, 0.6), {"most": 0.5}, True),
        ((0.1, 0.51, 0.6), {"most": 0.5}, False),
        ((1000.0,), {}, True),
    ],
)
def test_the_median_is_held_against_the_bound(
    values: tuple[float, ...], bounds: dict[str, float], holds: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = Measurement("gain", values, **bounds)
    assert measured.holds == holds
    assert show([measured, Measurement("sound", (1.0,))]) == holds
    assert capsys.readouterr().out.splitlines()[0].endswith("OUT OF BOUNDS") == (not holds)


def test_in_the_smallest_size_results_have_to_hold_alone(capsys: pytest.CaptureFixture[str]) -> None:
    slow, wrong = Measurement("gain", (1.0,), least=2.0), Measurement("differing", (1.0,), most=0, of_results=True)
    assert show([slow], smallest=True)
    assert not show([slow, wrong], smallest=True)
    assert capsys.readouterr().out.count("OUT OF BOUNDS") == 3


def test_a_measurement_shows_its_bounds_median_and_spread() -> None:
    assert str(Measurement("gain", (2.5, 1.25, 2.0), least=1.9)) == "gain (>= 1.9): 2.000 (n = 3, 1.250 to 2.500)"
    assert str(Measurement("time, s", (12345.6,), decimals=0)) == "time, s: 12,346 (n = 1, 12,346 to 12,346)"


def job(rule: str, sample: str, start: float, end: float, shard: str | None = None) -> Attempt:
    return recording.attempt(rule, sample, start, end - start, shard=shard)


def test_a_run_lasts_from_its_first_job_s_start_to_the_last_one_s_end() -> None:
    run = BenchRun((job("haplotype_caller", "A", 2, 10), job("haplotype_caller", "B", 1, 7.5)), cpu_s=14, wall_s=0.0)
    assert run.makespan_s == 9


def test_shards_are_counted_a_job() -> None:
    whole = [job("haplotype_caller", sample, 0, 1) for sample in "AB"]
    assert BenchRun(tuple(whole), 0, 0).shards("haplotype_caller") == 1
    scattered = [job("haplotype_caller", "A", 0, 1, f"{shard}/3") for shard in (1, 2, 3)]
    gathered = job("haplotype_caller", "A", 1, 2, "gather")
    again = job("haplotype_caller", "A", 0, 1, "2/3")
    other = job("base_recalibration", "A", 0, 1, "7/8")
    assert BenchRun((*whole, *scattered, gathered, again, other), 0, 0).shards("haplotype_caller") == 3
