"""The launcher's runtime folder: a disk that is full or whose quota is, links, and what cleans up old files."""

import errno
import fcntl
import io
import os
import shutil
import stat
import sys
from types import SimpleNamespace

import pytest
from launcher import runtime, wrapper
from launcher.system import LauncherError


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_and_a_full_quota_are_the_same_cause(tmp_path, monkeypatch, code):
    def full(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(runtime.os, "mkdir", full)
    with pytest.raises(OSError, match=os.strerror(code)):  # and not LauncherError, which speaks of TMPDIR
        runtime.make_folder(str(tmp_path / "job"))
    finished = []
    attempt = SimpleNamespace(
        settings=SimpleNamespace(owner="", log="", id=None), finish=lambda *cause: finished.append(cause) or 1
    )
    monkeypatch.setattr(wrapper, "heed_signals", lambda: None)
    monkeypatch.setattr(wrapper, "retried", full)
    assert wrapper.as_owner(attempt) == 1
    assert [cause for cause, *_ in finished] == ["disk_full"]


def test_a_folder_that_cannot_be_made_is_said_in_one_line(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("GPD_RUNTIME_DIR", str(tmp_path / "file/runtime"))
    with pytest.raises(LauncherError, match=r"file/runtime: cannot make it.*Not a directory; set GPD_RUNTIME_DIR"):
        runtime.runtime_dir()


def test_a_link_in_the_place_of_a_file_is_not_followed(tmp_path):
    target = tmp_path / "of somebody else"
    target.write_text("precious")
    (tmp_path / "allocations").symlink_to(target)
    with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
        runtime.open_file(str(tmp_path / "allocations"), os.O_TRUNC)
    assert target.read_text() == "precious"


def test_systemd_tmpfiles_finds_the_folder_locked_while_a_job_lives(tmp_path, monkeypatch):
    """It takes an exclusive lock of a folder before it removes what is old in it."""
    monkeypatch.setenv("GPD_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    settings = SimpleNamespace(asked_by=None, ledger=None)
    monkeypatch.setattr(wrapper, "own_ledger", lambda ledger: ledger)
    monkeypatch.setattr(wrapper, "Attempt", lambda *words: words)
    wrapper.begun(settings, "true", SimpleNamespace(gone=lambda: None))
    cleaner = os.open(tmp_path / "runtime", os.O_RDONLY | os.O_DIRECTORY)
    try:
        with pytest.raises(BlockingIOError):
            fcntl.flock(cleaner, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(cleaner)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Where the runtime folder would be."""
    monkeypatch.setenv("GPD_RUNTIME_DIR", str(tmp_path / "runtime"))
    return tmp_path / "runtime"


def test_launchers_that_make_the_folder_at_one_time_have_the_same(place, monkeypatch):
    made = runtime.runtime_dir()
    monkeypatch.setattr(runtime.os.path, "lexists", lambda path: False)  # the other made it a moment later
    assert runtime.runtime_dir() == made == str(place)


@pytest.mark.parametrize(("tmpdir", "found"), [("/scratch", "/scratch"), ("", "/tmp"), (None, "/tmp")])
def test_jobs_have_their_folders_in_tmpdir(monkeypatch, tmpdir, found):
    monkeypatch.delenv("TMPDIR", raising=False)
    if tmpdir is not None:
        monkeypatch.setenv("TMPDIR", tmpdir)
    assert runtime.place() == found


@pytest.mark.parametrize("mode", [0o701, 0o710, 0o720, 0o777], ids=oct)
def test_a_folder_that_others_may_enter_or_write_to_is_refused(place, mode):
    place.mkdir()
    place.chmod(mode)
    with pytest.raises(LauncherError, match="not a private folder of this user"):
        runtime.runtime_dir()


def test_what_is_no_folder_is_refused(place):
    os.mkfifo(place, 0o600)
    with pytest.raises(LauncherError, match="not a private folder of this user"):
        runtime.runtime_dir()


@pytest.mark.parametrize("off", [-1, 1])
def test_a_folder_of_another_user_is_refused(place, monkeypatch, off):
    place.mkdir(0o700)
    owned = SimpleNamespace(st_uid=os.geteuid() + off, st_mode=place.stat().st_mode)
    monkeypatch.setattr(runtime.os, "lstat", lambda path: owned)
    with pytest.raises(LauncherError, match="not a private folder of this user"):
        runtime.runtime_dir()


def test_files_and_folders_are_for_this_user_alone(tmp_path):
    os.close(runtime.open_file(str(tmp_path / "allocations")))
    runtime.make_folder(str(tmp_path / "job"))
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("allocations", "job")]
    assert modes == [0o600, 0o700]


def test_temporary_files_that_cannot_be_removed_are_told_of(tmp_path, monkeypatch, capfd):
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "left").touch()

    def denied(path, ignore_errors=False):
        if not ignore_errors:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(shutil, "rmtree", denied)
    runtime.remove_folder(str(tmp_path / "job"))
    assert f"{tmp_path}/job: temporary files of a job stay: " in capfd.readouterr().err
