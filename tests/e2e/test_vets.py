"""VETS with the real tools, of a sample alone and of a joint call set by interval, held against the truth."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, Ran, snakemake, tiny_cohort
from test_hard_filters import write_calls

sys.path.insert(0, str(ROOT / "resources/demo/germline"))

import compare_calls

pytestmark = pytest.mark.e2e

SAMPLE = "DEMO01"
BEST, MORE = {"training": True, "calibration": True}, {"training": True}
VETS = {
    "snps": {
        "resources": {
            "hapmap": {"vcf": "known/hapmap.vcf.gz", **BEST},
            "thousand_genomes": {"vcf": "known/thousand_genomes.vcf.gz", **MORE},
        },
        "sensitivity": 95,
    },
    "indels": {"resources": {"mills": {"vcf": "known/mills.vcf.gz", **BEST}}},
}
CALLS = {"single": f"{SAMPLE}.vcf.gz", "joint": "cohort.vcf.gz"}
UNFILTERED, SCORED = Path("results/genotype_gvcfs"), Path("results/score_variant_annotations")


def run(folder: Path, *targets: object, **settings: object) -> Ran:
    """Run what is due for the targets, and keep what is temporary."""
    config = yaml.safe_load((folder / "config.yaml").read_text())
    (folder / "config.yaml").write_text(yaml.safe_dump(config | {"filter": "vets", "vets": VETS, **settings}))
    return snakemake(folder, "--configfile", str(folder / "config.yaml"), "--notemp", "--", *map(str, targets))


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vets") / "single"
    options = ["--samples", "1", "--length", "100000", "--coverage", "20"]
    simulator = ROOT / "resources/demo/germline/simulate_cohort.py"
    subprocess.run([sys.executable, simulator, "--output", folder, *options], check=True, capture_output=True)
    ran = run(folder, SCORED / CALLS["single"], calling="per_sample", bqsr="none", scatter="none")
    assert ran.exit_code == 0, ran.output
    return folder


@pytest.fixture(scope="module")
def joint(single: Path) -> Path:
    folder = single.with_name("joint")
    shutil.copytree(single, folder)
    ran = run(folder, SCORED / CALLS["joint"], calling="joint")
    assert ran.exit_code == 0, ran.output
    return folder


def rules_of(folder: Path) -> Counter[str]:
    return Counter(json.loads(line)["rule"] for line in (folder / "ledger.jsonl").read_text().splitlines())


def records(folder: Path) -> list[list[str]]:
    """What the final calls say of each variant: its type, FILTER, score, and whether GATK took it for a SNP."""
    columns = "%TYPE\t%FILTER\t%INFO/SCORE\t%INFO/snp\n"
    query = ["bcftools", "query", "-f", columns, folder / SCORED / CALLS[folder.name]]
    lines = subprocess.run(query, check=True, capture_output=True, text=True).stdout.splitlines()
    return [line.split("\t") for line in lines]


def held_against_truth(folder: Path, step: Path) -> compare_calls.Comparison:
    truth, genome = folder / f"truth/{SAMPLE}.vcf.gz", folder / "results/reference/genome.fa"
    return compare_calls.compare_calls(folder / step / CALLS[folder.name], truth, genome, SAMPLE)


@pytest.mark.long
def test_snps_and_indels_have_a_model_each(single: Path, joint: Path) -> None:
    modelled = {"extract_variant_annotations": 2, "train_variant_annotations": 2}
    of_one = modelled | {"score_variant_annotations": 1}
    assert of_one.items() <= rules_of(single).items()
    of_both = of_one | {rule: 2 * jobs for rule, jobs in modelled.items()}
    assert (of_both | {"sites_only": 1, "score_interval": 1, "gather_scores": 1}).items() <= rules_of(joint).items()
    for folder, name in ((single, SAMPLE), (joint, "cohort")):
        models = folder / "results/train_variant_annotations"
        for kind in ("snp", "indel"):
            assert (models / f"{name}.{kind}.scorer.pkl").stat().st_size > 10_000


@pytest.mark.long
@pytest.mark.parametrize("calling", CALLS)
def test_each_variant_has_the_score_of_its_kind_and_a_verdict(request: pytest.FixtureRequest, calling: str) -> None:
    found = records(request.getfixturevalue(calling))
    assert len(found) > 150
    assert {verdict for _, verdict, *_ in found} == {"PASS", "LOW_SCORE"}
    assert all(float(score) < 0 for *_, score, _ in found)
    assert {kind for kind, _, _, snp in found if snp == "1"} == {"SNP"}
    assert {"INDEL"} <= {kind for kind, _, _, snp in found if snp == "."}


@pytest.mark.long
@pytest.mark.parametrize("calling", CALLS)
def test_calls_are_true_and_what_is_filtered_is_mostly_false(
    request: pytest.FixtureRequest, calling: str, figure: Callable[[str], None]
) -> None:
    folder = request.getfixturevalue(calling)
    before, found = (held_against_truth(folder, step) for step in (UNFILTERED, SCORED))
    figure(f"vets, {calling}, {found}; unfiltered {before}")
    assert min(found.snp.recall, found.indel.recall) > 0.9
    lost = before.snp.true_positives - found.snp.true_positives
    removed = before.snp.false_positives - found.snp.false_positives
    assert removed / before.snp.false_positives > 2 * lost / before.snp.true_positives, "false calls are filtered first"
    assert found.indel.precision >= before.indel.precision


# leaves what GATK leaves where the sets hold no call, or none for the cut-off
GATK = """#!/bin/bash
case "$*" in
    *--version*) echo 4.6.2.0 ;;
    *TrainVariantAnnotationsModel*) echo model. >"${@: -1}.snp.scorer.pkl" ;;
esac
"""
WITHOUT = {
    "annotation": ("extract_variant_annotations/S1.snps", "vets.snps.annotations: QE: calls have no such annotation"),
    "call": (
        "extract_variant_annotations/S1.snps",
        "no snps of S1 are in the sets of vets.snps.resources: name others",
    ),
    "calibration": (
        "train_variant_annotations/S1.snp",
        "no snp of S1 is in a set of vets.snps.resources with calibration",
    ),
}


@pytest.mark.parametrize("what", WITHOUT)
def test_what_a_model_lacks_is_said_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    cohort = tiny_cohort(tmp_path, samples=["S1"], lanes=1)
    known = {"resources": {"known": {"vcf": "known.vcf", **BEST}}, "annotations": ["QD"]}
    snps = known | {"annotations": ["QD", "QE"]} if what == "annotation" else known
    cohort.config |= {"filter": "vets", "vets": {"snps": snps, "indels": known}}
    write_calls(tmp_path / "results/genotype_gvcfs/S1.vcf.gz", [], 2000)
    program = tmp_path / "bin/gatk"
    program.parent.mkdir()
    program.write_text(GATK)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    name, line = WITHOUT[what]
    if what == "calibration":
        labelled = tmp_path / "results/extract_variant_annotations/S1.snps.annot.hdf5"
        labelled.parent.mkdir()
        labelled.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(32) + (48).to_bytes(8, "little"))
    rules = ["reference", "indexed_vcf", name.partition("/")[0]]
    target = f"results/{name}.{'scorer.pkl' if what == 'calibration' else 'annot.hdf5'}"
    ran = cohort.snakemake("--allowed-rules", *rules, "--", target)
    assert ran.exit_code == 1, ran.output
    assert f"error: {line}" in (tmp_path / f"logs/{name}.log").read_text()
    assert not (tmp_path / target).exists()
