"""The demos, as `make demo` runs them but smaller: results held against the truth, CPUs held by one job each."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import subcommands
import yaml
from conftest import ROOT, SHORT_JVMS

from gpd.commands import gpd_demo

sys.path[:0] = [str(ROOT / "resources" / "demo" / pipeline) for pipeline in ("germline", "tuxedo")]

import compare_calls  # noqa: E402
import compare_expression  # noqa: E402

pytestmark = pytest.mark.e2e


@pytest.fixture
def simulate_with(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Give the demo's simulator options, and its configuration keys, for less than people are shown."""
    for name, value in SHORT_JVMS.items():
        monkeypatch.setenv(name, value)
    simulate = gpd_demo.simulate

    def patched(*options: str, **config: object) -> None:
        def simulated(pipeline: str, directory: Path, seed: int) -> None:
            simulate(pipeline, directory, seed, *options)
            path = directory / "config.yaml"
            path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | config))

        monkeypatch.setattr(gpd_demo, "simulate", simulated)

    return patched


def gpd(*words: str | Path) -> str:
    ran = subcommands.gpd(*words)
    assert ran.exit_code == 0, ran.output
    return ran.output


def test_germline(tmp_path: Path, simulate_with: Callable[..., None], figure: Callable[[str], None]) -> None:
    """A quarter of the demo's genome, which has variants enough for VQSR; in shards, however busy the machine is."""
    simulate_with("--length", "300000", scatter=2)
    output = gpd("demo", "germline", "--directory", tmp_path)
    figure(output)
    assert "2 of 2 samples finished" in output
    assert "quality: 2 of 2 samples pass" in output or "which-sample-is-wrong.md" in output
    assert "  calls       " in output and "results/apply_variant_recalibration/cohort.vcf.gz" in output
    alignment = tmp_path / "germline/results/base_recalibration/DEMO01.bam"
    assert alignment.exists() and alignment.with_suffix(".bai").exists(), "the final alignment is kept"
    jobs = [json.loads(line) for line in (tmp_path / "germline/ledger.jsonl").read_text().splitlines()]
    assert {job["shard"] for job in jobs if job["rule"] == "haplotype_caller"} >= {"1/2", "2/2", "gather"}
    for comparison in compare_calls.compare_demo(tmp_path / "germline"):
        assert comparison.snp.recall > 0.97
        assert comparison.snp.precision > 0.97
        assert comparison.indel.recall > 0.95
        assert comparison.indel.precision > 0.95
    assert "0 failed; no two jobs shared a CPU" in gpd("ledger", "check", tmp_path / "germline")


# to fit a model of dispersion takes cuffdiff a minute; without one, more genes are taken to change
@pytest.mark.parametrize("dispersion", ["poisson", pytest.param("pooled", marks=pytest.mark.long)])
def test_tuxedo(
    tmp_path: Path, simulate_with: Callable[..., None], figure: Callable[[str], None], dispersion: str
) -> None:
    """A third of the demo's genes, up to where they are compared: the yeast's experiment holds the plots."""
    config = {"stop_after": "differential_expression", "cuffdiff": {"fdr": 0.01, "dispersion_method": dispersion}}
    simulate_with("--genes", "40", "--replicates", "2", **config)
    output = gpd("demo", "tuxedo", "--directory", tmp_path)
    figure(output)
    assert "4 of 4 samples finished" in output
    found = compare_expression.compare_demo(tmp_path / "tuxedo")
    figure(
        f"tuxedo demo: {len(found.found)} of {len(found.strong)} genes found that change "
        f"{compare_expression.STRONG_FOLD:g} fold, with {compare_expression.FLOOR_FRAGMENTS:g} fragments or more; "
        f"{len(found.false)} false of {found.significant} significant"
    )
    assert len(found.strong) >= 10
    assert found.missed == ()
    assert dispersion == "poisson" or len(found.false) <= 1
    assert "0 failed; no two jobs shared a CPU" in gpd("ledger", "check", tmp_path / "tuxedo")
