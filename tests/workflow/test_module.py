"""The workflow as a module of somebody else's, as snakedeploy sets it up."""

from conftest import SNAKEFILE, Cohort, planned_jobs, snakemake

DEPLOYED = """
configfile: "config/config.yaml"

module gpd:
    snakefile: {snakefile!r}
    config: config

use rule * from gpd
"""


def test_a_deployed_module_plans_what_the_workflow_plans(cohort: Cohort) -> None:
    cohort.write()
    deployed = cohort.folder / "Snakefile"
    deployed.write_text(DEPLOYED.format(snakefile=str(SNAKEFILE)))
    ran = snakemake(cohort.folder, "--dry-run", "--snakefile", str(deployed))
    assert ran.exit_code == 0, ran.said
    assert planned_jobs(ran) == planned_jobs(cohort.snakemake("--dry-run"))
