"""The preset dragen-gatk with the real tools, single without GVCFs and joint, held against the truth."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, snakemake

sys.path.insert(0, str(ROOT / "resources/demo/germline"))

import compare_calls

from gpd.lab import digests

pytestmark = pytest.mark.e2e

SAMPLES = ("DEMO01", "DEMO02")
QD = re.compile(r"(?<=;)QD=[\d.]+")  # above 35 GATK draws it at random
CALLING = ("call_variants", "haplotype_caller", "hard_filter")


def run(folder: Path, *targets: str, **settings: object) -> Path:
    """Run what is due for the targets, and keep what is temporary."""
    config = yaml.safe_load((folder / "config.yaml").read_text())
    (folder / "config.yaml").write_text(yaml.safe_dump(config | {"preset": "dragen-gatk", **settings}))
    ran = snakemake(folder, "--configfile", str(folder / "config.yaml"), "--notemp", "--", *targets)
    assert ran.exit_code == 0, ran.output
    return folder


def again(source: Path, folder: Path, *targets: str, **settings: object) -> Path:
    """Call again, in a copy of another run."""
    shutil.copytree(source, folder)
    for step in CALLING:
        shutil.rmtree(folder / "results" / step, ignore_errors=True)
    return run(folder, *targets, **settings)


def calls(name: str) -> str:
    return f"results/hard_filter/{name}.vcf.gz"


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dragen") / "single"
    options = ["--samples", "2", "--length", "100000", "--coverage", "20", "--gaps-every", "28000"]
    simulator = ROOT / "resources/demo/germline/simulate_cohort.py"
    subprocess.run([sys.executable, simulator, "--output", folder, *options], check=True, capture_output=True)
    return run(
        folder,
        *map(calls, SAMPLES),
        "results/qc/samples.tsv",
        calling="per_sample",
        filter="hard",
        gvcf=False,
        scatter="none",
    )


@pytest.fixture(scope="module")
def joint(single: Path) -> Path:
    return again(single, single.with_name("joint"), calls("cohort"), calling="joint", gvcf=True)


def rules_of(folder: Path) -> set[str]:
    return {json.loads(line)["rule"] for line in (folder / "ledger.jsonl").read_text().splitlines()}


def records(folder: Path, name: str) -> list[str]:
    """Those of a call set, without what GATK draws."""
    view = ["bcftools", "view", "-H", folder / calls(name)]
    lines = subprocess.run(view, check=True, capture_output=True, text=True).stdout.splitlines()
    return [QD.sub("", line) for line in lines]


def header_of(folder: Path, name: str) -> str:
    view = ["bcftools", "view", "-h", folder / calls(name)]
    return subprocess.run(view, check=True, capture_output=True, text=True).stdout


def filters_of(header: str) -> list[str]:
    return re.findall("##FILTER=<ID=([^,]+)", header)


def held_against_truth(folder: Path, name: str, sample: str) -> compare_calls.Comparison:
    truth, genome = folder / f"truth/{sample}.vcf.gz", folder / "results/reference/genome.fa"
    return compare_calls.compare_calls(folder / calls(name), truth, genome, sample)


def test_single_samples_go_from_reads_to_calls_without_recalibration_and_gvcfs(single: Path) -> None:
    rules = rules_of(single)
    assert {"compose_str_table", "calibrate_dragstr_model", "call_variants", "hard_filter"} <= rules
    assert not {"base_recalibrator", "base_recalibration", "haplotype_caller", "genotype_gvcfs"} & rules
    assert not list((single / "results").rglob("*.g.vcf.gz"))


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_model_is_of_the_sample_and_the_calls_are_filtered_by_quality_alone(single: Path, sample: str) -> None:
    assert sample in (single / f"results/calibrate_dragstr_model/{sample}.txt").read_text()
    header = header_of(single, sample)
    assert f"calibrate_dragstr_model/{sample}.txt" in header
    expected = {"PASS", "SNP_DRAGENHardQUAL", "INDEL_DRAGENHardQUAL"}
    assert {name for name in filters_of(header) if name != "LowQual"} == expected
    assert {line.split("\t")[6] for line in records(single, sample)} <= expected
    assert not (single / "results/filtered_alone").exists(), "no filter looks at SOR, MQ or QD"


@pytest.mark.long
def test_genotype_gvcfs_reports_weak_variants_of_which_snps_are_filtered(joint: Path) -> None:
    assert {"SNP_QUAL30", "INDEL_DRAGENHardQUAL"} <= {*filters_of(header_of(joint, "cohort"))}
    weak = [fields for line in records(joint, "cohort") if float((fields := line.split("\t"))[5]) < 30]
    assert weak and min(float(fields[5]) for fields in weak) >= 10
    snps = [fields for fields in weak if len(fields[3]) == len(fields[4]) == 1]
    assert snps and {fields[6] for fields in snps} == {"SNP_QUAL30"}


@pytest.mark.long
@pytest.mark.parametrize("sample", SAMPLES)
def test_single_and_joint_calls_are_true(single: Path, joint: Path, sample: str, figure: Callable[[str], None]) -> None:
    assert {"genomics_db_import", "genotype_interval", "hard_filter_interval"} <= rules_of(joint)
    for folder, name in ((single, sample), (joint, "cohort")):
        found = held_against_truth(folder, name, sample)
        figure(f"dragen-gatk, {folder.name}, {found}")
        assert min(found.snp.recall, found.indel.recall) > 0.9
        assert min(found.snp.precision, found.indel.precision) > 0.7, "duplications that the reference lacks are called"


@pytest.mark.long
def test_shards_have_the_records_of_the_whole(single: Path, joint: Path, tmp_path: Path) -> None:
    shards = again(single, tmp_path / "shards", calls("DEMO01"), scatter=2)
    assert records(shards, "DEMO01") == records(single, "DEMO01")
    gvcf = "results/haplotype_caller/DEMO01.g.vcf.gz"
    shards = again(joint, tmp_path / "joint shards", gvcf, scatter=2)
    assert digests.vcf_body_digest(shards / gvcf) == digests.vcf_body_digest(joint / gvcf)
