"""Reads that not every tool takes as they are, through all tools that see them."""

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from conftest import one_contig_cohort, random_sequence, sample_pairs, write_fastq

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


@pytest.mark.parametrize("mode", ["keep", "remap"])
def test_a_cram_file_of_another_fasta_is_told_before_the_run(tmp_path: Path, mode: str) -> None:
    """samtools itself says of it that it is damaged, if at all, after the first jobs."""
    made, genome = one_contig_cohort(tmp_path, 5000, seed=5)
    (tmp_path / "other.fa").write_text(f">chr1\n{random_sequence(5000, 9)}\n")
    header = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:chr1\tLN:5000\n@RG\tID:1\tSM:S1\n"
    sam = f"{header}r\t0\tchr1\t1\t60\t100M\t*\t0\t0\t{genome[:100]}\t*\tRG:Z:1\n"
    command = ["samtools", "view", "-C", "-T", tmp_path / "other.fa", "-o", tmp_path / "s1.cram"]
    subprocess.run(command, input=sam, text=True, check=True)
    made.add_unit("S1", "L1", bam="s1.cram")
    made.config["bam_input"] = mode
    ran = made.snakemake("--dry-run")
    assert (ran.exit_code, "Traceback" in ran.output) == (1, False)
    assert "bam s1.cram was made with another FASTA than the reference genome.fa" in ran.output
    (tmp_path / "other.fa").rename(tmp_path / "genome.fa")
    assert made.snakemake("--dry-run").exit_code == 0
