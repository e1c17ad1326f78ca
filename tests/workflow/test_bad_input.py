"""What a person sees who starts the workflow on bad input: the line that says so, nothing around it, exit code 1."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Cohort, random_sequence, snakemake, write_fastq, write_vcf

pytestmark = pytest.mark.e2e  # a process a case; tests/unit checks the same lines without

R1, R2 = "reads/S1_L1_R1.fq.gz", "reads/S1_L1_R2.fq.gz"
UNIT = "units.tsv line 2: sample S1:"


def missing(cohort: Cohort) -> str:
    (cohort.folder / R2).unlink()
    return f"{UNIT} fq2 {R2} does not exist"


def empty(cohort: Cohort) -> str:
    (cohort.folder / R1).write_bytes(b"")
    return f"{UNIT} fq1 {R1} is empty (0 bytes)"


def truncated(cohort: Cohort) -> str:
    file = cohort.folder / R1
    file.write_bytes(file.read_bytes()[:-100])
    return f"{UNIT} fq1 {R1} is cut off: its compressed data ends too early; copy or create it again"


def not_gzip(cohort: Cohort) -> str:
    file = cohort.folder / R1
    file.write_bytes(gzip.decompress(file.read_bytes()))
    return f"{UNIT} fq1 {R1} is not gzip compressed, though its name ends in .gz"


def fewer_reads(cohort: Cohort) -> str:
    write_fastq(cohort.folder / R2, [(f"read{n}", "ACGT") for n in range(15)])
    return f"{UNIT} fq2 {R2} has no read in record 16, but fq1 {R1} has read read15"


def other_order(cohort: Cohort) -> str:
    names = [0, 2, 1, *range(3, 20)]
    write_fastq(cohort.folder / R2, [(f"read{n}", "ACGT") for n in names])
    return f"{UNIT} fq2 {R2} has read read2 in record 2, but fq1 {R1} has read read1"


def duplicate_unit(cohort: Cohort) -> str:
    cohort.units[1]["unit_name"] = "L1"
    return "units.tsv line 3: sample S1: unit L1: occurs twice, first in line 2"


def unsafe_name(cohort: Cohort) -> str:
    cohort.units[0]["sample_name"] = "S1;touch pwned"
    return "samples.tsv line 2: sample_name: 'S1;touch pwned'"


def other_build(cohort: Cohort) -> str:
    write_vcf(cohort.folder / "known.vcf", {"1": 2000}, [("1", 100, "A", "C")])
    return "config: known_sites known.vcf names contig 1 that the reference genome.fa lacks (it has chr1)"


def other_contig_order(cohort: Cohort) -> str:
    (cohort.folder / "genome.fa").write_text(f">chr1\n{random_sequence(2000, 1)}\n>chr2\n{random_sequence(2000, 2)}\n")
    write_vcf(
        cohort.folder / "known.vcf",
        {"chr2": 2000, "chr1": 2000},
        [("chr2", 9, "A", "C"), ("chr1", 9, "A", "C")],
    )
    return "config: known_sites known.vcf has contig chr2 where the reference genome.fa has chr1"


def unknown_key(cohort: Cohort) -> str:
    cohort.config["known_sitez"] = []
    return "config: known_sitez: unknown key; did you mean known_sites?"


def wrong_type(cohort: Cohort) -> str:
    cohort.config["vqsr"] = {"snps": {"max_gaussians": "four"}}
    return "config: vqsr.snps.max_gaussians: expected integer, got 'four'"


CASES: list[Callable[[Cohort], str]] = [
    *(missing, empty, truncated, not_gzip, fewer_reads, other_order),
    *(duplicate_unit, unsafe_name, other_build, other_contig_order, unknown_key, wrong_type),
]


@pytest.mark.parametrize("spoil", CASES, ids=lambda case: case.__name__)
def test_one_line_before_any_job(cohort: Cohort, spoil: Callable[[Cohort], str]) -> None:
    expected = spoil(cohort)
    ran = cohort.snakemake()
    assert ran.exit_code == 1
    assert any(line.startswith(expected) for line in ran.lines), ran.output
    assert "Traceback" not in ran.output
    assert not (cohort.folder / "results").exists()
    assert not list(cohort.folder.rglob("pwned"))


def test_a_key_that_is_given_twice_is_named_with_its_lines_whichever_file_has_it(cohort: Cohort) -> None:
    """Snakemake, which reads the configuration first, takes the last one in silence."""
    more = cohort.folder / "more.yaml"
    more.write_text("filter: none\ncalling: joint\nfilter: hard\n")
    cohort.write()
    ran = snakemake(cohort.folder, "--dry-run", "--configfile", str(more))
    assert ran.exit_code == 1
    assert f"config: {more}: line 3: 'filter' is given twice, first in line 1" in ran.lines
    usual = cohort.folder / "config/config.yaml"
    usual.write_text(usual.read_text() + "binding: {smt: true, smt: false}\n")
    (line,) = [line for line in snakemake(cohort.folder, "--dry-run").lines if "given twice" in line]
    assert line.startswith("config: config/config.yaml: line ")


def test_every_fault_is_named_at_once(cohort: Cohort) -> None:
    unknown, absent = unknown_key(cohort), missing(cohort)
    assert unknown in cohort.snakemake().lines
    del cohort.config["known_sitez"]
    Path(cohort.folder / R1).unlink()
    lines = cohort.snakemake().lines
    assert absent in lines
    assert f"{UNIT} fq1 {R1} does not exist" in lines
