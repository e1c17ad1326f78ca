"""Snakemake's own linter finds nothing in any route through the workflow."""

import shutil

import pytest
from conftest import ROOT, Cohort, snakemake
from test_plan import VETS, VQSR

pytestmark = pytest.mark.usefixtures("gatk3_command")

ROUTES = {
    "gatk4": {},
    "gatk4-joint-vqsr-cram": {"calling": "joint", "filter": "vqsr", "vqsr": VQSR, "alignment_format": "cram"},
    "gatk4-vets": {"filter": "vets", "vets": VETS},
    "gatk3-nine-step": {"gatk": "gatk3", "realigner": "gatk3", "filter": "vqsr", "vqsr": VQSR},
}


DEEP = [pytest.param(route, marks=pytest.mark.deep) for route in ROUTES if route != "gatk4"]


@pytest.mark.parametrize("route", ["gatk4", *DEEP])
def test_lint(cohort: Cohort, route: str) -> None:
    cohort.config |= ROUTES[route]
    ran = cohort.snakemake("--lint")
    assert ran.exit_code == 0, ran.output


@pytest.mark.parametrize("pipeline", ["germline", pytest.param("tuxedo", marks=pytest.mark.deep)])
def test_a_bare_clone_is_linted(tmp_path, pipeline):
    """Its configuration names files that are not there: the catalog of workflows runs this."""
    clone = tmp_path / "clone"
    for folder in ("workflow", "config", "envs", "profiles", "scripts/snakemake-executor-plugin-pinned"):
        shutil.copytree(ROOT / folder, clone / folder, ignore=shutil.ignore_patterns("__pycache__"))
    snakefile = ["--snakefile", str(clone / "workflow/Snakefile")]
    choice = ["--config", f"pipeline={pipeline}", "annotation=genes.gtf", "stop_after=quantify"]
    ran = snakemake(clone, *snakefile, "--lint", *choice)
    assert ran.exit_code == 0, ran.output
    assert "warning: nothing is planned, so the files that the configuration names are not looked at" in ran.lines
    ran = snakemake(clone, *snakefile, "--dry-run", *choice)
    assert ran.exit_code == 1
    assert "config: reference.fasta resources/genome.fa.gz does not exist" in ran.lines
