"""The launcher's runtime folder: a disk that is full or whose quota is, links, and what cleans up old files."""

import errno
import fcntl
import io
import os
import sys
from types import SimpleNamespace

import pytest
from launcher import runtime, wrapper


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
