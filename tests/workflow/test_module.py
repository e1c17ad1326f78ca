"""The workflow as a module of somebody else's, as snakedeploy sets it up, and under other names in another folder."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, SNAKEFILE, Cohort, planned_jobs, snakemake, tiny_cohort
from tuxedo_cohort import tiny_experiment

DEPLOYED = """
configfile: "config/config.yaml"

module gpd:
    snakefile: {snakefile}
    config: config

use rule * from gpd
"""

IMPORTED = """
shell.prefix("export OF_IMPORTER=yes; ")

configfile: "config/config.yaml"

rule own:
    input: "calls of gpd/results/reference/genome.fa.fai"
    output: "own.txt"
    params: known=lambda wildcards: sorted(config)
    shell: "echo {{params.known}} > {{output}}; env >> {{output}}"

module gpd:
    snakefile: {snakefile}
    config: config
    prefix: "calls of gpd"

use rule * from gpd as gpd_*
"""


def write(cohort: Cohort, snakefile: str, place: str = repr(str(SNAKEFILE))) -> str:
    """An importer's Snakefile; `place` is where it finds ours, as Python."""
    cohort.write()
    path = cohort.folder / "Snakefile"
    path.write_text(snakefile.format(snakefile=place))
    return str(path)


def absolute(cohort: Cohort) -> Cohort:
    """The cohort with absolute paths: a module's prefix goes before all others."""
    cohort.config["reference"]["fasta"] = str(cohort.folder / "genome.fa")
    for key in ("known_sites", "annotation"):
        if value := cohort.config.get(key):
            places = [str(cohort.folder / path) for path in ([value] if isinstance(value, str) else value)]
            cohort.config[key] = places[0] if isinstance(value, str) else places
    for unit in cohort.units:
        unit |= {mate: str(cohort.folder / unit[mate]) for mate in ("fq1", "fq2")}
    return cohort


@pytest.mark.deep
def test_a_deployed_module_plans_what_the_workflow_plans(cohort: Cohort) -> None:
    ran = snakemake(cohort.folder, "--dry-run", "--snakefile", write(cohort, DEPLOYED))
    assert ran.exit_code == 0, ran.output
    assert planned_jobs(ran) == planned_jobs(cohort.snakemake("--dry-run"))


@pytest.mark.deep
@pytest.mark.parametrize("make", [tiny_cohort, tiny_experiment])
def test_under_a_prefix_every_path_of_ours_is_moved(tmp_path: Path, make) -> None:
    cohort = absolute(make(tmp_path))
    if make is tiny_experiment:
        cohort.config |= {"aligner": "tophat2", "bias_correction": True}
    snakefile = write(cohort, IMPORTED)
    ran = snakemake(cohort.folder, "--dry-run", "--printshellcmds", "--snakefile", snakefile, "gpd_all")
    assert ran.exit_code == 0, ran.output
    named = {name.removeprefix("gpd_"): count for name, count in planned_jobs(ran).items()}
    assert named == planned_jobs(cohort.snakemake("--dry-run"))
    assert re.findall(r"(?<!calls of gpd/)\b(?:results|logs)/.*", ran.output) == []


@pytest.mark.e2e
def test_rules_of_the_importer_stay_as_they_are(cohort: Cohort) -> None:
    """A job of ours and one of the importer's, run for real: neither sees what is the other's."""
    snakefile = write(absolute(cohort), IMPORTED)
    planned = snakemake(cohort.folder, "--dry-run", "--snakefile", snakefile)
    (resources,) = re.findall(r"resources: (.*)", planned.output.partition("rule own:")[2])
    assert "pinned" not in resources
    ran = snakemake(cohort.folder, "--snakefile", snakefile, "--executor", "pinned")
    assert ran.exit_code == 0, ran.output
    keys, *variables = (cohort.folder / "own.txt").read_text().splitlines()
    assert keys.split() == sorted(cohort.config)
    assert "OF_IMPORTER=yes" in variables
    records = [*map(json.loads, (cohort.folder / "ledger.jsonl").read_text().splitlines())]
    assert [(record["rule"], record["exit_code"]) for record in records] == [("gpd_reference", 0), ("own", 0)]
    assert (cohort.folder / "calls of gpd/results/reference/genome.dict").exists()
    again = snakemake(cohort.folder, "--dry-run", "--snakefile", snakefile)
    assert "Nothing to be done" in again.output


@pytest.mark.e2e
def test_out_of_a_repository_nothing_can_be_listed_and_jobs_find_their_scripts(cohort: Cohort, tmp_path: Path) -> None:
    """As from a server: Snakemake gets each file that is asked for by name, alone."""
    repository = tmp_path / "repository"
    for folder in ("workflow", "envs"):
        shutil.copytree(ROOT / folder, repository / folder, ignore=shutil.ignore_patterns("__pycache__"))
    author = ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost"]
    for words in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "all"], ["tag", "v1"]):
        subprocess.run(["git", *words], cwd=repository, check=True)
    place = f'gitfile({str(repository)!r}, tag="v1", path="workflow/Snakefile")'
    made = "results/haplotype_caller/S1.g.vcf.gz"
    words = ["--executor", "pinned", "--config", "scatter=2", "--", made]
    ran = snakemake(cohort.folder, "--snakefile", write(cohort, DEPLOYED, place), *words)
    assert ran.exit_code == 0, ran.output
    assert (cohort.folder / made).exists()
