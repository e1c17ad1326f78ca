"""A sample that fails in a joint cohort, with the real tools: the cohort goes on without it, and takes it up again."""

import gzip
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, SHORT_JVMS
from tuxedo_cohort import tiny_experiment

pytestmark = pytest.mark.e2e

SIMULATOR = ROOT / "resources" / "demo" / "germline" / "simulate_cohort.py"
GOOD, BAD = "DEMO01", "DEMO02"
CALLS = Path("results/hard_filter/cohort.vcf.gz")
SPOILT = Path(f"results/samtools_stats/{GOOD}.txt")
LEFT_OUT = Path("results/left_out.tsv")
STRUCK = """#!/usr/bin/env bash
case $* in *SM:{sample}*) echo 'error: reads of {sample}: struck down' >&2; exit 3 ;; esac
exec '{tool}' "$@"
"""


@dataclass(frozen=True)
class Done:
    """What a `gpd run` left: its exit code, and what it said."""

    exit_code: int
    output: list[str]


def gpd(folder: Path, pipeline: str, config: str, tools: Path | None = None) -> Done:
    words = ["run", pipeline, "results", "--configfile", config, "--retries", "1"]
    path = os.pathsep.join([*([str(tools)] if tools else []), os.environ["PATH"]])
    command, environment = [sys.executable, "-m", "gpd", *words], os.environ | SHORT_JVMS | {"PATH": path}
    ran = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, timeout=300)
    return Done(ran.returncode, ran.stdout.splitlines())


def struck(folder: Path, tool: str, sample: str) -> Path:
    """A folder with a mapper that fails for one sample."""
    folder.mkdir()
    (folder / tool).write_text(STRUCK.format(sample=sample, tool=shutil.which(tool)))
    (folder / tool).chmod(0o755)
    return folder


def made(folder: Path) -> tuple[list[str], list[str]]:
    """The samples of the call set, and those that are said to be missing."""
    with gzip.open(folder / CALLS, "rt") as vcf:
        called = next(line for line in vcf if line.startswith("#CHROM")).split()[9:]
    return called, (folder / LEFT_OUT).read_text().split()[1:]


@pytest.fixture(scope="module")
def cohort(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("dropped") / "my cohort"
    options = ["--samples", "2", "--length", "20000", "--coverage", "8"]
    subprocess.run([sys.executable, SIMULATOR, "--output", folder, *options], check=True, capture_output=True)
    config = yaml.safe_load((folder / "config.yaml").read_text())
    config |= {"calling": "joint", "filter": "hard", "failed_samples": "drop", "scatter": "none"}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    return folder


@pytest.fixture(scope="module")
def dropped(cohort) -> tuple[Done, list[str], list[str]]:
    done = gpd(cohort, "germline", "config.yaml", struck(cohort / "bin", "bwa", BAD))
    return done, *made(cohort)


@pytest.fixture(scope="module")
def repaired(cohort, dropped) -> Done:
    """Meanwhile a power cut took the blocks of a result."""
    size = (cohort / SPOILT).stat().st_size
    os.truncate(cohort / SPOILT, size // 2)
    os.truncate(cohort / SPOILT, size)
    return gpd(cohort, "germline", "config.yaml")


def test_the_cohort_goes_on_without_the_sample_that_failed(dropped):
    assert dropped[1:] == ([GOOD], [BAD])


def test_the_end_names_the_sample_and_what_was_made_without_it(dropped):
    done, *_ = dropped
    assert done.exit_code == 1
    assert any(line.startswith("1 of 2 samples finished") for line in done.output)
    assert any(BAD in line and f"tool_error: error: reads of {BAD}: struck down" in line for line in done.output)
    without = f"went on without {BAD}: genotype_gvcfs and hard_filter"
    assert f"{without}; {LEFT_OUT} names the missing samples" in done.output


def test_an_error_of_the_data_is_recorded_for_each_retry_and_run_once(cohort, dropped):
    """A retry would have had more memory."""
    records = [json.loads(line) for line in (cohort / "ledger.jsonl").read_text().splitlines()]
    failed = [each for each in records if each["exit_code"]]
    assert {(each["attempt"], each["start"] is None) for each in failed} == {(1, False), (2, True)}
    assert all("as attempt 1; not tried again" in each["message"] for each in failed if each["attempt"] == 2)
    first, second = (min(each["mem_mb"] for each in failed if each["attempt"] == number) for number in (1, 2))
    assert first < second <= 2 * first


@pytest.mark.long
def test_it_is_taken_up_again_when_it_is_mended(cohort, repaired):
    assert repaired.exit_code == 0, repaired.output
    assert made(cohort) == ([GOOD, BAD], [])


@pytest.mark.long
def test_a_result_that_a_power_cut_spoilt_is_made_again(cohort, repaired):
    """Snakemake alone takes a finished file for whole, and would say that nothing is to be done."""
    assert any(line.startswith(f"{SPOILT} ") and "renamed to" in line for line in repaired.output)
    assert (cohort / SPOILT).with_name(f"{SPOILT.name}.broken").exists()
    assert b"\0" not in (cohort / SPOILT).read_bytes()


@pytest.mark.long
def test_transcripts_are_merged_of_the_samples_that_are_left(tmp_path):
    experiment = tiny_experiment(tmp_path, ("A1", "A2", "B1"), lanes=1)
    experiment.config |= {"stop_after": "quantify", "failed_samples": "drop"}
    experiment.write()
    ran = gpd(tmp_path, "tuxedo", "config/config.yaml", struck(tmp_path / "bin", "hisat2-align-s", "A2"))
    assert ran.exit_code == 1
    assert (tmp_path / LEFT_OUT).read_text().split()[1:] == ["A2"]
    assert sorted(path.name for path in (tmp_path / "results/quantify").iterdir()) == ["A1.cxb", "B1.cxb"]
    assert ran.output[-2:] == [f"went on without A2: merge; {LEFT_OUT} names the missing samples", "1 job failed"]
