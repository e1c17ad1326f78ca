"""Reads that not every tool takes as they are, through all tools that see them."""

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from conftest import one_contig_cohort, sample_pairs, write_fastq

pytestmark = pytest.mark.e2e


def test_numbered_mates_and_reads_without_bases(tmp_path: Path) -> None:
    """As fastq-dump -I names them, and as cutadapt leaves them: each sample goes through, with all of its reads."""
    made, genome = one_contig_cohort(tmp_path, 5000, seed=5)
    files = {}
    for mate, reads in enumerate(sample_pairs(genome, 200, seed=6), 1):
        named = [(f"{name}.{mate} {mate} length=100", bases) for name, bases in reads]
        if mate == 1:
            named[::50] = [(name, "") for name, _ in named[::50]]
        files[f"fq{mate}"] = write_fastq(tmp_path / f"R{mate}.fq.gz", named).relative_to(tmp_path)
    made.add_unit("S1", "L1", **files)
    ran = made.snakemake("--", "results/base_recalibration/S1.bam")
    assert ran.exit_code == 0, ran.output
    assert "fq1 R1.fq.gz has reads without bases (4 of the first 200)" in ran.output
    assert "R1.fq.gz: 4 reads hold no bases" in (tmp_path / "logs/map_and_sort/S1/L1.log").read_text()
    shown = ["samtools", "view", tmp_path / "results/base_recalibration/S1.bam"]
    records = [line.split("\t") for line in subprocess.check_output(shown, text=True).splitlines()]
    assert Counter(Counter(record[0] for record in records).values()) == {2: 200}
    assert [record[9:11] for record in records if record[9] in "*N"] == [["N", "!"]] * 4
