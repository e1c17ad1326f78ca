"""`gpd deliver` asks the workflow itself what a run has left to do, and where its results are."""

from pathlib import Path

import pytest
from conftest import pretend, tiny_cohort
from subcommands import gpd

pytestmark = pytest.mark.e2e


def deliver(cohort, target):
    return gpd("deliver", target, "--directory", cohort.folder)


def test_a_finished_run_is_handed_on_and_no_other(tmp_path: Path) -> None:
    """A run that was pretended; then a key is changed for which its calls would be made again."""
    (tmp_path / "run").mkdir()
    cohort = tiny_cohort(tmp_path / "run", lanes=1)
    cohort.config["normalise"] = "split"
    pretend(cohort)
    done = deliver(cohort, tmp_path / "out")
    assert done.exit_code == 0, done.output
    calls = {path.name for path in (tmp_path / "out/calls").iterdir()}
    assert calls == {f"{name}.vcf.gz{end}" for name in ("S1", "S2") for end in ("", ".tbi")}
    assert {path.name for path in (tmp_path / "out/alignments").iterdir()} == {"S1.bam", "S1.bai", "S2.bam", "S2.bai"}
    assert "bcftools norm" in (tmp_path / "out/methods.md").read_text()

    cohort.config["normalise"] = "join"
    cohort.write()
    refused = deliver(cohort, tmp_path / "other")
    assert refused.exit_code == 2
    assert "jobs are left to do: gpd run germline" in refused.stderr
    assert not (tmp_path / "other").exists()
