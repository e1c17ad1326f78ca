"""Final alignments as CRAM: of a version that GATK reads, with every alignment, whatever samtools does by itself."""

import shutil
from pathlib import Path

import pytest
from conftest import Cohort, one_contig_cohort, sample_pairs, write_fastq

pytestmark = pytest.mark.e2e
CRAM = "results/alignment/S1.cram"


@pytest.fixture
def cohort(tmp_path: Path) -> Cohort:
    made, genome = one_contig_cohort(tmp_path, 5000, seed=5)
    made.config |= {"alignment_format": "cram", "bqsr": "none"}
    reads = zip(("fq1", "fq2"), sample_pairs(genome, 200, seed=1), strict=True)
    files = {mate: write_fastq(tmp_path / f"reads/{mate}.fq.gz", pairs) for mate, pairs in reads}
    made.add_unit("S1", "L1", **files)
    return made


@pytest.fixture
def adding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Let samtools, where it writes CRAM and its command does not say otherwise, take more options."""

    def add(options: str, unless: str) -> None:
        tools = tmp_path / "tools"
        tools.mkdir()
        wrapper = tools / "samtools"
        wrapper.write_text(
            f"""#!/bin/bash
case "$*" in
    *{unless}*) exec {shutil.which("samtools")} "$@" ;;
    "view "*.cram*.bam) exec {shutil.which("samtools")} "$@" {options} ;;
    *) exec {shutil.which("samtools")} "$@" ;;
esac
"""
        )
        wrapper.chmod(0o755)
        monkeypatch.setenv("PATH", str(tools), prepend=":")

    return add


def test_cram_is_of_the_version_that_gatk_reads(cohort: Cohort, adding) -> None:
    adding("--output-fmt-option version=3.1", unless="version=")  # as samtools 1.22 does by itself
    ran = cohort.snakemake(CRAM)
    assert ran.exit_code == 0, ran.output
    assert (cohort.folder / CRAM).read_bytes()[:6] == b"CRAM\x03\x00"


def test_a_cram_that_lacks_alignments_fails(cohort: Cohort, adding) -> None:
    adding("--subsample 0.5", unless="--subsample")
    ran = cohort.snakemake(CRAM)
    assert ran.exit_code == 1
    assert "results/alignment/S1.cram holds " in ran.output and "its units 400" in ran.output, ran.output
    assert not (cohort.folder / CRAM).exists()
