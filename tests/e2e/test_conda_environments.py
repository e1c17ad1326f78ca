"""Both pipelines under --sdm conda: a rule's PATH holds what its environment's packages bring, and no other tool."""

import os
import subprocess
import sys
from pathlib import Path

import conda_stand_in
import pytest
from conftest import SHORT_JVMS, SNAKEFILE, Cohort, tiny_cohort
from tuxedo_cohort import tiny_experiment

pytestmark = pytest.mark.e2e


def run(cohort: Cohort, *targets: str) -> None:
    cohort.write()
    path = conda_stand_in.make(cohort.folder / "conda")
    words = [sys.executable, "-m", "snakemake", "--snakefile", str(SNAKEFILE), "--directory", str(cohort.folder)]
    done = subprocess.run(
        [*words, "--cores", "2", "--sdm", "conda", "--", *targets],
        env={**os.environ, **SHORT_JVMS, "PATH": str(path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_no_tool_is_on_the_bare_path(tmp_path: Path) -> None:
    path = conda_stand_in.make(tmp_path / "conda")
    known = set().union(*(commands for commands, _ in conda_stand_in.packages().values()))
    assert {each.name for each in path.iterdir()} & known == set()


@pytest.mark.long
def test_germline(tmp_path: Path) -> None:
    cohort = tiny_cohort(tmp_path, samples=("S1",), lanes=1)
    cohort.config |= {"calling": "joint", "alignment_format": "cram"}
    run(cohort, "all")


@pytest.mark.long
def test_tuxedo(tmp_path: Path) -> None:
    """Up to Cuffdiff's tables: cummeRbund, whose environment is R alone, takes longer than all else."""
    experiment = tiny_experiment(tmp_path, lanes=1)  # with replicates: cuffdiff fits a dispersion where it has none
    experiment.config |= {"stop_after": "differential_expression", "cuffdiff": {"dispersion_method": "poisson"}}
    run(experiment, "all")
