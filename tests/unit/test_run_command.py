"""`gpd run`: what it asks of Snakemake, and what it makes of what Snakemake left. Snakemake itself is a script here."""

import json
import sys

import pytest
from recording import write_pool
from typer.testing import CliRunner

from gpd.cli import app
from gpd.commands import run as verb
from gpd.execution import run_lock, waiting, workflow
from gpd.execution.said import FailedJob
from gpd.machines import launcher
from gpd.pipelines import PIPELINES, UNAVOIDABLE
from gpd.records.ledger import Attempt


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a configuration, in which nothing else is at work."""
    monkeypatch.setattr(launcher, "jobs", list)
    monkeypatch.setattr(launcher, "usable_cores", lambda smt: 2)
    return write_pool(tmp_path / "my run", 2)


def record(rule, step, sample, **changed):
    whole = {
        **{"schema": 1, "rule": rule, "step": step, "wildcards": {"sample": sample} if sample else {}, "threads": 1},
        **{"start": "2026-11-20T12:00:00Z", "end": "2026-11-20T12:00:10Z", "wall_s": 10.0, "exit_code": 0},
        **{"message": None, "log": f"logs/{rule}.log"},
    }
    return whole | changed


def whole(sample):
    """The records of a sample that went through all that every configuration asks of it."""
    return [record(step, step, sample) for step in PIPELINES["germline"].steps if step in UNAVOIDABLE]


def run(folder, monkeypatch, *records, said=(), code=0, words=()):
    """A run whose Snakemake leaves these records, says these lines, and ends with that exit code."""
    script = (
        "import json, os, sys\n"
        "with open('ledger.jsonl', 'a') as ledger:\n"
        f"    for record in json.loads({json.dumps(records)!r}):\n"
        "        ledger.write(json.dumps({'run': os.environ['GPD_RUN']} | record) + '\\n')\n"
        f"print({chr(10).join(said)!r})\n"
        f"sys.exit({code})"
    )
    monkeypatch.chdir(folder)
    monkeypatch.setattr(workflow, "command", lambda *_, **__: [sys.executable, "-c", script])
    done = CliRunner().invoke(app, ["run", "germline", *words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def asked(folder, *words):
    """Snakemake's command line."""
    return verb._command("germline", folder, 2, [], None, words)


# ---- what is asked -----------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [(), ("--executor", "lsf"), ("-e", "lsf")], ids=" ".join)
def test_where_jobs_run_elsewhere_this_machine_sets_no_bounds(folder, words):
    """Snakemake would give no job more than is here."""
    profile = None if words else workflow.find_profile("slurm")
    command = verb._command("germline", folder, None, [], profile, words)
    assert not {"--cores", "--resources", "--set-threads"} & set(command)
    assert "--cores" in verb._command("germline", folder, 4, [], profile, words)
    assert "--resources" in verb._command("germline", folder, None, [], None, ("--executor", "local"))


@pytest.mark.parametrize(
    "words",
    [("results",), ("results", "--config", "a=1"), ("--config", "a=1", "results"), ("-C", "a=1", "b=2", "results")],
    ids=" ".join,
)
def test_a_target_is_not_swallowed_and_settings_are_added_to_ours(folder, words):
    command = asked(folder, *words)
    config = command[command.index("--config") + 1 :]
    assert config[0] == "pipeline=germline"
    assert (config[1] in words) == ("=" in config[1])
    assert command.count("--config") == 1
    assert command[-1] == "results"
    assert command[-3] == "--cores"


def test_threads_do_not_swallow_a_target_either(folder):
    write_pool(folder, 1)
    command = verb._command("germline", folder, 64, [], None, ["prepare"])
    assert command[-3:] == ["--cores", "64", "prepare"]
    assert "--set-threads" in command


def test_what_was_cut_off_is_done_again_whatever_the_profile(folder):
    assert "--rerun-incomplete" in asked(folder)


# ---- what came of it ---------------------------------------------------------------------------------


def test_a_failed_job_that_is_no_named_step_is_named(folder, monkeypatch):
    done = run(
        *(folder, monkeypatch, *whole("S1")),
        record("multiqc", "qc", "", exit_code=1, cause="tool_error", message="could not convert string to float"),
        code=1,
    )
    assert done.exit_code == 1
    assert "1 of 1 samples succeeded" in done.stdout
    assert "multiqc" in done.stdout
    assert "could not convert string to float" in done.stdout
    assert "logs/multiqc.log" in done.stdout
    assert done.stdout.splitlines()[-1] == "1 job failed"


def test_a_job_of_which_only_snakemake_knows_that_it_failed_is_named(folder, monkeypatch):
    said = [
        *("localrule haplotype_caller:", "    log: logs/hc.log", "    jobid: 3", "    wildcards: sample=S1"),
        'MissingOutputException in rule haplotype_caller in file "x", line 3:',
        "Job 3  completed successfully, but some output files are missing.",
    ]
    done = run(
        *(folder, monkeypatch, *whole("S1"), *whole("S2")),
        said=said,
        code=1,
    )
    assert "1 of 2 samples succeeded" in done.stdout
    assert "some output files are missing" in done.stdout
    assert done.exit_code == 1


def test_jobs_that_never_reached_the_launcher_are_named(folder, monkeypatch):
    said = [
        *("localrule map_and_sort:", "    log: logs/m.log", "    jobid: 3", "    wildcards: sample=S1, unit=L1"),
        "launcher: /tmp/gpd-0: not a private folder of this user; remove it or set GPD_RUNTIME_DIR",
        *("Error in rule map_and_sort:", "    jobid: 3"),
    ]
    done = run(folder, monkeypatch, said=said, code=1)
    assert "not a private folder" in done.stdout
    assert "0 of 1 samples succeeded" in done.stdout
    assert done.exit_code == 1


def test_an_exit_code_that_no_job_explains_has_snakemakes_reason(folder, monkeypatch):
    said = ["WorkflowError:", "Failed to create output directory results."]
    done = run(folder, monkeypatch, record("map_and_sort", "map_and_sort", "S1"), said=said, code=1)
    assert done.exit_code == 1
    assert done.stdout.splitlines()[-1] == "Failed to create output directory results."


def test_where_no_job_ran_the_reason_is_all_that_is_said(folder, monkeypatch):
    filler = [f"    output: {number}" for number in range(50)]
    done = run(folder, monkeypatch, said=["WorkflowError:", "Failed to create results.", *filler], code=1)
    assert done.exit_code == 2
    assert done.stderr.splitlines()[:2] == ["gpd run: WorkflowError:", "gpd run: Failed to create results."]
    assert "succeeded" not in done.output


def test_the_jobs_of_other_runs_are_not_counted(folder, monkeypatch):
    """Another run's launcher may write its record while this one is at work."""
    theirs = record("map_and_sort", "map_and_sort", "OTHER", run="theirs")
    done = run(folder, monkeypatch, theirs, record("map_and_sort", "map_and_sort", "S1"))
    assert "OTHER" not in done.stdout
    assert "1 of 1 samples succeeded" in done.stdout
    assert done.exit_code == 0


def test_nothing_to_be_done_is_said(folder, monkeypatch):
    done = run(folder, monkeypatch, said=["SNAKEMAKE", "Building DAG of jobs...", "Nothing to be done."])
    assert (done.exit_code, done.stdout) == (0, "Nothing to be done.\n")


def test_a_second_run_leaves_the_first_ones_log_alone(folder, monkeypatch):
    (folder / "snakemake.log").write_text("of the first")
    with run_lock.hold_folder(folder, "unlock"):
        done = run(folder, monkeypatch, record("map_and_sort", "map_and_sort", "S1"))
    assert done.exit_code == 2
    (line,) = done.output.splitlines()
    assert "another gpd run is at work here (pid " in line
    assert (folder / "snakemake.log").read_text() == "of the first"
    assert not (folder / "ledger.jsonl").exists()


def test_a_torn_line_of_the_ledger_is_left_out(folder, monkeypatch):
    (folder / "ledger.jsonl").write_text('{"schema": 1, "ru\n')
    done = run(folder, monkeypatch, record("map_and_sort", "map_and_sort", "S1"))
    assert "left out: 1 of its lines (number 1)" in done.stderr
    assert "1 of 1 samples succeeded" in done.stdout


def test_jobs_of_a_killed_run_are_waited_for(folder, monkeypatch):
    left = [[launcher.Job("map S1", folder, False, 0.0)], [launcher.Job("map S1", folder.parent, False, 0.0)]]
    monkeypatch.setattr(launcher, "jobs", lambda: left.pop(0) if left else [])
    waiting.await_former(folder)
    assert not left
    monkeypatch.setattr(launcher, "jobs", lambda: [launcher.Job("map S1", folder, False, 0.0)])
    monkeypatch.setattr(waiting, "LONGEST_END_S", 0.0)
    with pytest.raises(waiting.StillRunningError, match="jobs of an earlier run are still at work: map S1"):
        waiting.await_former(folder)


def test_a_failed_job_is_told_once():
    recorded = Attempt("map", "map", {"sample": "S1"}, 1, None, None, None, 1, "its tool's words", "log")
    assert verb.with_failed([recorded], [FailedJob("map", {"sample": "S1"}, "exit status 1", "log")]) == [recorded]
