"""Jobs of Slurm: which are ended, and what the manual submits, by what stand-ins for its commands were asked."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from conftest import ROOT

from gpd.cluster import slurm
from gpd.errors import Interrupted
from gpd.execution import workflow
from gpd.processes import ProcessError

SBATCH = """#!/bin/bash
printf '%s\\0' "$@" >"$STATE/sbatch.$(ls "$STATE" | grep -c '^sbatch\\.')"
"""
SQUEUE = """#!/bin/bash
for path in "$STATE"/queue.*; do
    [ ! -e "$path" ] || echo "$(cat "$path")|${path##*/queue.}"
done
"""
SCANCEL = """#!/bin/bash
for number; do rm -f $(grep -lx -- "$number" "$STATE"/queue.*); done
"""


@pytest.fixture
def state(tmp_path, monkeypatch) -> Path:
    """A folder: with a file queue.NAME for each job, which holds its number, and one for each call of sbatch."""
    commands, state = tmp_path / "bin", tmp_path / "state"
    commands.mkdir()
    state.mkdir()
    for name, text in (("sbatch", SBATCH), ("squeue", SQUEUE), ("scancel", SCANCEL)):
        (commands / name).write_text(text)
        (commands / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("STATE", str(state))
    return state


def hold(state: Path, **jobs: str) -> None:
    for name, number in jobs.items():
        (state / f"queue.{name}").write_text(f"{number}\n")


def test_the_jobs_of_one_folder_are_ended_and_no_others(state, monkeypatch):
    monkeypatch.setattr(slurm, "LOOK_S", 0.0)
    hold(state, mark1_a="1", mark1_b="12", mark2_a="2")
    slurm.end("mark1")
    assert slurm.queue() == {"2": "mark2_a"}
    slurm.end("mark1")


def test_each_job_is_cancelled_once(state, monkeypatch):
    """A job that is asked to end takes a while; so it is with each of 200, by a controller that others use."""
    monkeypatch.setattr(slurm, "LOOK_S", 0.0)
    commands = Path(os.environ["PATH"].split(os.pathsep)[0])
    (commands / "scancel").write_text('#!/bin/bash\necho "$@" >>"$STATE/asked"\n')
    ends = 'echo >>"$STATE/looks"; [ "$(wc -l <"$STATE/looks")" -lt 3 ] || rm -f "$STATE"/queue.*\n'
    (commands / "squeue").write_text(SQUEUE + ends)
    hold(state, mark1_a="1", mark1_b="2")
    slurm.end("mark1")
    assert (state / "asked").read_text() == "--quiet 1 2\n"


def test_an_interrupted_run_leaves_no_job_in_slurm_that_its_snakemake_did_not_cancel(state, tmp_path, monkeypatch):
    monkeypatch.setattr(slurm, "LOOK_S", 0.0)
    hold(state, run1="1", run2="2")

    def interrupt(_progress):
        raise Interrupted(signal.SIGINT)

    with pytest.raises(Interrupted):
        workflow.run([sys.executable, "-c", "print('SLURM run ID: run1')"], tmp_path / "log", interrupt, elsewhere=True)
    assert slurm.queue() == {"2": "run2"}


def test_jobs_that_do_not_end_are_named_in_a_line_however_many(state, monkeypatch):
    monkeypatch.setattr(slurm, "LONGEST_END_S", -1.0)
    monkeypatch.setattr(slurm, "queue", lambda: {str(number): "mark1" for number in range(1, 201)})
    line = "jobs 1, 2, 3, 4, 5 and 195 more do not end: scancel --full --name=mark1"
    with pytest.raises(ProcessError, match=f"^{line}$"):
        slurm.end("mark1")


def test_a_machine_without_slurm_is_told_so(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ProcessError, match="squeue"):
        slurm.queue()


def test_the_manual_gives_each_type_of_node_a_study_and_a_node_for_itself(state, tmp_path):
    page = (ROOT / "docs/how-to/compare-machines.md").read_text()
    (script,) = (block for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) if "sbatch" in block)
    given = {"name": "study", "pipelines": {"germline": {}}, "concurrent_samples": [1, 2]}
    (tmp_path / "config").mkdir()
    (tmp_path / "config/throughput.yaml").write_text(yaml.safe_dump(given))
    subprocess.run(["bash", "-euc", script], cwd=tmp_path, check=True)
    asked = [path.read_text().split("\0")[:-1] for path in sorted(state.glob("sbatch.*"))]
    assert [words[0] for words in asked] == ["--partition=rome", "--partition=milan"]
    for words, partition in zip(asked, ("rome", "milan"), strict=True):
        assert {"--exclusive", "--mem=0", "--requeue", "--dependency=singleton"} < set(words)
        (command,) = (word.removeprefix("--wrap=") for word in words if word.startswith("--wrap="))
        *_, settings = command.split()
        assert command == f"exec gpd throughput run {settings}"
        own = yaml.safe_load((tmp_path / settings).read_text())
        assert own == given | {"name": f"study-{partition}"}
        assert "gpd compare runs/study-rome runs/study-milan" in page
