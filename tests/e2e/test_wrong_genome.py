"""Another genome's index in shared memory under our index's name: no job may use it."""

import subprocess
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path

import pytest
from conftest import Cohort, one_contig_cohort, random_sequence, sample_pairs, write_fastq

pytestmark = pytest.mark.e2e

LENGTH, SNPS = 5000, range(400, 4800, 450)
OTHER = {"A": "C", "C": "G", "G": "T", "T": "A"}
MAPPED = "results/map_and_sort/S1/L1.bam"
CALLS = "results/hard_filter/S1.vcf.gz"


def rotated(genome: str) -> str:
    """As another build is: the same contig, and everything elsewhere."""
    return genome[50:] + genome[:50]


def masked(genome: str) -> str:
    return genome[: len(genome) // 2] + "N" * (len(genome) // 2)


def drawn(genome: str) -> str:
    return random_sequence(len(genome), seed=99)


@pytest.fixture
def cohort(tmp_path: Path) -> Cohort:
    """A sample with SNPs at the places SNPS, counted from 0."""
    folder = tmp_path / "run"
    folder.mkdir()
    made, genome = one_contig_cohort(folder, LENGTH, seed=5)
    changed = "".join(OTHER[base] if place in SNPS else base for place, base in enumerate(genome))
    first, second = sample_pairs(changed, 500, seed=6)
    for column, reads in (("1", first), ("2", second)):
        write_fastq(folder / f"{column}.fq.gz", reads)
    made.add_unit("S1", "L1", fq1="1.fq.gz", fq2="2.fq.gz")
    made.config["scatter"] = "none"
    return made


@pytest.fixture
def shm(own_shm: None) -> Iterator[None]:
    yield
    subprocess.run(["bwa", "shm", "-d"], check=True, capture_output=True)


def make_index(prefix: Path, genome: str) -> None:
    prefix.parent.mkdir(exist_ok=True)
    prefix.write_text(f">chr1\n{genome}\n")
    subprocess.run(["bwa", "index", prefix], check=True, capture_output=True)


def genome_of(cohort: Cohort) -> str:
    return (cohort.folder / "genome.fa").read_text().split("\n")[1]


def mapped(cohort: Cohort, target: str = MAPPED) -> list[tuple[str, ...]]:
    """Name, contig, position and CIGAR of each alignment."""
    ran = cohort.snakemake("--notemp", target)
    assert ran.exit_code == 0, ran.output
    view = ["samtools", "view", cohort.folder / target]
    output = subprocess.run(view, check=True, capture_output=True, text=True).stdout
    return sorted(itemgetter(0, 2, 3, 5)(line.split("\t")) for line in output.splitlines())


def perfect(alignments: list[tuple[str, ...]]) -> int:
    return sum(cigar == "100M" for *_, cigar in alignments)


@pytest.mark.parametrize("change", [rotated, masked, drawn])
def test_a_genome_that_somebody_loaded_is_not_mapped_to(cohort: Cohort, shm: None, change) -> None:
    undisturbed = mapped(cohort)
    assert perfect(undisturbed) > 900
    (cohort.folder / MAPPED).unlink()
    (cohort.folder / MAPPED.replace(".bam", ".json")).unlink()
    make_index(cohort.folder.parent / "other/genome.fa", change(genome_of(cohort)))
    subprocess.run(["bwa", "shm", cohort.folder.parent / "other/genome.fa"], check=True, capture_output=True)
    assert mapped(cohort) == undisturbed


@pytest.mark.long
def test_calls_are_right_whatever_genome_somebody_loaded(cohort: Cohort, shm: None) -> None:
    """The user's own index, too, of which the name is as common."""
    make_index(cohort.folder / "own/genome.fa", genome_of(cohort))
    make_index(cohort.folder.parent / "other/genome.fa", rotated(genome_of(cohort)))
    subprocess.run(["bwa", "shm", cohort.folder.parent / "other/genome.fa"], check=True, capture_output=True)
    cohort.config["reference"]["bwa_index"] = "own/genome.fa"
    ran = cohort.snakemake(CALLS)
    assert ran.exit_code == 0, ran.output
    query = ["bcftools", "query", "-f", "%POS\n", cohort.folder / CALLS]
    output = subprocess.run(query, check=True, capture_output=True, text=True).stdout
    assert [int(place) for place in output.split()] == [place + 1 for place in SNPS]


def test_what_lies_beside_a_users_index_is_not_taken_in_its_place(cohort: Cohort) -> None:
    """bwa prefers PREFIX.64.bwt and its like, as the GATK package has them, to PREFIX.bwt."""
    make_index(cohort.folder / "own/genome.fa", genome_of(cohort))
    make_index(cohort.folder / "own/genome.fa.64", drawn(genome_of(cohort)))
    cohort.config["reference"]["bwa_index"] = "own/genome.fa"
    assert perfect(mapped(cohort)) > 900
