"""`gpd benchmark`, in small: inputs made and held against their digests, a study measured, one figure, one package."""

import shutil

import pytest
from conftest import SHORT_JVMS
from subcommands import gpd

from gpd.benchmark.submission import Session

pytestmark = pytest.mark.e2e


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
