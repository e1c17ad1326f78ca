"""The soak: a round of each pipeline, so that the cohorts which it draws can be run on the day hours of it are due."""

import subprocess
import sys

import pytest
from conftest import ROOT

pytestmark = pytest.mark.e2e
ONE_ROUND = "0.0001"  # hours


@pytest.mark.parametrize(
    ("seed", "pipeline"),
    [(3, "germline, mapping alone"), pytest.param(5, "tuxedo", marks=pytest.mark.long)],
)
def test_a_round_of_the_soak_holds(seed: int, pipeline: str, tmp_path) -> None:
    words = ["--hours", ONE_ROUND, "--seed", str(seed), "--folder", str(tmp_path / "rounds")]
    run = subprocess.run(
        [sys.executable, str(ROOT / "tests/soak/soak.py"), *words], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"1: {pipeline}: " in run.stdout
    assert not list((tmp_path / "rounds").iterdir())
