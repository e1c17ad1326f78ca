"""What the launcher asks of the system: files in folders of others, and lines to a terminal."""

import errno
import os
import pwd
import stat
from types import SimpleNamespace

import pytest
from launcher import system


def test_a_file_is_made_as_the_users_mask_has_it_and_waits_for_what_is_written(tmp_path):
    before = os.umask(0)
    try:
        fd = system.open_plain(str(tmp_path / "log"), os.O_RDWR | os.O_CREAT)
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.fstat(fd).st_mode) == 0o666
    assert os.get_blocking(fd)
    os.close(fd)


def test_a_link_is_not_followed_and_a_pipe_not_waited_for(tmp_path):
    (tmp_path / "target").touch()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(system.LauncherError, match="a link, and what is written there would be elsewhere"):
        system.open_plain(str(tmp_path / "link"), os.O_RDWR)
    with pytest.raises(system.LauncherError, match="not a plain file"):
        system.open_plain(str(tmp_path / "pipe"), os.O_RDWR)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.ENOENT, errno.ESTALE])
def test_other_errors_stay_what_they_are(tmp_path, monkeypatch, code):
    def failed(*_):
        raise OSError(code, os.strerror(code))

    (tmp_path / "log").touch()
    monkeypatch.setattr(system.os, "open", failed)
    monkeypatch.setattr(system, "other_owner", lambda found: "somebody")
    with pytest.raises(OSError, match=os.strerror(code)):
        system.open_plain(str(tmp_path / "log"), os.O_RDWR)


def test_an_owner_is_named_and_one_without_a_name_numbered():
    users = {each.pw_uid: each.pw_name for each in pwd.getpwall() if each.pw_uid != os.geteuid()}
    number, name = next(iter(users.items()))
    unknown = max(users) + 100_000
    found = [system.other_owner(SimpleNamespace(st_uid=uid)) for uid in (os.geteuid(), number, unknown)]
    assert found == ["", name, f"user {unknown}"]


def test_no_order_reaches_a_terminal(tmp_path):
    """Control characters but tab and newline, those of 8 bits among them (ECMA-48)."""
    with (tmp_path / "log").open("wb") as log:
        system.say("".join(map(chr, range(256))), log.fileno())
    printed = (tmp_path / "log").read_text()
    controls = {chr(code) for code in (*range(32), *range(127, 160))}
    assert {each for each in printed if each in controls} == {"\t", "\n"}
    assert {each for each in map(chr, range(256)) if each not in controls} <= set(printed)
    assert r"\x07\x08" + "\t\n" + r"\x0b" in printed
    assert r"~\x7f\x80" in printed


def test_a_line_that_nobody_reads_is_no_reason_to_fail():
    reader, writer = os.pipe()
    os.close(reader)
    system.say("gone", writer)
    os.close(writer)


def test_a_tick_is_the_kernels():
    assert system.TICK_S * os.sysconf("SC_CLK_TCK") == pytest.approx(1)


def test_what_is_gone_is_empty_and_removed_already(tmp_path):
    assert system.read_text(str(tmp_path / "gone")) == ""
    system.unlink(str(tmp_path / "gone"))
