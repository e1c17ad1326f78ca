"""What a dry run says of the machine, and what it notes for who admits samples."""

import json
from pathlib import Path

import pytest
from conftest import Cohort, tiny_cohort
from tuxedo_cohort import tiny_experiment

NOTED = ".snakemake/gpd/disk.json"


def warnings(output: list[str]) -> list[str]:
    return [line for line in output if line.startswith("warning: ")]


@pytest.mark.deep
@pytest.mark.parametrize("make", [tiny_cohort, tiny_experiment])
def test_what_samples_will_take_is_noted(tmp_path: Path, make) -> None:
    cohort = make(tmp_path)
    ran = cohort.snakemake("--dry-run")
    assert ran.exit_code == 0, ran.output
    noted = json.loads((tmp_path / NOTED).read_text())
    assert set(noted["samples"]) == {unit["sample_name"] for unit in cohort.units}
    assert all(need["kept"] > 0 for need in noted["samples"].values())
    assert noted["results"] == "results/"


@pytest.mark.deep
def test_what_is_wrong_is_one_list_with_what_is_wrong_with_the_input(cohort: Cohort, monkeypatch) -> None:
    (cohort.folder / "reads/S1_L1_R2.fq.gz").unlink()
    (cohort.folder / "results").touch()
    ran = cohort.snakemake("--dry-run")
    assert ran.exit_code == 1
    missing, no_folder = [line for line in ran.lines if "does not exist" in line or "no folder" in line]
    assert missing == "units.tsv line 2: sample S1: fq2 reads/S1_L1_R2.fq.gz does not exist"
    assert no_folder.startswith("results/: a run writes here, and ")
    assert "Traceback" not in ran.output


@pytest.mark.deep
def test_warnings_let_it_go_on(cohort: Cohort, monkeypatch) -> None:
    monkeypatch.setenv("TMPDIR", "/not/there")
    ran = cohort.snakemake("--dry-run")
    assert ran.exit_code == 0
    assert any(line.startswith("warning: TMPDIR /not/there: no such folder") for line in warnings(ran.lines))
    monkeypatch.setenv("GPD_PREFLIGHT", "none")
    (cohort.folder / NOTED).unlink()
    ran = cohort.snakemake("--dry-run")
    assert (ran.exit_code, warnings(ran.lines)) == (0, [])
    assert not (cohort.folder / NOTED).exists()
