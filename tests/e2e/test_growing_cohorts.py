"""Finished cohorts that samples join, or whose GVCFs are made smaller, with real tools: what runs, what is called."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, Ran, snakemake

sys.path.insert(0, str(ROOT / "scripts" / "bench"))
from benches import calls
from benches.filtering import read_alleles

pytestmark = [pytest.mark.e2e, pytest.mark.long]

SIMULATOR = ROOT / "resources" / "demo" / "germline" / "simulate_cohort.py"
LATER = "DEMO02"  # neither the first nor the last by name: rows of a grown database are in another order
CALLS = Path("results/hard_filter/cohort.vcf.gz")
OF_COHORT = {
    *("list_files", "genomics_db_import", "genotype_interval", "gather_genotypes"),
    *("hard_filter_interval", "gather_hard_filter"),
}
# GATK, but that it fails when it has updated a database
FAILING = """#!/usr/bin/env bash
'{gatk}' "$@" || exit
case $* in *--genomicsdb-update-workspace-path*) echo 'java.lang.Error: struck down' >&2; exit 3 ;; esac
"""


@dataclass(frozen=True)
class Grown:
    """A cohort of three that LATER joined: at the second attempt, for GATK failed at the first."""

    folder: Path
    kept_before: dict[str, str]
    kept_after_failure: dict[str, str]
    failed: Ran
    ran: Ran


def run(folder: Path, **settings: object) -> Ran:
    """Run the joint pipeline up to its filtered calls."""
    config = yaml.safe_load((folder / "config.yaml").read_text())
    config |= {"calling": "joint", "filter": "hard", "genomicsdb": "kept", **settings}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    return snakemake(folder, "--configfile", str(folder / "config.yaml"), "--until", "gather_hard_filter")


def of_kept(folder: Path) -> dict[str, str]:
    """Digests of the files of all databases that are kept."""
    files = (path for path in folder.glob("*.kept/current/**/*") if path.is_file())
    return {str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest() for path in files}


def without(folder: Path, sample: str) -> None:
    """Take a sample out of a cohort: its rows, and every file that has its name."""
    config = yaml.safe_load((folder / "config.yaml").read_text())
    for table in (folder / config["samples"], folder / config["units"]):
        rows = [row for row in table.read_text().splitlines(keepends=True) if row.split()[0] != sample]
        table.write_text("".join(rows))
    for path in [*(folder / "results").rglob(f"{sample}*")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.fixture(scope="module")
def at_once(tmp_path_factory) -> Path:
    """A finished cohort of four, all imported at once."""
    folder = tmp_path_factory.mktemp("growing") / "four at once"
    options = ["--samples", "4", "--length", "60000", "--coverage", "10", "--gaps-every", "20000"]
    subprocess.run([sys.executable, SIMULATOR, "--output", folder, *options], check=True, capture_output=True)
    ran = run(folder, joint_intervals=1, genomicsdb="temporary")
    assert ran.exit_code == 0, ran.output
    return folder


@pytest.fixture(scope="module", params=[1, 3], ids=["whole", "by interval"])
def grown(at_once, request, tmp_path_factory) -> Grown:
    folder = at_once.with_name(f"three and one, {request.param}")
    shutil.copytree(at_once, folder)
    without(folder, LATER)
    ran = run(folder, joint_intervals=request.param)
    assert ran.exit_code == 0, ran.output
    kept = folder / "results/genomics_db_import"
    before = of_kept(kept)
    config = yaml.safe_load((folder / "config.yaml").read_text())
    for table in (config["samples"], config["units"]):
        shutil.copy(at_once / table, folder / table)
    failing = tmp_path_factory.mktemp("bin") / "gatk"
    failing.write_text(FAILING.format(gatk=shutil.which("gatk")))
    failing.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(failing.parent), prepend=os.pathsep)
        failed = run(folder)
    after_failure = of_kept(kept)
    return Grown(folder, before, after_failure, failed, run(folder))


def test_a_failed_update_leaves_the_kept_database_as_it_was(grown):
    assert grown.failed.exit_code == 1
    assert "struck down" in grown.failed.output
    assert len(grown.kept_before) > 20
    assert grown.kept_after_failure == grown.kept_before


def test_only_the_new_sample_and_the_cohort_run(grown):
    assert grown.ran.exit_code == 0, grown.ran.output
    jobs = re.split(r"^(?:local)?rule ", grown.failed.output, flags=re.MULTILINE)[1:]
    rules = {job.partition(":")[0] for job in jobs if "wildcards: sample=" not in job}
    samples = {found[1] for job in jobs if (found := re.search(r"wildcards: sample=(\w+)", job))}
    assert (samples, rules - OF_COHORT) == ({LATER}, set())


def test_the_new_sample_alone_is_imported(grown):
    logs = (grown.folder / "logs/genomics_db_import").rglob("*.log")
    output = [line for log in logs for line in log.read_text().splitlines() if "added to a copy" in line]
    assert output
    assert all(line.endswith("holds 3 samples; added to a copy of it: 1") for line in output)


def test_calls_are_those_of_all_at_once(grown, at_once, figure):
    """Above 35 GATK draws QD at random."""
    difference = calls.compare(at_once / CALLS, grown.folder / CALLS)
    counts = f"{difference['records']} records, {difference.in_results} differ; beside them: {difference}"
    figure(f"a cohort that grew: {counts}")
    assert difference["records"] > 150
    assert {name for name, count in difference.items() if count} <= {"records", "QD"}


def test_one_database_of_each_interval_is_kept(grown):
    stores = [*(grown.folder / "results/genomics_db_import").glob("*of*.kept")]
    assert stores
    for store in stores:
        assert len([path for path in store.iterdir() if path.name.isdigit()]) == 1
        assert store.with_name(store.name.removesuffix(".kept")).resolve() == (store / "current").resolve()


@pytest.fixture(scope="module")
def reblocked(at_once) -> tuple[Path, Ran]:
    """The cohort of four, called again from smaller GVCFs."""
    folder = at_once.with_name("reblocked")
    shutil.copytree(at_once, folder)
    return folder, run(folder, reblock=True)


def test_smaller_gvcfs_are_made_of_those_that_are_there_and_stay_in_their_place(at_once, reblocked, figure):
    folder, ran = reblocked
    assert ran.exit_code == 0, ran.output
    assert set(re.findall(r"^(?:local)?rule (\w+):", ran.output, re.MULTILINE)) == OF_COHORT | {"reblock_gvcf"}
    assert not list((folder / "results/haplotype_caller").glob("*.g.vcf.gz*"))
    before, after = (
        sum(path.stat().st_size for path in (place / "results").glob(f"{rule}/*.g.vcf.gz"))
        for place, rule in ((at_once, "haplotype_caller"), (folder, "reblock_gvcf"))
    )
    figure(f"reblock: GVCFs of {after:,} bytes in place of {before:,}")
    assert after < before / 2
    earlier, later = (cpu_seconds(place) for place in (at_once, folder))
    for rule in ("reblock_gvcf", "genomics_db_import", "genotype_interval"):
        figure(f"reblock: {rule} {later[rule]:.1f} CPU s, without {earlier.get(rule, 0):.1f}")


def cpu_seconds(folder: Path) -> dict[str, float]:
    """Of the last job of each rule."""
    records = map(json.loads, (folder / "ledger.jsonl").read_text().splitlines())
    return {record["rule"]: record["cpu_s"] for record in records}


def test_calls_of_smaller_gvcfs_are_the_same_but_for_unsure_genotypes_of_the_reference(at_once, reblocked, figure):
    folder, _ = reblocked
    genome = at_once / "results/reference/genome.fa"
    for sample in ("DEMO01", "DEMO02", "DEMO03", "DEMO04"):
        before, after = (read_alleles(place / CALLS, genome, sample, None) for place in (at_once, folder))
        assert after == before, "alleles that the sample has, and their filters"
        passed = {allele for allele, names in after.items() if names == {"PASS"}}
        true = read_alleles(at_once / "truth" / f"{sample}.vcf.gz", genome, "", None).keys()
        found = len(passed & true)
        figure(f"reblock or not, {sample}: recall {found / len(true):.3f}, precision {found / len(passed):.3f}")
    sites = [genotypes(place / CALLS) for place in (at_once, folder)]
    assert sites[0].keys() == sites[1].keys()
    changes = Counter(
        pair for site in sites[0] for pair in zip(sites[0][site], sites[1][site], strict=True) if len(set(pair)) > 1
    )
    figure(f"reblock: {sum(changes.values())} of {4 * len(sites[0])} genotypes differ, all 0/0 before and none after")
    assert changes.keys() == {("0/0", "./.")}


def genotypes(vcf: Path) -> dict[str, list[str]]:
    """By site and alleles, the unphased genotypes of all samples."""
    query = ["bcftools", "query", "-f", r"%CHROM:%POS:%REF:%ALT[\t%GT]\n", vcf]
    table = subprocess.run(query, check=True, capture_output=True, text=True).stdout.replace("|", "/")
    rows = (line.split("\t") for line in table.splitlines())
    return {site: found for site, *found in rows}
