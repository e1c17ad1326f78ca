"""Samples that are left out of a run by `leave_out`: what is planned without them, and what the results say of it."""

import re

import pytest
from conftest import Cohort, planned_jobs, snakemake
from tuxedo_cohort import tiny_experiment


@pytest.mark.deep
def test_a_cohort_is_planned_without_a_sample_and_says_so(cohort: Cohort) -> None:
    cohort.config |= {"calling": "joint"}
    ran = cohort.snakemake("--dry-run", "--config", "leave_out=[S2]")
    assert ran.exit_code == 0, ran.output
    assert set(re.findall(r"\bsample=(\w+)", ran.output)) == {"S1"}
    assert planned_jobs(ran)["left_out"] == 1
    assert "/S2" not in ran.output


@pytest.mark.deep
def test_the_list_is_kept_up_to_date_once_it_is_there(cohort: Cohort) -> None:
    """Else it would name a sample that is back."""
    ran = cohort.snakemake("--config", "leave_out=[S2,S1]", "--", "results/left_out.tsv")
    assert "names every sample" in ran.output
    ran = cohort.snakemake("--config", "leave_out=[S2]", "--", "results/left_out.tsv")
    assert (cohort.folder / "results/left_out.tsv").read_text() == "sample_name\nS2\n", ran.output
    ran = snakemake(cohort.folder, "--", "results/left_out.tsv")
    assert (cohort.folder / "results/left_out.tsv").read_text() == "sample_name\n", ran.output
    assert planned_jobs(snakemake(cohort.folder, "--dry-run"))["all"] == 1
    ran = snakemake(cohort.folder, "--", "results/left_out.tsv")
    assert "Nothing to be done" in ran.output


@pytest.mark.deep
def test_a_comparison_that_lost_a_condition_is_refused_in_one_line(tmp_path) -> None:
    experiment = tiny_experiment(tmp_path)
    ran = experiment.snakemake("--dry-run", "--config", "leave_out=[B1,B2]")
    assert ran.exit_code == 1
    assert ran.lines[-1].startswith("samples.tsv: condition b: all its samples are left out (B1, B2)")
