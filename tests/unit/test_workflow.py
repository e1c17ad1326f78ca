"""Following Snakemake by what it says."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpd.errors import GpdError
from gpd.execution import snakemake_log, workflow
from gpd.execution.snakemake_log import Progress

SAID = """\
Building DAG of jobs...
Job stats:
job             count
------------  -------
map_and_sort        2
reference           1
all                 1
total               4

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
1 of 4 steps (25%) done
Error in rule map_and_sort:
    message: None
    jobid: 4
Finished jobid: 0 (Rule: all)
"""


def test_progress_is_read_off_its_lines():
    seen = []
    output = workflow.follow(
        SAID.splitlines(), Progress(), lambda state: seen.append((state.done, state.total, dict(state.running)))
    )
    assert (0, 3, {}) in seen
    assert (0, 3, {"4": "map_and_sort S1 L1", "2": "reference"}) in seen
    assert (1, 3, {"4": "map_and_sort S1 L1"}) in seen
    assert seen[-1] == (1, 3, {})
    assert output == tuple(SAID.splitlines())


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(workflow, "HANG_LOOK_S", 0.05)
    monkeypatch.setattr(workflow, "HANG_PATIENCE_S", 0.3)
    monkeypatch.setattr(workflow, "FORGET_LOOK_S", 0.05)
    monkeypatch.setattr(workflow, "FORGET_PATIENCE_S", 0.3)


def run(tmp_path, program, **more):
    return workflow.run([sys.executable, "-c", program], tmp_path / "log", lambda state: None, **more)


@pytest.mark.deep
def test_one_that_hangs_is_killed_and_says_so(tmp_path, impatient):
    ended = run(tmp_path, "import threading; print('begun', flush=True); threading.Event().wait()")
    assert ended.exit_code == -9
    assert ended.output[0] == "begun"
    assert snakemake_log.reason(ended.output)[0].startswith("snakemake: error: it hung")
    assert (tmp_path / "log").read_text().endswith(workflow.HUNG)


SUBMITTED = """\
{local}rule write:
    jobid: 4
Job 4 has been submitted with SLURM jobid 17 (log: x.log).
"""


def answers(folder, monkeypatch, first, later):
    """A queue that answers in one way until it was asked twice since the job was submitted, and then in another."""
    squeue = folder / "squeue"
    squeue.write_text(
        f"""#!/bin/sh
        if [ -e "$0.twice" ]; then {later}; exit; fi
        if grep -q submitted {folder}/log; then [ ! -e "$0.once" ] || touch "$0.twice"; touch "$0.once"; fi
        {first}
        """
    )
    squeue.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


@pytest.mark.deep
def test_one_that_waits_for_jobs_that_slurm_has_forgotten_is_killed_and_says_so(tmp_path, impatient, monkeypatch):
    answers(tmp_path, monkeypatch, "echo '17|write'", "echo '18|of another run'")
    program = f"import threading; print({SUBMITTED.format(local='')!r}, flush=True); threading.Event().wait()"
    ended = run(tmp_path, program, elsewhere=True)
    assert ended.exit_code == -9
    assert "Slurm knows nothing of any more" in snakemake_log.reason(ended.output)[0]
    assert (tmp_path / "log").read_text().endswith(workflow.FORGOTTEN)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("local", "first", "later"),
    [
        ("", "echo '17|write'", "echo '17|write'"),  # it is at work
        ("", "echo '17|write'", "exit 1"),  # Slurm does not answer
        ("", ":", ":"),  # another cluster's
        ("local", "echo '17|write'", ":"),  # at work here
    ],
)
def test_one_whose_jobs_may_be_at_work_is_awaited(tmp_path, impatient, monkeypatch, local, first, later):
    answers(tmp_path, monkeypatch, first, later)
    program = f"import time; print({SUBMITTED.format(local=local)!r}, flush=True); time.sleep(1)"
    assert run(tmp_path, program, elsewhere=True).exit_code == 0


def test_a_full_disk_costs_the_log_its_lines_and_no_run_its_end(tmp_path, monkeypatch):
    """More is said than a pipe holds: who stops to read it waits for ever."""
    full = Path("/dev/full").open("wb", buffering=0)  # noqa: SIM115 (which the run closes)
    monkeypatch.setattr(workflow, "open_plain", lambda *_, **__: full)
    ended = run(tmp_path, "print('\\n'.join(map(str, range(50_000))))")
    assert ended.exit_code == 0
    assert ended.output[0] == f"warning: {tmp_path / 'log'}: No space left on device: it lacks lines"
    assert ended.output[1:] == tuple(map(str, range(50_000)))


def test_who_cannot_tell_of_it_ends_it(tmp_path):
    def refuse(state):
        raise OSError("nobody listens")

    with pytest.raises(OSError, match="nobody listens"):
        workflow.run([sys.executable, "-c", f"print({SAID!r} * 5000)"], tmp_path / "log", refuse)


@pytest.mark.deep
def test_one_with_a_job_or_with_jobs_elsewhere_does_not_hang(tmp_path, impatient):
    for program, more in (
        ("import subprocess; subprocess.run(['sleep', '1'])", {}),
        ("import time; time.sleep(1)", {"elsewhere": True}),
    ):
        assert run(tmp_path, program, **more).exit_code == 0


def test_warnings_and_choices_are_noted():
    lines = [
        "warning: disk: results has 1.0 GB free",
        "given here (threads, MB): map_and_sort 4, 4650",
        "note: mapper: bwa: on this genome",
        "disk: S2 takes up",
    ]
    seen = []
    workflow.follow([*lines, *SAID.splitlines()], Progress(), lambda state: seen.append(list(state.notes)))
    assert seen[0] == lines[:1]
    assert seen[-1] == lines[:3]


LOADS = """\
import pandas, sys
loaded = ["pandas._libs" in sys.modules, pandas.DataFrame is not None, "pandas._libs" in sys.modules]
print(__name__, loaded, sys.argv[1:])
sys.exit(3)
"""


@pytest.mark.deep
def test_snakemake_is_started_as_by_its_name_and_loads_pandas_when_it_is_used(tmp_path):
    package = tmp_path / "snakemake"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(LOADS)
    (tmp_path / "snakemake_executor_plugin_slurm.py").touch()  # which would need the real one
    ended = workflow.run(
        [sys.executable, str(workflow.SNAKEMAKE), "--cores", "2"],
        tmp_path / "log",
        lambda state: None,
        {"PYTHONPATH": str(tmp_path)},
    )
    assert ended.output == ("__main__ [False, True, True] ['--cores', '2']",)
    assert ended.exit_code == 3


def test_the_command_line_is_what_a_person_would_type():
    words = workflow.command(Path("d"), 4, 8000, Path("profiles/default"), [Path("c.yaml")], ["--dry-run"])
    assert Path(words[1]).name == "snakemake"
    assert words[words.index("--cores") + 1] == "4"
    assert words[words.index("--resources") + 1] == "mem_mb=8000"
    assert words[words.index("--configfile") + 1] == "c.yaml"
    assert words[-3:] == ["--cores", "4", "--dry-run"]
    assert "--executor" not in words, "the profile names one"


@pytest.mark.parametrize(
    ("typed", "executor"), [([], "pinned"), (["--executor", "local"], "local"), (["-e", "x"], "x")]
)
def test_jobs_have_cpus_of_their_own_unless_an_executor_is_named(tmp_path, typed, executor):
    (tmp_path / "config.yaml").write_text("keep-going: true\n")
    words = workflow.command(Path("d"), 4, None, tmp_path, [], typed)
    assert [words[at + 1] for at, word in enumerate(words) if word in ("-e", "--executor")] == [executor]


@pytest.mark.parametrize("name", ["default", "throughput", "slurm"])
def test_profiles_try_a_failed_job_again(name):
    assert workflow.read_profile(workflow.PROFILES / name / "config.yaml")["retries"] >= 1


def test_a_profile_is_found_here_and_in_the_project_and_by_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert workflow.find_profile("throughput") == workflow.PROFILES / "throughput"
    assert workflow.find_profile("profiles/throughput") == workflow.PROFILES / "throughput"
    mine = tmp_path / "profiles/throughput"
    mine.mkdir(parents=True)
    (mine / "config.yaml").touch()
    assert workflow.find_profile("profiles/throughput").resolve() == mine
    with pytest.raises(GpdError, match=r"no such folder.* are any, default, published, scratch, slurm, throughput$"):
        workflow.find_profile("mine")


@pytest.mark.parametrize("text", [b"cores: [1\nx: y\n", b"- cores\n", b"\xff"])
def test_a_profile_that_is_no_mapping_is_refused_in_one_line(tmp_path, text):
    (tmp_path / "config.yaml").write_bytes(text)
    with pytest.raises(GpdError, match=r"config\.yaml: not a profile: .") as refused:
        workflow.runs_elsewhere(tmp_path, ())
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("cache", ["/dev/null/home", "writable"])
def test_where_the_user_has_no_place_for_a_cache_it_is_beside_the_run(tmp_path, monkeypatch, cache):
    cache = str(tmp_path / cache)
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    workflow.run(["sh", "-c", "echo $XDG_CACHE_HOME"], tmp_path / "run" / "log", lambda state: None)
    beside = str(tmp_path / "run" / ".snakemake" / "cache")
    assert (tmp_path / "run" / "log").read_text().strip() == (beside if cache.startswith("/dev/") else cache)


def test_run_keeps_everything_in_the_log(tmp_path):
    log = tmp_path / "run" / "snakemake.log"
    finished = workflow.run(["sh", "-c", "echo to stdout; echo to stderr >&2; exit 3"], log, lambda state: None)
    assert finished.exit_code == 3
    assert sorted(finished.output) == ["to stderr", "to stdout"]
    assert sorted(log.read_text().splitlines()) == ["to stderr", "to stdout"]


@pytest.mark.deep
def test_cpu_time_is_told_apart_from_that_of_children(tmp_path):
    spin = "import time\nwhile time.process_time() < {}: pass"
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {spin.format(0.6)!r}])\n{spin.format(0.3)}"
    cpu = workflow.run([sys.executable, "-c", script], tmp_path / "log", lambda state: None).cpu
    assert cpu.below_s == pytest.approx(0.65, abs=0.1)  # the kernel counts hundredths
    assert cpu.own_s == pytest.approx(0.35, abs=0.1)


@pytest.mark.deep
def test_what_is_run_dies_with_us(tmp_path):
    script = (
        "from pathlib import Path; from gpd.execution import workflow\n"
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
