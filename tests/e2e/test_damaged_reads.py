"""Damage that only shows while reads are mapped: it fails its sample by name, and no other."""

import json
from pathlib import Path

import pytest
from conftest import Cohort, Ran, one_contig_cohort, sample_pairs, write_fastq

pytestmark = pytest.mark.e2e

# Larger files are not read before the start. Compression level 0 and long comments get there with few reads.
UNREAD_BYTES = 8 * 1024 * 1024
PAIRS = 8000
COMMENT = "x" * 900
MAPPED = "results/map_and_sort/BAD/L1.bam"


@pytest.fixture
def cohort(tmp_path: Path) -> Cohort:
    """A good sample, and a bad one whose large files each test spoils."""
    made, genome = one_contig_cohort(tmp_path, 5000, seed=5)
    for sample, pairs, level in (("GOOD", 200, 6), ("BAD", PAIRS, 0)):
        files = {}
        for column, reads in zip(("fq1", "fq2"), commented_pairs(genome, pairs), strict=True):
            files[column] = write_fastq(tmp_path / f"{sample}_{column}.fq.gz", reads, level).relative_to(tmp_path)
            assert sample == "GOOD" or (tmp_path / files[column]).stat().st_size > UNREAD_BYTES
        made.add_unit(sample, "L1", **files)
    return made


def commented_pairs(genome: str, count: int) -> list[list[tuple[str, str]]]:
    """Pairs of reads that take much room in a file and little time to map."""
    return [[(f"{name} {COMMENT}", bases) for name, bases in reads] for reads in sample_pairs(genome, count, seed=6)]


def run(cohort: Cohort) -> Ran:
    """Map both samples; further steps add nothing to what is tested."""
    return cohort.snakemake(
        "--keep-going",
        "--notemp",
        "--",
        "results/mark_duplicates/GOOD.bam",
        "results/mark_duplicates/BAD.bam",
    )


def check(cohort: Cohort, ran: Ran, *output: str) -> str:
    """The bad sample failed by name with these words, and nothing else did; the line that says so."""
    (line,) = (line for line in ran.lines if line.startswith("map_and_sort BAD L1:"))
    assert ran.exit_code == 1
    assert all(words in line for words in output), line
    assert (cohort.folder / "results/mark_duplicates/GOOD.bam").exists()
    assert not list((cohort.folder / "results").rglob("BAD*"))
    assert not (cohort.folder / MAPPED).exists()
    records = map(json.loads, (cohort.folder / "ledger.jsonl").read_text().splitlines())
    (failed,) = (record for record in records if record["exit_code"] != 0)
    assert failed["wildcards"] == {"sample": "BAD", "unit": "L1"}
    return line


def test_whole_reads_pass(cohort: Cohort) -> None:
    ran = run(cohort)
    assert ran.exit_code == 0, ran.output


@pytest.mark.parametrize("spoilt", [("fq1",), ("fq2",), ("fq1", "fq2")], ids="+".join)
def test_a_file_cut_in_its_middle(cohort: Cohort, spoilt: tuple[str, ...]) -> None:
    for column in spoilt:
        file = cohort.folder / f"BAD_{column}.fq.gz"
        data = file.read_bytes()
        file.write_bytes(data[: len(data) * 95 // 100])
    line = check(cohort, run(cohort), "damaged or truncated", "unexpected end of file")
    assert any(f"BAD_{column}.fq.gz" in line for column in spoilt), line  # bwa meets either end first


@pytest.mark.parametrize("shorter", ["fq1", "fq2"])
def test_mates_of_different_length(cohort: Cohort, shorter: str) -> None:
    """bwa only warns, and half a sample is gone with exit code 0."""
    genome = (cohort.folder / "genome.fa").read_text().splitlines()[1]
    reads = commented_pairs(genome, PAIRS)[("fq1", "fq2").index(shorter)]
    write_fastq(cohort.folder / f"BAD_{shorter}.fq.gz", reads[: PAIRS * 9 // 10], level=0)
    check(cohort, run(cohort), f"BAD_{shorter}.fq.gz has {PAIRS * 9 // 10} reads", "R1 and R2")


def test_mates_in_another_order(cohort: Cohort) -> None:
    genome = (cohort.folder / "genome.fa").read_text().splitlines()[1]
    reads = commented_pairs(genome, PAIRS)[1]
    reads[-1], reads[-2] = reads[-2], reads[-1]
    write_fastq(cohort.folder / "BAD_fq2.fq.gz", reads, level=0)
    check(cohort, run(cohort), "paired reads have different names")
