"""The demos, as `make demo` runs them: simulated cohorts, results held against the truth, CPUs held by one job each."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import snakemake
from filtering import takings

from gpd.commands import demo
from gpd.truth.expression import FLOOR_FRAGMENTS, STRONG_FOLD

pytestmark = pytest.mark.e2e


def gpd(*arguments: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "gpd", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_germline(tmp_path: Path, figure: Callable[[str], None]) -> None:
    said = gpd("demo", "germline", "--directory", tmp_path)
    figure(said)
    assert "2 of 2 samples succeeded" in said
    assert "samples a day" in said
    for comparison in demo.compare_germline(tmp_path / "germline"):
        assert comparison.snp.recall > 0.97
        assert comparison.snp.precision > 0.97
        assert comparison.indel.recall > 0.95
        assert comparison.indel.precision > 0.95
    assert "0 failed; no two jobs shared a CPU" in gpd("ledger", "check", tmp_path / "germline")
    for line in hard_filtered(tmp_path / "germline"):
        figure(f"germline demo, hard filters: {line}")


def hard_filtered(folder: Path) -> list[str]:
    """What each hard filter takes of DEMO01's calls, which the demo itself filters by VQSR."""
    calls = "results/hard_filter/cohort.vcf.gz"
    options = ["--allowed-rules", "hard_filter", "--configfile", str(folder / "config.yaml"), "--config", "filter=hard"]
    ran = snakemake(folder, calls, *options)
    assert ran.exit_code == 0, ran.said
    return [*takings(folder / calls, folder / "truth" / "DEMO01.vcf.gz", folder / "genome.fa", "DEMO01")]


def test_tuxedo(tmp_path: Path, figure: Callable[[str], None]) -> None:
    said = gpd("demo", "tuxedo", "--directory", tmp_path)
    figure(said)
    assert "6 of 6 samples succeeded" in said
    found = demo.compare_tuxedo(tmp_path / "tuxedo")
    figure(
        f"tuxedo demo: {len(found.found)} of {len(found.strong)} genes found that change {STRONG_FOLD:g} fold, "
        f"with {FLOOR_FRAGMENTS:g} fragments or more; {len(found.false)} false of {found.significant} significant"
    )
    assert len(found.strong) >= 10
    assert found.missed == ()
    assert len(found.false) <= 1
    assert "0 failed; no two jobs shared a CPU" in gpd("ledger", "check", tmp_path / "tuxedo")
