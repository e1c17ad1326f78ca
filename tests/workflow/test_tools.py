"""Tools that planned jobs call: what is missing, broken or too old is named before the first job."""

import os
from pathlib import Path

import pytest
from conftest import Cohort, tiny_cohort
from test_plan import VETS
from tuxedo_cohort import tiny_experiment

pytestmark = pytest.mark.e2e  # real commands around the one that is bad
MAPPED = "results/map_and_sort/S1/L1.bam"


def printed(cohort: Cohort, folder: Path, command: str, text: str, target: str, *options: str) -> list[str]:
    """What a run to the target says that finds this command first."""
    (folder / command).write_text(f"#!/bin/sh\n{text}\n")
    (folder / command).chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        ran = cohort.snakemake(*options, "--", target)
    assert not list((cohort.folder / "logs").rglob("*.log")) and "Traceback" not in ran.output
    assert ran.exit_code == (0 if options else 1)
    return ran.lines


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("echo samtools 1.15.1", "is version 1.15.1, and 1.16 or newer is needed"),
        ("echo lib.so: cannot open; exit 127", "does not run (exit status 127: lib.so: cannot open)"),
    ],
)
def test_a_bad_tool_ends_the_run(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, text: str, fault: str
) -> None:
    folder = tmp_path_factory.mktemp("bin")
    lines = printed(tiny_cohort(tmp_path), folder, "samtools", text, MAPPED)
    advice = "apt-get install samtools, or snakemake --sdm conda (envs/samtools.yaml)"
    assert f"{folder}/samtools {fault}: {advice}" in lines


def test_a_tool_that_no_planned_job_calls_may_be_bad(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    cohort = tiny_cohort(tmp_path)
    made = cohort.folder / "results/reference/genome.fa"
    (bad := tmp_path_factory.mktemp("bin") / "gatk").write_text("#!/bin/sh\nexit 1\n")
    bad.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{bad.parent}{os.pathsep}{os.environ['PATH']}")
        ran = cohort.snakemake("--", str(made.relative_to(tmp_path)))
    assert (ran.exit_code, made.exists()) == (0, True), ran.output


def test_a_missing_tophat2_is_said_before_any_index_is_made(tmp_path: Path) -> None:
    cohort = tiny_experiment(tmp_path)
    cohort.config["aligner"] = "tophat2"
    ran = cohort.snakemake()
    assert ran.exit_code == 1
    assert "tophat2 is not on the PATH: snakemake --sdm conda (envs/tophat.yaml)" in ran.lines
    assert not list((tmp_path / "logs").rglob("*.log"))


def test_the_python_of_vets_is_asked_for_its_packages_before_any_job(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cohort = tiny_cohort(tmp_path, samples=["S1"], lanes=1)
    cohort.config |= {"filter": "vets", "vets": VETS}
    text = "echo \"ModuleNotFoundError: No module named 'sklearn'\"; exit 1"
    folder = tmp_path_factory.mktemp("bin")
    lines = printed(cohort, folder, "vets-python", text, "results/score_variant_annotations/S1.vcf.gz")
    fault = "does not run (exit status 1: ModuleNotFoundError: No module named 'sklearn')"
    assert f"{folder}/vets-python {fault}: make setup, or snakemake --sdm conda (envs/vets.yaml)" in lines


def test_a_plan_needs_no_tool(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    printed(tiny_cohort(tmp_path), tmp_path_factory.mktemp("bin"), "samtools", "exit 1", MAPPED, "--dry-run")


APPTAINER = """\
[ "$1" != --version ] || { echo apptainer version 1.3.0; exit; }
echo "$*" >>CALLS
while [ "$1" != exec ]; do shift; done
exec bash -c "${@: -1}"
"""


@pytest.mark.parametrize("image", ["", "image.sif"])
def test_jobs_run_in_the_image_that_the_configuration_names(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, image: str
) -> None:
    cohort = tiny_cohort(tmp_path)
    (tmp_path / "image.sif").touch()
    cohort.config["container"] = image
    folder = tmp_path_factory.mktemp("bin")
    (folder / "apptainer").write_text(f"#!/usr/bin/env bash\n{APPTAINER.replace('CALLS', str(folder / 'calls'))}")
    (folder / "apptainer").chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        ran = cohort.snakemake("--sdm", "apptainer", "--", "results/reference/genome.fa")
    assert (ran.exit_code, (tmp_path / "results/reference/genome.fa").exists()) == (0, True), ran.output
    calls = (folder / "calls").read_text() if (folder / "calls").exists() else ""
    assert ("image.sif bash -c" in calls) == bool(image), ran.output
