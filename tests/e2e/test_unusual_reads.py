"""Reads that not every tool takes as they are, through all tools that see them."""

import gzip
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from conftest import Cohort, one_contig_cohort, random_sequence, sample_pairs, write_fastq

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
    assert "R1.fq.gz: 4 reads hold no bases" in (tmp_path / "logs/map_and_sort/S1/L1.log").read_text()
    shown = ["samtools", "view", tmp_path / "results/base_recalibration/S1.bam"]
    records = [line.split("\t") for line in subprocess.check_output(shown, text=True).splitlines()]
    assert Counter(Counter(record[0] for record in records).values()) == {2: 200}
    assert [record[9:11] for record in records if record[9] in "*N"] == [["N", "!"]] * 4


@pytest.fixture
def of_another_fasta(tmp_path: Path) -> Cohort:
    """A cohort whose reads come as CRAM that was made with other.fa."""
    made, genome = one_contig_cohort(tmp_path, 5000, seed=5)
    (tmp_path / "other.fa").write_text(f">chr1\n{random_sequence(5000, 9)}\n")
    records = [
        f"{name}\t{flag}\tchr1\t1\t60\t{len(bases)}M\t=\t1\t0\t{bases}\t{'I' * len(bases)}\tRG:Z:1\n"
        for flag, reads in zip((65, 129), sample_pairs(genome, 50, seed=7), strict=True)
        for name, bases in reads
    ]
    header = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:chr1\tLN:5000\n@RG\tID:1\tSM:S1\n"
    command = ["samtools", "view", "-C", "-T", tmp_path / "other.fa", "-o", tmp_path / "s1.cram"]
    subprocess.run(command, input="".join([header, *records]), text=True, check=True)
    made.add_unit("S1", "L1", bam="s1.cram")
    return made


@pytest.mark.parametrize("mode", ["keep", "remap"])
def test_a_cram_file_of_another_fasta_is_told_before_the_run(
    of_another_fasta: Cohort, tmp_path: Path, mode: str
) -> None:
    """samtools itself says of it that it is damaged, if at all, after the first jobs."""
    made = of_another_fasta
    made.config["bam_input"] = mode
    ran = made.snakemake("--dry-run")
    assert (ran.exit_code, "Traceback" in ran.output) == (1, False)
    assert "bam s1.cram was made with another FASTA than genome.fa" in ran.output
    (tmp_path / "other.fa").rename(tmp_path / "genome.fa")
    assert made.snakemake("--dry-run").exit_code == 0


def test_a_cram_file_of_another_fasta_is_decoded_with_that_and_mapped_again(
    of_another_fasta: Cohort, tmp_path: Path
) -> None:
    made, bam = of_another_fasta, "results/map_and_sort/S1/L1.bam"
    (tmp_path / "other.fa.gz").write_bytes(gzip.compress((tmp_path / "other.fa").read_bytes()))
    (tmp_path / "other.fa").unlink()  # the header has its place, which samtools would find
    made.config |= {"bam_input": "remap", "cram_reference": "other.fa.gz"}
    ran = made.snakemake("--notemp", bam)
    assert ran.exit_code == 0, ran.output
    records = subprocess.check_output(["samtools", "view", "-F", "16", tmp_path / bam], text=True).splitlines()
    _, genome = (tmp_path / "genome.fa").read_text().split("\n", 1)
    bases = [record.split("\t")[9] for record in records]
    assert bases and all(each in genome.replace("\n", "") for each in bases)
