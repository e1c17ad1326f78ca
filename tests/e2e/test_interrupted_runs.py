"""`gpd run` and `gpd throughput run` at the hands of users: a second run, Ctrl-C, kill -9, folders that are closed."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml
from conftest import SNAKEFILE, one_contig_cohort, sample_pairs, write_fastq
from launching import HANGS_S, wait_until

from gpd.machines import launcher

pytestmark = pytest.mark.e2e

TARGET = "results/map_and_sort/S1/L1.bam"
PAIRS = 2000
HELD = """#!/bin/sh
{bwa} "$@" || exit
while [ "$1" = mem ] && [ -e {hold} ] && echo "$*" | grep -q "$(cat {hold})"; do sleep 0.1; done
"""  # mapping, or what of it the file names, goes on until it may end, however fast the machine is


@dataclass
class Folder:
    """A folder with a blank in its name, with a cohort of one sample, on CPUs that no other test's jobs wait for."""

    path: Path
    environment: dict[str, str]
    started: list[subprocess.Popen] = field(default_factory=list)

    def start(self, *words: object, **options: object) -> subprocess.Popen:
        """Start gpd as a shell does: the leader of its own group, which Ctrl-C reaches."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True} | options
        command = [sys.executable, "-m", "gpd", *map(str, words)]
        self.started.append(subprocess.Popen(command, cwd=self.path, env=self.environment, process_group=0, **pipes))
        return self.started[-1]

    def gpd(self, *words: object) -> tuple[int, str]:
        process = self.start(*words)
        output, _ = process.communicate(timeout=HANGS_S)
        return process.returncode, output

    def wait_for(self, name: str) -> None:
        """Wait until a job is at work, some way into what it writes."""
        wait_until(lambda: any(job.name.startswith(name) and not job.waits for job in self.jobs()), timeout_s=HANGS_S)
        time.sleep(0.2)

    def let_go(self) -> None:
        """Let the mapping come to its end, from now on."""
        (self.path.parent / "hold").unlink()

    def jobs(self) -> list[launcher.OpenJob]:
        command = [sys.executable, "-S", "-E", str(launcher.LAUNCHER), "jobs"]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True)
        return launcher.read_jobs(done.stdout)

    def left(self) -> list[Path]:
        """What jobs that were cut off have left, the reference aside."""
        return [path for path in (self.path / "results").rglob("*") if path.is_file() and "reference" not in path.parts]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    path = tmp_path / "my run"
    path.mkdir()
    made, genome = one_contig_cohort(path, 5000, seed=5)
    for lane, pairs, seed in (("L1", PAIRS + 500, 6), ("L2", PAIRS, 7)):  # Snakemake begins with more reads
        one, other = (
            write_fastq(path / f"{lane}_{n}.fq", reads) for n, reads in enumerate(sample_pairs(genome, pairs, seed))
        )
        made.add_unit("S1", lane, fq1=one, fq2=other)
    made.write()
    held = tmp_path / "bin" / "bwa"
    held.parent.mkdir()
    (tmp_path / "hold").touch()
    held.write_text(HELD.format(bwa=shutil.which("bwa"), hold=tmp_path / "hold"))
    held.chmod(0o755)
    path_variable = f"{held.parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"GPD_RUNTIME_DIR": str(tmp_path / "allocations"), "PATH": path_variable}
    environment.pop("GPD_JOB", None)
    folder = Folder(path, environment)
    yield folder
    for process in folder.started:
        process.kill()
        process.communicate()


def test_a_second_run_ctrl_c_and_the_run_that_goes_on(folder: Folder, figure: Callable[[str], None]) -> None:
    first = folder.start("run", "germline", TARGET)
    folder.wait_for("map_and_sort")
    log = (folder.path / "snakemake.log").read_text()

    code, output = folder.gpd("run", "germline", TARGET)
    assert code == 2
    (line,) = output.splitlines()
    assert line.startswith(f"gpd run: {folder.path}: another gpd run is at work here (pid {first.pid}, since 20")
    assert (folder.path / "snakemake.log").read_text().startswith(log)

    began = time.monotonic()
    os.killpg(first.pid, signal.SIGINT)
    output, _ = first.communicate(timeout=30)
    figure(f"Ctrl-C: gpd run ended after {time.monotonic() - began:.1f} s")
    assert first.returncode == 130
    assert "Runtime a step" in output
    assert "gpd run: ended by SIGINT while at work: map_and_sort S1 L1\n" in output
    assert "the same command goes on" in output
    assert not folder.left()
    assert not folder.jobs()
    assert not list((folder.path / ".snakemake").glob("locks/*.lock"))

    folder.let_go()
    code, output = folder.gpd("run", "germline", TARGET)
    assert code == 0, output
    assert (folder.path / TARGET).exists()


def test_after_kill_9_the_same_command_goes_on(folder: Folder) -> None:
    first = folder.start("run", "germline", TARGET)
    folder.wait_for("map_and_sort")
    first.kill()
    first.wait()
    assert list((folder.path / ".snakemake").glob("locks/*.lock"))
    folder.let_go()
    code, output = folder.gpd("run", "germline", TARGET)
    assert code == 0, output
    assert (folder.path / TARGET).exists()
    code, output = folder.gpd("ledger", "check")
    assert code == 0, output


@pytest.mark.long
def test_bare_snakemakes_lock_is_left_alone_while_it_lives_and_named_when_it_is_dead(folder: Folder) -> None:
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(SNAKEFILE)]
    bare = subprocess.Popen([*command, "--cores", "2", TARGET], cwd=folder.path, env=folder.environment, stderr=-3)
    folder.started.append(bare)
    folder.wait_for("map_and_sort")
    code, output = folder.gpd("run", "germline", TARGET)
    assert code == 2
    assert f"Snakemake is at work here (pid {bare.pid}, since 20" in output
    bare.kill()
    bare.wait()
    code, output = folder.gpd("run", "germline", TARGET)
    assert code == 2
    (line,) = output.splitlines()
    assert line.endswith("if you know that it is gone: gpd run germline --directory . --unlock")
    assert folder.gpd("run", "germline", "--directory", ".", "--unlock")[0] == 0
    assert folder.gpd("run", "germline", "prepare")[0] == 0


def test_ctrl_c_on_a_terminal(folder: Folder) -> None:
    """The terminal sends SIGINT to the whole group in the foreground."""
    ours, theirs = pty.openpty()
    output = bytearray()

    def read() -> None:
        while True:
            try:
                output.extend(os.read(ours, 65536))
            except OSError:
                return  # nobody is left to write

    threading.Thread(target=read, daemon=True).start()
    program = "import os, pty, sys; os.setsid(); import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    program += "from gpd.cli import app; sys.argv = ['gpd', 'run', 'germline', sys.argv[1]]; app()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, TARGET],
        **{"cwd": folder.path, "env": folder.environment | {"TERM": "xterm"}},
        **dict.fromkeys(("stdin", "stdout", "stderr"), theirs),
    )
    folder.started.append(process)
    os.close(theirs)
    folder.wait_for("map_and_sort")
    os.write(ours, b"\x03")
    assert process.wait(timeout=30) == 130
    wait_until(lambda: b"the same command goes on" in output)
    assert not folder.left()


@pytest.mark.long
def test_ctrl_c_on_a_study_and_the_study_that_goes_on(folder: Folder) -> None:
    pool = {"directory": str(folder.path), "config": "config/config.yaml"}
    settings = {"name": "study", "directory": "runs", "pipelines": {"germline": pool}, "concurrent_samples": [1]}
    (folder.path / "study.yaml").write_text(yaml.safe_dump(settings | {"repeats": 1, "warm_up": 0}))
    study = folder.start("throughput", "run", "study.yaml")
    folder.wait_for("map_and_sort")
    os.killpg(study.pid, signal.SIGINT)
    output, _ = study.communicate(timeout=HANGS_S)
    assert study.returncode == 130
    name = "germline-n1-shared-compact-r1"
    assert f"gpd throughput run: ended by SIGINT while at work: {name}\n" in output
    assert "the same command goes on" in output
    assert not (folder.path / "runs/study" / name / "run.json").exists()
    assert not folder.jobs()


def done(ledger: Path) -> list[tuple[str, ...]]:
    """The jobs that ended well: rule and wildcards, each as often as it did."""
    lines = map(json.loads, ledger.read_text().splitlines()) if ledger.exists() else ()
    return [(line["rule"], *line["wildcards"].values()) for line in lines if line["exit_code"] == 0]


def test_another_run_that_holds_cpus_is_named(folder: Folder, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    job = ["--step", "s", "--rule", "r", "--wildcards", "sample=A", "--threads", "512", "--mem-mb", "1", "--log", "log"]
    holder = subprocess.Popen(
        [sys.executable, "-S", "-E", str(launcher.LAUNCHER), "run", *job],
        **{"cwd": other, "env": folder.environment, "stdin": subprocess.PIPE, "text": True},
    )
    folder.started.append(holder)
    holder.stdin.write("until [ -e go ]; do sleep 0.1; done")
    holder.stdin.close()
    holder.stdin = None
    wait_until(folder.jobs)
    run = folder.start("run", "germline", "prepare")
    lines = []
    for line in run.stdout:
        lines.append(line)
        if "holds CPUs" in line:
            (other / "go").touch()
    assert run.wait() == 0, lines
    assert any(line.startswith(f"gpd: warning: {other}: a run is at work there") for line in lines), lines


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="takes setpriv to be denied as root")
def test_read_only_results_are_the_reason_that_is_shown(folder: Folder) -> None:
    (folder.path / "results").mkdir(mode=0o555)
    denied = [
        "setpriv",
        "--bounding-set=-dac_override,-dac_read_search",
        sys.executable,
        "-m",
        "gpd",
        "run",
        "germline",
    ]
    done = subprocess.run(denied, cwd=folder.path, env=folder.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    fault = f"{folder.path}/results can't be written to: change its rights, or how it is mounted, or run elsewhere"
    assert done.stderr.splitlines() == [f"gpd run: results/: a run writes here, and {fault}"]


def test_a_home_that_cannot_be_written_to_is_no_hindrance(folder: Folder) -> None:
    folder.environment |= {"HOME": "/dev/null/home"}
    folder.environment.pop("XDG_CACHE_HOME", None)
    code, output = folder.gpd("run", "germline", "prepare", "--config", "filter=none")
    assert code == 0, output
