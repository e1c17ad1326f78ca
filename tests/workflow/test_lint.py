"""Snakemake's own linter finds nothing in any route through the workflow."""

import pytest
from conftest import Cohort
from test_plan import VQSR

pytestmark = pytest.mark.usefixtures("gatk3_command")

ROUTES = {
    "gatk4": {},
    "gatk4-joint-vqsr-cram": {"calling": "joint", "filter": "vqsr", "vqsr": VQSR, "alignment_format": "cram"},
    "gatk3-nine-step": {"gatk": "gatk3", "realigner": "gatk3", "filter": "vqsr", "vqsr": VQSR},
}


@pytest.mark.parametrize("route", ROUTES)
def test_lint(cohort: Cohort, route: str) -> None:
    cohort.config |= ROUTES[route]
    ran = cohort.snakemake("--lint")
    assert ran.exit_code == 0, ran.said
