"""The package as others install it: a wheel in an environment of its own, and a workflow that knows nothing of gpd."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from folders import PACKAGE

pytestmark = pytest.mark.long
WORKFLOW = """
rule all:
    input: "a.txt", "b.txt", "script.txt", "unwritten.txt"

rule plain:
    output: "{x}.txt"
    wildcard_constraints: x="[ab]"
    log: "logs/{x}.log"
    shell: "(sleep 3; date > {output}) 2> {log}"

rule in_script:
    output: "script.txt"
    script: "here.py"

rule fails:
    output: "unwritten.txt"
    shell: "echo 'error: no such allele' >&2; exit 3"
"""
SCRIPT = "print(snakemake.rule, file=open(snakemake.output[0], 'w'))\n"


class Installed:
    """An environment that holds the wheel and what that asks for; its programs see nothing of this one."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "environment" / "bin"
        self.work = folder / "work"
        self.work.mkdir()
        ours = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "GPD_JOB", "GPD_LEDGER", "GPD_RUN")
        kept = {name: value for name, value in os.environ.items() if name not in ours}
        own = {"PATH": f"{self.bin}:/usr/bin:/bin", "GPD_RUNTIME_DIR": str(folder / "runtime")}
        self.environment = kept | own

    def run(self, program: str, *words: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.bin / program), *words]
        return subprocess.run(
            command, cwd=self.work, env=self.environment, capture_output=True, text=True, timeout=900, check=False
        )

    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.work / "ledger.jsonl").read_text().splitlines()]


def fetched(words: list[str]) -> None:
    """Run pip; where it can't reach the packages, there is nothing to try here."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=900, check=False)
    if done.returncode:
        pytest.skip(f"pip cannot install here: {(done.stderr.strip().splitlines() or ['it says nothing'])[-1]}")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    (folder := tmp_path_factory.getbasetemp() / "wheel").mkdir()
    made = Installed(folder)
    fetched([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", str(folder), str(PACKAGE)])
    (wheel,) = folder.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", str(made.bin.parent)], check=True, env=made.environment)
    fetched([str(made.bin / "python"), "-m", "pip", "install", "-q", str(wheel)])
    yield made
    shutil.rmtree(made.bin.parent)  # some hundred MB, which pytest would keep


def cpus_of(record: dict[str, Any]) -> set[int]:
    ranges = (part.partition("-") for part in record["cpus"].split(","))
    return {cpu for first, _, last in ranges for cpu in range(int(first), int(last or first) + 1)}


def at_once(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return max(each["uptime_s"] for each in (one, other)) < min(
        each["uptime_s"] + each["wall_s"] for each in (one, other)
    )


def test_a_workflow_of_anybody_runs_from_the_wheel_alone(installed: Installed) -> None:
    (installed.work / "Snakefile").write_text(WORKFLOW)
    (installed.work / "here.py").write_text(SCRIPT)
    # hyperthreads are CPUs here, so that two of them are enough for two jobs at once
    options = ("--executor", "pinned", "--cores", "2", "--keep-going", "--pinned-smt", "1", "--pinned-checks", "1")
    done = installed.run("snakemake", *options)
    assert done.returncode == 1, done.stderr
    assert "warning: failed writes" not in done.stderr  # its C source came along, and was compiled
    records = installed.records()
    assert sorted(each["rule"] for each in records) == ["fails", "in_script", "plain", "plain"]
    assert {each["binding_ok"] for each in records} == {True}
    assert {each["rule"]: (each["cause"], each["message"]) for each in records} == {
        **dict.fromkeys(("in_script", "plain"), (None, None)),
        "fails": ("tool_error", "error: no such allele"),
    }
    together = [pair for pair in combinations(records, 2) if at_once(*pair)]
    assert together or len(os.sched_getaffinity(0)) < 2
    assert [pair for pair in together if cpus_of(pair[0]) & cpus_of(pair[1])] == []
    checked = installed.run("pinned-ledger", "check")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert checked.stdout.startswith("4 records, nothing wrong")
