"""The launcher as jobs start it: compiled into a folder that appears whole, and is found again."""

import os
import subprocess
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from conftest import script
from launching import PINNED, Node

compiled = script(PINNED / "build.py")


def lay_out(place: Path, scripts: Path = PINNED) -> Path:
    return compiled.launcher(lambda name: scripts / name, place)


def test_every_module_of_the_launcher_is_named():
    assert set(compiled.MODULES) == {path.stem for path in (PINNED / "launcher").glob("*.py")}


def test_a_job_runs_without_sources(node: Node, tmp_path: Path):
    start = lay_out(tmp_path / "a b")
    words = node.command_line("--outputs", "gone.bam", name="x")
    words[words.index("-E") + 1] = str(start)
    done = subprocess.run(words, input=b"true", cwd=node.folder, env=node.environment, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr.decode().startswith("step x: broken_output: gone.bam is missing: ")
    assert [path for path in (tmp_path / "a b").rglob("*.py*") if path.suffix != ".pyc"] == []


def test_what_is_there_is_found_again(tmp_path: Path):
    start = lay_out(tmp_path)
    made = start.stat().st_ino
    assert lay_out(tmp_path) == start
    assert start.stat().st_ino == made
    assert [path.name for path in tmp_path.iterdir()] == [start.parents[1].name]


@pytest.mark.deep
@pytest.mark.parametrize("changed", ["launcher/wrapper.py", "launcher/outputs.py", compiled.LIBRARY])
def test_another_version_leaves_the_one_before_to_its_jobs(tmp_path: Path, changed: str):
    scripts = tmp_path / "scripts"
    for name in (*compiled.FILES, compiled.LIBRARY):
        (scripts / name).parent.mkdir(parents=True, exist_ok=True)
        (scripts / name).write_bytes((PINNED / name).read_bytes())
    before = lay_out(tmp_path / "place", scripts)
    (scripts / changed).write_text((scripts / changed).read_text() + "\n")
    after = lay_out(tmp_path / "place", scripts)
    assert before != after
    assert before.exists() and after.exists()


@pytest.mark.deep
def test_runs_that_lay_it_out_at_the_same_time_agree(tmp_path: Path):
    with ProcessPoolExecutor(4) as runs:
        assert len(set(runs.map(lay_out, [tmp_path] * 8))) == 1
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.deep
def test_what_a_killed_run_left_half_made_is_in_nobodys_way(tmp_path: Path):
    half = lay_out(tmp_path).parents[1]
    half.rename(f"{half}.{os.uname().nodename}.{os.getpid()}")
    assert lay_out(tmp_path).exists()


def test_a_place_that_cannot_be_made_is_an_error(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        lay_out(tmp_path / "file")
