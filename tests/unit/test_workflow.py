"""Following Snakemake by what it says."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpd import workflow

SAID = """\
Building DAG of jobs...
Job stats:
job             count
------------  -------
map_and_sort        2
total               3

[Fri Nov 20 17:22:04 2026]
localrule map_and_sort:
    input: a
    jobid: 4
    wildcards: sample=S1, unit=L1
[Fri Nov 20 17:22:05 2026]
rule reference:
    jobid: 2
[Fri Nov 20 17:22:06 2026]
Finished jobid: 2 (Rule: reference)
1 of 3 steps (33%) done
"""


def test_progress_is_read_off_its_lines():
    seen = []
    said = workflow.follow(SAID.splitlines(), lambda state: seen.append((state.done, state.total, dict(state.running))))
    assert seen[0] == (0, 3, {})
    assert (0, 3, {"4": "map_and_sort S1 L1", "2": "reference"}) in seen
    assert seen[-1] == (1, 3, {"4": "map_and_sort S1 L1"})
    assert said[0] == "Building DAG of jobs..."


def test_what_it_says_before_the_first_job_is_kept():
    lines = ["units.tsv line 7: sample HG002: fq2 x.fq.gz does not exist"]
    assert workflow.follow(lines, lambda state: None) == tuple(lines)


def test_the_command_line_is_what_a_person_would_type():
    words = workflow.command(Path("d"), 4, 8000, Path("profiles/default"), [Path("c.yaml")], ["--dry-run"])
    assert words[1:3] == ["-m", "snakemake"]
    assert words[words.index("--cores") + 1] == "4"
    assert words[words.index("--resources") + 1] == "mem_mb=8000"
    assert words[words.index("--configfile") + 1] == "c.yaml"
    assert words[-1] == "--dry-run"


def test_run_keeps_everything_in_the_log(tmp_path):
    log = tmp_path / "run" / "snakemake.log"
    finished = workflow.run(["sh", "-c", "echo to stdout; echo to stderr >&2; exit 3"], log, lambda state: None)
    assert finished.exit_code == 3
    assert sorted(finished.said) == ["to stderr", "to stdout"]
    assert sorted(log.read_text().splitlines()) == ["to stderr", "to stdout"]


def test_cpu_time_is_told_apart_from_that_of_children(tmp_path):
    spin = "import time\nwhile time.process_time() < {}: pass"
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {spin.format(0.6)!r}])\n{spin.format(0.3)}"
    cpu = workflow.run([sys.executable, "-c", script], tmp_path / "log", lambda state: None).cpu
    assert cpu.below_s == pytest.approx(0.65, abs=0.1)  # the kernel counts hundredths
    assert cpu.own_s == pytest.approx(0.35, abs=0.1)


def test_what_is_run_dies_with_us(tmp_path):
    script = (
        "from pathlib import Path; from gpd import workflow\n"
        "workflow.run(['sh', '-c', 'echo $$ > pid; exec sleep 60'], Path('log'), print)"
    )
    us = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path)
    while not (text := (tmp_path / "pid").read_text() if (tmp_path / "pid").exists() else ""):
        time.sleep(0.02)
    us.kill()
    us.wait()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{text.strip()}").exists():
        assert time.monotonic() < deadline, "it outlives us"
        time.sleep(0.02)
