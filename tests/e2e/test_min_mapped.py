"""A sample of which hardly anything maps is no success, and the sample beside it is none the worse."""

import pytest
from conftest import Cohort, random_sequence, sample_pairs, tiny_cohort, write_fastq
from tuxedo_cohort import tiny_experiment

pytestmark = pytest.mark.e2e

ALIEN = random_sequence(2000, seed=77)


def make_alien(cohort: Cohort, sample: str, lane: str = "L1", count: int = 20) -> None:
    """So many of a lane's 20 pairs are of another genome."""
    genome = (cohort.folder / "genome.fa").read_text().split("\n")[1]
    alien, own = sample_pairs(ALIEN, 20, seed=3), sample_pairs(genome, 20, seed=4)
    for mate in (0, 1):
        reads = alien[mate][:count] + own[mate][count:]
        write_fastq(cohort.folder / f"reads/{sample}_{lane}_R{mate + 1}.fq.gz", reads)


def test_a_sample_of_another_genome_fails_and_says_why(tmp_path) -> None:
    cohort = tiny_cohort(tmp_path)
    make_alien(cohort, "S1", count=10)  # half of one of its two lanes
    make_alien(cohort, "S2")
    make_alien(cohort, "S2", "L2")
    made = [f"results/mark_duplicates/{sample}.bam" for sample in ("S1", "S2")]
    ran = cohort.snakemake("--keep-going", "--notemp", *made)
    assert ran.exit_code != 0
    assert "error: S2: 0.0% of its 80 reads map, and min_mapped in the config wants 20.0%; usual causes: " in ran.output
    assert [(tmp_path / path).exists() for path in made] == [True, False]
    cohort.config["min_mapped"] = 0
    ran = cohort.snakemake(*made)
    assert ran.exit_code == 0, ran.output
    assert "rule map_and_sort" not in ran.output, "nothing is mapped again for it"
    cohort.config["min_mapped"] = 1
    assert "Nothing to be done" in cohort.snakemake("--dry-run", *made).output


def test_a_lane_of_another_genome_fails_its_sample_and_is_named(tmp_path) -> None:
    cohort = tiny_cohort(tmp_path)
    make_alien(cohort, "S1", "L2")
    made = [f"results/mark_duplicates/{sample}.bam" for sample in ("S1", "S2")]
    ran = cohort.snakemake("--keep-going", *made)
    assert ran.exit_code != 0
    assert "error: S1, unit L2: 0.0% of its 40 reads map" in ran.output
    assert [(tmp_path / path).exists() for path in made] == [False, True]


def test_an_rna_sample_of_another_genome_fails_and_says_why(tmp_path) -> None:
    experiment = tiny_experiment(tmp_path, ("A1", "B1"), lanes=1)
    make_alien(experiment, "B1")
    made = [f"results/align/{sample}.bam" for sample in ("A1", "B1")]
    ran = experiment.snakemake("--keep-going", *made)
    assert ran.exit_code != 0
    assert "error: B1: 0.0% of its 40 reads map" in ran.output
    assert [(tmp_path / path).exists() for path in made] == [True, False]
