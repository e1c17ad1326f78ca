"""The demo, as `make demo` runs it: a simulated cohort, VQSR, and calls against the truth."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gpd import demo

pytestmark = pytest.mark.e2e


def test_demo_germline(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    folder = tmp_path / "demo"
    command = [sys.executable, "-m", "gpd", "demo", "--directory", str(folder), "--samples", "2", "--seed", "1"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout
    with capsys.disabled():
        print(f"\n{done.stdout}", end="")
    assert "2 of 2 samples succeeded" in done.stdout
    assert re.search(r"[\d,]+ samples a day", done.stdout)
    for truth in demo.truths(folder):
        comparison = demo.compare(folder, truth)
        assert comparison.snp.recall > 0.97
        assert comparison.snp.precision > 0.97
        assert comparison.indel.recall > 0.95
        assert comparison.indel.precision > 0.95
