"""Which job starts first, as dry runs say: by its priority."""

import re
from pathlib import Path

import pytest
from conftest import ROOT, Cohort, random_sequence, tiny_cohort, write_fastq
from tuxedo_cohort import tiny_experiment

THROUGHPUT = ("--workflow-profile", str(ROOT / "profiles" / "throughput"))
CHAIN = [
    *("map_and_sort", "mark_duplicates", "base_recalibrator", "base_recalibration"),
    *("haplotype_caller", "genotype_gvcfs", "hard_filter"),
]
SHARED = None


def priorities(cohort: Cohort, *arguments: str) -> dict[str | None, dict[str, int]]:
    """Priority by sample and rule; under SHARED that of rules which are no sample's."""
    ran = cohort.snakemake("--dry-run", *arguments)
    assert ran.exit_code == 0, ran.output
    found: dict[str | None, dict[str, int]] = {}
    for rule, text in re.findall(r"^(?:local)?rule (\w+):\n((?:    .*\n)*)", ran.output, re.MULTILINE):
        owner = re.search(r"^    wildcards: (?:.*, )?(?:sample|callset)=([A-Z]\d)", text, re.MULTILINE)
        priority = re.search(r"^    priority: (\d+)$", text, re.MULTILINE)
        found.setdefault(owner[1] if owner else SHARED, {})[rule] = int(priority[1]) if priority else 0
    return found


@pytest.fixture
def seven(tmp_path: Path) -> Cohort:
    """Seven samples of one lane: S5 has the most reads, all others as many."""
    cohort = tiny_cohort(tmp_path, [f"S{number}" for number in range(1, 8)], lanes=1)
    reads = [(f"read{number}", random_sequence(100, number)) for number in range(200)]
    for mate in ("R1", "R2"):
        write_fastq(tmp_path / f"reads/S5_L1_{mate}.fq.gz", reads)
    return cohort


@pytest.mark.deep
def test_samples_wait_for_their_turn_and_the_last_go_side_by_side(seven: Cohort) -> None:
    of = priorities(seven, *THROUGHPUT)
    first, last = ["S5", "S1", "S2"], ["S3", "S4", "S6", "S7"]  # the last are two for each of two cores
    for sample in (*first, *last):
        chain = [of[sample][rule] for rule in CHAIN]
        assert chain == sorted(chain, reverse=True)
        assert of[sample]["samtools_stats"] < chain[-1]
    for sample, later in zip(first, [*first[1:], last[0]], strict=True):
        assert min(of[sample].values()) > max(of[later].values())
    by_step = [of[sample][rule] for rule in CHAIN for sample in last]
    assert by_step == sorted(by_step, reverse=True)


@pytest.mark.deep
def test_what_all_samples_wait_for_goes_first(seven: Cohort) -> None:
    seven.config["calling"] = "joint"
    of = priorities(seven, *THROUGHPUT)
    shared = of.pop(SHARED)
    assert {"bwa_index", "genomics_db_import", "genotype_interval", "gather_hard_filter"} <= set(shared)
    assert min(shared.values()) > max(priority for rules in of.values() for priority in rules.values())


@pytest.mark.deep
def test_the_tuxedo_pipeline_has_the_same_order(tmp_path: Path) -> None:
    of = priorities(tiny_experiment(tmp_path), *THROUGHPUT)
    samples = sorted(set(of) - {SHARED})
    by_step = [of[sample][rule] for rule in ("align", "assemble", "quantify") for sample in samples]
    assert len(samples) == 4
    assert by_step == sorted(by_step, reverse=True)
    assert of[SHARED]["merge"] > by_step[0]
    beside = [of[sample][rule] for rule in ("samtools_stats", "read_features", "gene_counts") for sample in samples]
    assert max(beside) < by_step[-1], "what Cuffdiff does not wait for runs beside it"


@pytest.mark.deep
def test_jobs_of_several_cores_have_no_order_of_ours(seven: Cohort) -> None:
    """Depth first would leave most cores idle beside a job of one core."""
    assert {priority for rules in priorities(seven).values() for priority in rules.values()} == {0}
