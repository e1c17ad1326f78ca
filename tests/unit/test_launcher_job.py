"""The shell that Snakemake is given for a job: what runs as the job, and what the real shell is left."""

import errno
import fcntl
import marshal
import os
from types import SimpleNamespace

import pytest
from launcher import job
from launcher.requester import Parent
from launcher.system import LauncherError

SHELL = "/bin/bash"


class Replaced(Exception):  # noqa: N818 (no error)
    """What execv() would have made of this process."""


@pytest.fixture
def shell(monkeypatch, tmp_path):
    """A job's folder, and what was begun as the job."""
    found = SimpleNamespace(folder=str(tmp_path), begun=[], error=None)
    (tmp_path / "job").write_bytes(marshal.dumps({"shell": SHELL, "step": "call", "threads": 3}))

    def begin(settings, command, requester):
        if found.error:
            raise found.error
        with (tmp_path / "job").open() as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        found.begun.append((settings, command, requester))
        return 7

    def replace(program, words):
        raise Replaced(program, words)

    monkeypatch.delenv("GPD_JOB", raising=False)
    monkeypatch.setenv("GPD_JOB_FOLDER", "that of another")
    monkeypatch.setattr(job, "begun", begin)
    monkeypatch.setattr(job, "as_owner", lambda code: code)
    monkeypatch.setattr(os, "execv", replace)
    return found


def test_a_command_is_run_as_the_job_that_the_executor_described(shell):
    assert job.run_job(shell.folder, "-c", "true") == 7
    ((settings, command, requester),) = shell.begun
    assert (settings.step, settings.threads, settings.attempt, command) == ("call", 3, 1, "true")
    assert isinstance(requester, Parent)
    assert os.environ["GPD_JOB_FOLDER"] == shell.folder


@pytest.mark.parametrize(
    "words", [(), ("--version",), ("-c",), ("-b", "x"), ("-x", "x"), ("script.sh", "x"), ("-c", "x", "name")]
)
def test_what_is_no_command_is_left_to_the_real_shell(shell, words):
    with pytest.raises(Replaced) as replaced:
        job.run_job(shell.folder, *words)
    assert replaced.value.args == (SHELL, [SHELL, *words])
    assert shell.begun == []


def test_a_command_of_a_job_is_a_part_of_it(shell, monkeypatch):
    monkeypatch.setenv("GPD_JOB", "of the job around")
    with pytest.raises(Replaced, match="true"):
        job.run_job(shell.folder, "-c", "true")


@pytest.mark.parametrize("error", [LauncherError("no CPU is left"), OSError(errno.EIO, "no CPU is left")])
def test_what_the_launcher_fails_of_is_said_in_one_line(shell, capfd, error):
    shell.error = error
    assert job.run_job(shell.folder, "-c", "true") == 2
    assert capfd.readouterr().err == f"launcher: {error}\n"


def test_a_file_system_without_locks_keeps_no_job(shell, monkeypatch):
    def refuse(fd, operation):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(job, "fcntl", SimpleNamespace(flock=refuse, LOCK_SH=fcntl.LOCK_SH))
    monkeypatch.setattr(job, "begun", lambda *_: 0)
    assert job.run_job(shell.folder, "-c", "true") == 0
