"""The germline pipeline in shards, with the real tools: its results are those of the whole."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, snakemake

from gpd.lab import digests

pytestmark = [pytest.mark.e2e, pytest.mark.long]

SIMULATOR = ROOT / "resources" / "demo" / "germline" / "simulate_cohort.py"
QD = re.compile(r"(?<=;)QD=([\d.]+)")
SCATTERED = ("base_recalibrator", "base_recalibration", "haplotype_caller")
BY_INTERVAL = ("genomics_db_import", "genotype_interval", "hard_filter_interval")
STEPS = (*SCATTERED, *BY_INTERVAL, "genotype_gvcfs", "hard_filter")


def run(folder: Path, **settings: object) -> Path:
    """Run the joint pipeline up to its filtered calls, and keep what is temporary."""
    config = yaml.safe_load((folder / "config.yaml").read_text())
    (folder / "config.yaml").write_text(yaml.safe_dump(config | {"calling": "joint", "filter": "hard", **settings}))
    ran = snakemake(folder, "--configfile", str(folder / "config.yaml"), "--notemp", "--until", "gather_hard_filter")
    assert ran.exit_code == 0, ran.output
    return folder


def again(source: Path, folder: Path, first: str, **settings: object) -> Path:
    """Run it from a step on, in a copy of another run."""
    shutil.copytree(source, folder)
    for step in STEPS[STEPS.index(first) :]:
        shutil.rmtree(folder / "results" / step)
    return run(folder, **settings)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("scattered") / "whole"
    options = ["--samples", "2", "--length", "100000", "--coverage", "12", "--gaps-every", "28000"]
    subprocess.run([sys.executable, SIMULATOR, "--output", folder, *options], check=True, capture_output=True)
    return run(folder, scatter="none", joint_intervals=1)


@pytest.fixture(scope="module")
def scattered(whole) -> Path:
    return again(whole, whole.with_name("a folder with 'quotes'"), "base_recalibrator", scatter=2, joint_intervals=2)


def output(*command: object) -> list[str]:
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=True).stdout.splitlines()


def records(folder: Path, name: str, *columns: str) -> list[str]:
    wanted = ["-f", "\\t".join([*columns, "[%GT\\t]"]) + "\\n"] if columns else ["-f", "%LINE"]
    return [line for line in output("bcftools", "query", *wanted, folder / "results" / name) if line]


def shards(folder: Path, rule: str, sample: str | None = None) -> set[str | None]:
    lines = (folder / "ledger.jsonl").read_text().splitlines()
    found = (record for record in map(json.loads, lines) if record["rule"] == rule)
    return {record["shard"] for record in found if not sample or record["wildcards"]["sample"] == sample}


@pytest.mark.parametrize("rule", SCATTERED)
def test_each_step_ran_in_shards(whole, scattered, rule):
    assert shards(whole, rule) == {None}
    assert shards(scattered, rule) - {None} == {"1/2", "2/2", "gather"}


@pytest.mark.parametrize("rule", BY_INTERVAL)
def test_the_cohort_was_called_by_interval(scattered, rule):
    lines = map(json.loads, (scattered / "ledger.jsonl").read_text().splitlines())
    wildcards = [record["wildcards"] for record in lines if record["rule"] == rule]
    assert {"interval": "1of2"} in wildcards
    assert {"interval": "2of2"} in wildcards


@pytest.mark.parametrize("sample", ["DEMO01", "DEMO02"])
def test_recalibration_counts_each_base_once(whole, scattered, sample):
    """Means of reported qualities are sums over shards, so their fourth decimal may be another."""
    texts = [(folder / f"results/base_recalibrator/{sample}.table").read_text() for folder in (whole, scattered)]
    found = [[re.split(r"(-?\d+\.\d+)", line) for line in text.splitlines()] for text in texts]
    assert [line[::2] for line in found[0]] == [line[::2] for line in found[1]]
    numbers = [[float(number) for line in lines for number in line[1::2]] for lines in found]
    assert len(numbers[0]) > 1000
    assert numbers[1] == pytest.approx(numbers[0], abs=1.5e-4)


@pytest.mark.parametrize("sample", ["DEMO01", "DEMO02"])
def test_alignments_are_those_of_the_whole_read_by_read(whole, scattered, sample):
    name = f"results/base_recalibration/{sample}.bam"
    found = [output("samtools", "view", folder / name) for folder in (whole, scattered)]
    assert len(found[0]) > 5_000
    assert any("\t*\t0\t0\t*\t" in line for line in found[0]), "some reads have no place"
    assert found[0] == found[1]


@pytest.mark.parametrize("sample", ["DEMO01", "DEMO02"])
def test_gvcfs_are_those_of_the_whole_to_the_byte_but_for_the_command_line(whole, scattered, sample):
    """Blocks without coverage span the borders of shards, and are whole again."""
    name = Path("results") / "haplotype_caller" / f"{sample}.g.vcf.gz"
    assert digests.vcf_body_digest(scattered / name) == digests.vcf_body_digest(whole / name)


def test_calls_in_shards_are_those_of_the_whole_but_for_drawn_numbers(whole, scattered):
    """Above 35 GATK draws QD at random, from a sequence that starts anew in each shard."""
    found = [records(folder, "hard_filter/cohort.vcf.gz") for folder in (whole, scattered)]
    assert len(found[0]) > 150
    assert [QD.sub("", line) for line in found[0]] == [QD.sub("", line) for line in found[1]]
    odd = [pair for pair in zip(*found, strict=True) if pair[0] != pair[1]]
    assert all(float(QD.search(line)[1]) > 20 for pair in odd for line in pair)


def test_nothing_of_the_shards_is_left(scattered):
    assert not list((scattered / "results").rglob("*.shards"))


@pytest.mark.parametrize("ploidy", [1, 4])
def test_shards_of_other_ploidies_have_the_records_of_the_whole(whole, tmp_path, ploidy):
    target = "results/haplotype_caller/DEMO01.g.vcf.gz"

    def called(name: str, **settings: object) -> list[list[str]]:
        folder = shutil.copytree(whole, tmp_path / name)
        for step in STEPS[STEPS.index("haplotype_caller") :]:
            shutil.rmtree(folder / "results" / step)
        config = yaml.safe_load((folder / "config.yaml").read_text())
        config |= {"extra": {"haplotype_caller": f"--sample-ploidy {ploidy}"}, **settings}
        (folder / "config.yaml").write_text(yaml.safe_dump(config))
        ran = snakemake(folder, "--configfile", str(folder / "config.yaml"), "--notemp", target)
        assert ran.exit_code == 0, ran.output
        return [line.split("\t") for line in output("bcftools", "view", "-H", folder / target)]

    one = called("one", scatter="none")
    assert {fields[9].partition(":")[0].count("/") for fields in one} == {ploidy - 1}
    assert called("gaps", scatter=8) == one
