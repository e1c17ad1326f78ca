"""What a killed run leaves under .snakemake/pinned/ goes with the next run, once nothing of it can be alive."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from folders import Folder, wait_until
from snakemake_executor_plugin_pinned import run_folder

LONG = 'rule all:\n    output: "x"\n    shell: "echo $BASHPID > began; {body}; touch {{output}}"\n'


@pytest.fixture
def gone() -> int:
    """The id of a process that has just ended."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    return ended.pid


def left(place: Path, **changed: Any) -> Path:
    """The folder of another run in a place; `changed` says in what it differs from one of this process."""
    folder = place / f"other-{len(list(place.iterdir()))}"
    (folder / "1").mkdir(parents=True)
    (folder / run_folder.NOTE).write_text(json.dumps(run_folder.owner() | changed))
    return folder


def test_what_a_gone_process_left_is_removed_and_nothing_else(tmp_path: Path, gone: int) -> None:
    other_boot = {"boot": "another", "pid": gone}
    (tmp_path / "owners").mkdir()
    (tmp_path / "1-being-made").mkdir()
    kept = [
        left(tmp_path),  # a run of this process
        left(tmp_path, host="elsewhere", **other_boot),
        left(tmp_path, **other_boot),  # written since our boot: by a host of the same name
        left(tmp_path, namespace="pid:[1]", pid=gone),  # a container's, which we cannot see
        left(tmp_path, boot="", pid=gone),
    ]
    (cut := left(tmp_path) / run_folder.NOTE).write_text('{"host": ')
    dead = [left(tmp_path, pid=gone), left(tmp_path, start="7"), before := left(tmp_path, **other_boot)]
    os.utime(before / run_folder.NOTE, (1, 1))
    made = run_folder.make(tmp_path)
    assert [folder for folder in dead if folder.exists()] == []
    spared = {tmp_path / "owners", tmp_path / "1-being-made", cut.parent, made, *kept}
    assert set(tmp_path.iterdir()) == spared


@pytest.mark.parametrize("where", ["environment", "command line"])
def test_what_a_job_still_needs_stays(tmp_path: Path, gone: int, where: str) -> None:
    folder = left(tmp_path, pid=gone)
    named = f"{folder}/1"
    words = [sys.executable, "-c", "print(flush=True); input()", named if where == "command line" else ""]
    environment = os.environ | {"GPD_JOB_FOLDER": named if where == "environment" else ""}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(words, **pipes, env=environment) as job:
        job.stdout.readline()  # else it might not be what it is to become
        run_folder.remove_dead(tmp_path)
        assert folder.exists()
    run_folder.remove_dead(tmp_path)
    assert not folder.exists()


@pytest.mark.e2e
def test_the_next_run_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    here = Folder(tmp_path)
    place = tmp_path / ".snakemake" / "pinned"
    # it takes two seconds to end, which its launcher grants
    run = here.start(here.command(LONG.format(body="trap 'sleep 2; exit 1' TERM; while :; do sleep 0.1; done")))
    wait_until((tmp_path / "began").exists)
    run.send_signal(signal.SIGKILL)
    run.wait(timeout=60)
    (killed,) = (path for path in place.iterdir() if (path / run_folder.NOTE).exists())
    run_folder.remove_dead(place)
    assert killed.exists() and here.records() == [], "its job is still there"
    wait_until(lambda: not run_folder.lives_in()(killed))
    assert here.records()[0]["cause"] == "killed"
    assert here.run(LONG.format(body="true"), "--unlock").returncode == 0
    again = here.run(LONG.format(body="true"), "--rerun-incomplete")
    assert again.returncode == 0, again.stderr
    assert not list(place.glob(f"*/{run_folder.NOTE}"))
