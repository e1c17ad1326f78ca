"""Reads of a place that an ALT contig repeats, mapped by the real bwa."""

import subprocess
from pathlib import Path

import pytest
from conftest import Cohort, random_sequence, sample_pairs, tiny_cohort, write_fastq

pytestmark = pytest.mark.e2e


def mapping_qualities(cohort: Cohort) -> tuple[str, list[int]]:
    """What a run up to the mapping says, and the mapping qualities on chr1."""
    ran = cohort.snakemake("--notemp", "--until", "map_and_sort")
    assert ran.exit_code == 0, ran.output
    view = ["samtools", "view", cohort.folder / "results/map_and_sort/S1/L1.bam", "chr1"]
    output = subprocess.run(view, check=True, capture_output=True, text=True).stdout
    return ran.output, [int(line.split("\t")[4]) for line in output.splitlines() if int(line.split("\t")[1]) < 0x800]


def test_an_index_of_ours_takes_the_alt_file_over(tmp_path: Path) -> None:
    cohort = tiny_cohort(tmp_path, samples=["S1"], lanes=1)
    genome = random_sequence(2000, seed=1)
    (tmp_path / "genome.fa").write_text(f">chr1\n{genome}\n>chr1_KI1_alt\n{genome[500:1500]}\n")
    for mate, reads in enumerate(sample_pairs(genome[500:1500], 40, seed=3), 1):
        write_fastq(tmp_path / f"reads/S1_L1_R{mate}.fq.gz", reads)
    output, without = mapping_qualities(cohort)
    assert "warning: config: reference genome.fa has 1 ALT contigs (chr1_KI1_alt)" in output
    assert set(without) == {0}
    (tmp_path / "genome.fa.64.alt").write_text("chr1_KI1_alt\t0\tchr1\t501\t60\t1000M\t*\t0\t0\t*\t*\n")
    output, with_alt = mapping_qualities(cohort)
    assert "warning: config: reference" not in output
    assert len(with_alt) == 80
    assert min(with_alt) >= 50
    (tmp_path / "genome.fa.64.alt").unlink()
    assert set(mapping_qualities(cohort)[1]) == {0}
