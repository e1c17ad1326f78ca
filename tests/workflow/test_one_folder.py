"""A folder has results of one pipeline, and of one genome: what would mix them is refused before the first job."""

import shutil

import pytest
from conftest import Cohort, pretend, tiny_cohort
from tuxedo_cohort import tiny_experiment


def other_samples(cohort: Cohort, genome: str = "") -> None:
    """The tables of another cohort, S8 and S9, in place of its own."""
    for number, unit in enumerate(cohort.units, 8):
        unit["sample_name"] = f"S{number}"
    if genome:
        shutil.copy(cohort.folder / "genome.fa", cohort.folder / genome)
        cohort.config["reference"]["fasta"] = genome


@pytest.mark.parametrize(
    ("first", "second", "folder"),
    [
        (tiny_cohort, tiny_experiment, "map_and_sort"),
        pytest.param(tiny_experiment, tiny_cohort, "quantify", marks=pytest.mark.deep),
    ],
)
def test_where_one_pipeline_has_results_the_other_is_refused(tmp_path, first, second, folder) -> None:
    pretend(first(tmp_path, lanes=1))
    ran = second(tmp_path, lanes=1).snakemake()
    assert ran.exit_code == 1
    assert [line for line in ran.lines if "pipeline" in line] == [ran.lines[-1]]
    assert f"config: pipeline: results/{folder} has another pipeline's results: run " in ran.lines[-1]


@pytest.mark.deep
def test_results_of_samples_that_tables_do_not_name_are_told_and_stay(tmp_path) -> None:
    cohort = tiny_cohort(tmp_path, lanes=1)
    pretend(cohort)
    other_samples(cohort)
    ran = cohort.snakemake("--dry-run")
    told = "warning: results/ has results of samples that the tables do not name, and leaves them: S1, S2"
    assert [line for line in ran.lines if "leaves them" in line] == [told]
    cohort.units[0]["sample_name"], cohort.config["leave_out"] = "S1", ["S1"]
    assert "leaves them: S2" in cohort.snakemake("--dry-run").output


@pytest.mark.deep
def test_another_genome_beside_results_that_stay_is_refused(tmp_path) -> None:
    cohort = tiny_cohort(tmp_path, lanes=1)
    pretend(cohort)
    other_samples(cohort, "other.fa")
    ran = cohort.snakemake()
    assert ran.exit_code == 1
    assert ran.lines[-1] == (
        "config: reference.fasta: another one than that of results which S1, S2 have here, and which the tables do not "
        "name: run in another folder (--directory), or remove those results"
    )
    assert not [line for line in ran.lines if line.startswith(("rule ", "localrule "))]
