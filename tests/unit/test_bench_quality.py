"""The bench of quality: what of the CPU time grows with the data is its share at a genome's size."""

import sys
from collections import Counter
from pathlib import Path

import pytest
from conftest import ROOT, script

sys.path.insert(0, str(ROOT / "scripts" / "bench"))

from benches.cohorts import Simulated


def test_what_a_run_of_any_size_takes_has_no_part_in_the_share_of_a_genome(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = script(ROOT / "scripts/bench/quality.py")
    gigabases = {"run-0-1000000": 0.03, "run-0-5000000": 0.15}

    def taken(runner: object, folder: Path) -> Counter[str]:
        size = gigabases[folder.name]
        return Counter({bench.STEPS: 20 + 980 * size, "depth": 20 * size, "multiqc": 10})

    monkeypatch.setattr(bench, "runner", lambda *_: None)
    monkeypatch.setattr(bench, "cpu_seconds", taken)
    cohort = Simulated("mb5", samples=1, length=5_000_000, coverage=30)
    found = {each.what: each for each in bench.measure(cohort, Path("folder"), seed=1, repeats=1)}
    assert found["1 Mb: share of quality in CPU time"].values == pytest.approx((10.6 / 60,))
    assert found["depth: CPU seconds a gigabase"].values == pytest.approx((20,))
    assert found["multiqc: CPU seconds a gigabase"].values == pytest.approx((0,))
    genome = found["a genome, extrapolated: share of quality in CPU time"]
    assert genome.values == pytest.approx((0.02,)) and genome.holds
