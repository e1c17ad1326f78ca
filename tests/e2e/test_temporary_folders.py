"""Temporary files: each job has a folder of its own for them, and nothing of it is left once the job is over."""

import os
import shutil
import signal
import stat
import subprocess
from pathlib import Path

import pytest
from launcher.processes import children, descendants
from launcher.runtime import make_folder
from launcher.system import LauncherError, read_text
from launching import Node, processes_of, wait_until
from test_interrupted_runs import Folder, folder  # noqa: F401 (a fixture)
from test_launcher_parts import SHARD, Step

pytestmark = pytest.mark.e2e

LEAVES = 'mkdir -p "$TMPDIR/sambamba-pid1/deep"; echo x > "$TMPDIR/sambamba-pid1/deep/chunk"; ln -s / "$TMPDIR/link"; '


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, with what is somebody else's in it."""
    made = tmp_path / "for 'temporary' files"
    (made / "of others").mkdir(parents=True)
    monkeypatch.setenv("TMPDIR", str(made))
    return made


def left(temporary: Path) -> list[str]:
    return sorted(path.name for path in temporary.iterdir() if path.name != "of others")


def test_a_job_has_a_folder_of_its_own_whatever_it_asks_for_it_by(temporary: Path, node: Node) -> None:
    code, output, _ = node.run("""stat -c '%a %n' "$TMPDIR" "$TMP" "$TEMP" "$TEMPDIR" | uniq""")
    assert (code, output) == (0, "")
    (line,) = (node.folder / "logs/a.log").read_text().splitlines()
    assert line.startswith(f"700 {temporary}/gpd-job-")
    assert left(temporary) == []


def test_one_that_lies_in_a_relative_folder_is_found_from_wherever_the_job_goes(temporary: Path, node: Node) -> None:
    node.environment["TMPDIR"] = os.path.relpath(temporary, node.folder)
    assert node.run('cd /; touch "$TMPDIR/x"')[0] == 0
    assert left(temporary) == []


@pytest.mark.parametrize("end", ["true", "exit 3", "(sleep 0.3; echo x > $TMPDIR/late) & true"])
def test_nothing_is_left_of_a_job_that_ends_by_itself(temporary: Path, node: Node, end: str) -> None:
    code, output, record = node.run(LEAVES + end)
    assert (code, record["cause"]) == ((3, "tool_error") if "3" in end.split() else (0, None)), output
    assert left(temporary) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a disk")
def test_files_that_cannot_be_removed_are_named(temporary: Path, node: Node) -> None:
    code, output, _ = node.run('mkdir "$TMPDIR/busy"; mount -t tmpfs tmpfs "$TMPDIR/busy"')
    (name,) = left(temporary)
    subprocess.run(["umount", temporary / name / "busy"], check=True)
    assert code == 0
    told = f"launcher: {temporary / name}: temporary files of a job stay: [Errno 16] Device or resource busy: 'busy'; "
    assert output == told + "remove it yourself\n"


ROLES = ("wrapper", "supervisor", "shell", "tool")


def family(wrapper: int) -> dict[str, int] | None:
    """The processes of a job by role, once it sleeps."""
    pids = [wrapper]
    while len(pids) < len(ROLES):
        below = children(pids[-1])
        if not below:
            return None
        pids.append(below[0])
    sleeps = read_text(f"/proc/{pids[-1]}/cmdline").startswith("sleep")
    return dict(zip(ROLES, pids, strict=True)) if sleeps else None


@pytest.mark.parametrize(
    ("signum", "victims"),
    [
        (signal.SIGINT, ["wrapper"]),
        (signal.SIGTERM, ["wrapper"]),
        (signal.SIGKILL, ["tool"]),
        (signal.SIGKILL, ["shell"]),
        (signal.SIGKILL, ["supervisor"]),
        (signal.SIGKILL, ["wrapper"]),
    ],
)
def test_nothing_is_left_where_a_process_of_the_job_is_ended(
    temporary: Path, node: Node, signum: int, victims: list[str]
) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background may ignore it
    wrapper = node.start(f"{LEAVES}touch began; sleep 60; true")
    signal.signal(signal.SIGINT, before)
    wait_until((node.folder / "began").exists)
    pids = wait_until(lambda: family(wrapper.pid))
    assert len(left(temporary)) == 1
    for victim in victims:
        os.kill(pids[victim], signum)
    wrapper.communicate(timeout=30)
    wait_until(node.records)
    wait_until(lambda: not left(temporary), timeout_s=5)
    assert not list((node.runtime / "jobs").iterdir())


def test_where_all_are_killed_the_next_job_removes_it_and_not_before_the_tool_is_gone(
    temporary: Path, node: Node
) -> None:
    wrapper = node.start(f"{LEAVES}touch began; sleep 60; true")
    wait_until((node.folder / "began").exists)
    pids = wait_until(lambda: family(wrapper.pid))
    (job_id,) = (path.name for path in (node.runtime / "jobs").iterdir())
    for role in ROLES[:2]:
        os.kill(pids[role], signal.SIGSTOP)
    for role in ROLES[:2]:
        os.kill(pids[role], signal.SIGKILL)
    wrapper.communicate(timeout=30)
    (name,) = left(temporary)
    assert node.run("true", name="next")[0] == 0
    assert left(temporary) == [name], "its tool is at work"
    assert (temporary / name / "sambamba-pid1/deep/chunk").exists()
    for pid in processes_of(job_id):
        os.kill(int(pid), signal.SIGKILL)
    wait_until(lambda: not processes_of(job_id))
    assert node.run("true", name="third")[0] == 0
    assert left(temporary) == []


def test_one_that_is_ended_while_it_waits_for_cpus_leaves_nothing(temporary: Path, node: Node) -> None:
    holder = node.start("touch began; until [ -e go ]; do sleep 0.05; done", name="holder", threads=10_000)
    wait_until((node.folder / "began").exists)
    waiting = node.start("true", name="waits")
    wait_until(lambda: len(left(temporary)) == 2)
    waiting.terminate()
    assert waiting.wait(30) == 143
    waiting.stderr.close()
    assert len(left(temporary)) == 1
    (node.folder / "go").touch()
    holder.communicate(timeout=30)
    assert left(temporary) == []


def test_each_shard_of_a_step_has_its_own(temporary: Path, node: Node) -> None:
    code, output, _ = Step(node).run(3, f'{LEAVES}echo "$TMPDIR" >> seen; {SHARD}', then='echo "$TMPDIR" >> seen')
    assert (code, output) == (0, "")
    assert len(set((node.folder / "seen").read_text().splitlines())) == 4
    assert left(temporary) == []


def test_a_link_in_its_place_is_not_followed(temporary: Path) -> None:
    elsewhere = temporary / "of others" / "folder"
    (temporary / "link").symlink_to(elsewhere)
    with pytest.raises(LauncherError, match="File exists"):
        make_folder(str(temporary / "link"))
    assert not elsewhere.exists()
    make_folder(str(temporary / "made"))
    assert stat.S_IMODE((temporary / "made").stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
def test_a_disk_that_takes_no_folder_is_the_cause(node: Node, tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "nr_inodes=1", "tmpfs", full], check=True)
    try:
        node.environment["TMPDIR"] = str(full)
        code, _, record = node.run("true")
    finally:
        subprocess.run(["umount", full], check=True)
    assert (code, record["cause"]) == (1, "disk_full")
    assert "No space left on device" in record["message"]


# ---- the pipeline --------------------------------------------------------------------------------------

# makes what sambamba makes, and is held with it; sambamba removes its own when it succeeds, and never else
HELD = """#!/bin/bash
words=("$@")
for number in "${{!words[@]}}"; do
    if [ "${{words[number]}}" = --tmpdir ] && [ "$1" = {subcommand} ] && [ -e {hold} ]; then
        mkdir -p "${{words[number + 1]}}/sambamba-pid$$"; touch "${{words[number + 1]}}/sambamba-pid$$/chunk" {began}
        while [ -e {hold} ]; do sleep 0.1; done
    fi
done
exec {sambamba} "$@"
"""


@pytest.mark.parametrize(
    ("subcommand", "end"),
    [
        ("sort", "Ctrl-C"),
        ("markdup", "kill -9 of sambamba"),
        ("sort", "kill -9 of all"),
    ],
)
def test_nothing_of_a_run_is_left_among_temporary_files(
    folder: Folder,  # noqa: F811
    temporary: Path,
    subcommand: str,
    end: str,
) -> None:
    folder.let_go()
    hold, began = temporary.with_name("hold sambamba"), temporary.with_name("began")
    hold.touch()
    paths = {"hold": f"'{hold}'", "began": f"'{began}'", "sambamba": shutil.which("sambamba")}
    held = temporary.with_name("bin") / "sambamba"
    held.write_text(HELD.format(subcommand=subcommand, **paths))
    held.chmod(0o755)
    folder.environment["TMPDIR"] = str(temporary)
    target = "results/mark_duplicates/S1.bam"
    first = folder.start("run", "germline", target, "--", "--retries", "0")
    wait_until(began.exists, timeout_s=120)
    assert any("gpd-job-" in name for name in left(temporary))
    killed = {"kill -9 of sambamba": holding, "kill -9 of all": lambda pid: [pid, *descendants(pid)]}
    if end == "Ctrl-C":
        os.killpg(first.pid, signal.SIGINT)
    else:
        for pid in killed[end](first.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue  # with the one before
    first.communicate(timeout=60)
    hold.unlink()
    if end == "kill -9 of all":
        assert left(temporary) != [], "who could have removed them is gone"
        code, output = folder.gpd("run", "germline", target)
        assert code == 0, output
    own = [name for name in left(temporary) if name.startswith("snakemake") and not list((temporary / name).iterdir())]
    assert left(temporary) == (own if end == "kill -9 of all" else []), "Snakemake's own, empty, it leaves itself"


def holding(pid: int) -> list[int]:
    """The sambamba that is held below a process, and what it is just about to start."""
    told = {below: read_text(f"/proc/{below}/cmdline").split("\0") for below in descendants(pid)}
    return [below for below, words in told.items() if words[0].endswith("bash") and words[1].endswith("/sambamba")]
