"""`gpd benchmark`, in small: inputs made and held against their digests, a study measured, one figure, one package."""

import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, SHORT_JVMS
from subcommands import gpd

from gpd.benchmark.submission import Session

pytestmark = pytest.mark.e2e
BENCHMARK = ROOT / "resources" / "benchmark"


@pytest.mark.long
def test_a_benchmark_ends_in_one_figure_and_a_package(tmp_path, monkeypatch, figure):
    for name, value in SHORT_JVMS.items():
        monkeypatch.setenv(name, value)
    ran = gpd("benchmark", "tiny", "--directory", tmp_path)
    assert ran.exit_code == 0, ran.output
    last = ran.output.splitlines()[-1]
    figure(last)
    assert last.startswith("tiny-1: ") and "samples a day at N = " in last and "one sample alone takes" in last
    found = Session.read(tmp_path / "tiny-1/session-1.gpd.tar.gz")
    assert found.workload.name == "tiny-1"
    assert len(found.calibrations) == len(found.records) + 1
    again = gpd("benchmark", "tiny", "--directory", tmp_path)
    assert again.output.splitlines()[-1] == last, "what has been measured is not measured again"
    shutil.copyfile(tmp_path / "tiny-1/inputs/reads/S1_R2.fastq.gz", tmp_path / "tiny-1/inputs/reads/S1_R1.fastq.gz")
    refused = gpd("benchmark", "tiny", "--directory", tmp_path)
    assert refused.exit_code == 2 and "S1_R1.fastq.gz: not what tiny-1 has there" in refused.output


@pytest.mark.long
def test_the_tuxedo_pipeline_is_measured_on_a_sample_of_each_condition(tmp_path, figure):
    ran = gpd("benchmark", "tiny-rna", "--directory", tmp_path)
    assert ran.exit_code == 0, ran.output
    last = ran.output.splitlines()[-1]
    figure(last)
    assert last.startswith("tiny-rna-1: ") and "; 2 samples alone take " in last
    found = Session.read(tmp_path / "tiny-rna-1/session-1.gpd.tar.gz")
    assert found.workload.name == "tiny-rna-1"
    wanted = found.workload.settings.reference_digest
    assert {record.settings.reference_digest for record in found.records} == {wanted}
    assert {sample.condition for sample in found.found.plan.pools["tuxedo"]} == {"control", "treated"}


@pytest.mark.parametrize("name", ["tiny-1", pytest.param("tiny-rna-1", marks=pytest.mark.long)])
def test_digests_of_a_new_version_are_made_by_one_command(tmp_path, name):
    command = [sys.executable, str(BENCHMARK / "digests.py"), name, str(tmp_path)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert made.stdout == (BENCHMARK / name / "digests.tsv").read_text()
    last = made.stderr.splitlines()[-1]
    assert last in (BENCHMARK / name / "workload.yaml").read_text(), "the digest of the reference"
