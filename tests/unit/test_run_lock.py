"""Who is at work in a folder, and which of Snakemake's locks may be lifted."""

import errno
import json
import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from other_users import NOBODY, as_root, as_user

from gpd.errors import GpdError
from gpd.execution import run_lock

UNLOCK = "gpd run germline --unlock"


@pytest.fixture
def locks(tmp_path):
    """Snakemake's locks in a folder with a blank; a call makes one."""
    folder = tmp_path / "my run" / ".snakemake" / "locks"

    def make(name="0.output.lock"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("results/a.bam\n")
        return folder / name

    return make


def run_killed(folder, make):
    """A gpd run whose Snakemake makes its locks, and which is killed -9."""

    def work():
        with run_lock.hold_folder(folder, UNLOCK):
            make()
            os.kill(os.getpid(), signal.SIGKILL)

    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join()


def test_the_holder_is_named(tmp_path):
    with (
        run_lock.hold_folder(tmp_path, UNLOCK),
        pytest.raises(GpdError) as error,
        run_lock.hold_folder(tmp_path, UNLOCK),
    ):
        pass
    assert str(error.value).startswith(f"{tmp_path}: another gpd run is at work here (pid {os.getpid()}, since 20")


@pytest.fixture
def without_flock(monkeypatch, request):
    def refuse(*_):
        raise OSError(request.param, os.strerror(request.param))

    monkeypatch.setattr(run_lock.fcntl, "flock", refuse)


LACKING = pytest.mark.parametrize("without_flock", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP], indirect=True)


@LACKING
def test_a_file_system_without_locks_is_told_and_the_run_goes_on(tmp_path, without_flock):
    with pytest.warns(run_lock.LockWarning) as warned, run_lock.hold_folder(tmp_path, UNLOCK):
        pass
    (message,) = (str(each.message) for each in warned)
    assert message.startswith(f"{tmp_path}: its file system has no locks (")
    assert message.endswith("): going on, under Snakemake's own")
    with (
        pytest.warns(run_lock.LockWarning, match="so take care that no other gpd scaling run works here$"),
        run_lock.hold(tmp_path / "x/.lock", tmp_path, "gpd scaling run"),
    ):
        pass


@pytest.mark.filterwarnings("ignore::gpd.execution.run_lock.LockWarning")
@pytest.mark.parametrize("without_flock", [errno.ENOSYS], indirect=True)
def test_without_locks_snakemakes_are_believed_and_what_another_noted_stays(tmp_path, locks, without_flock):
    folder = tmp_path / "my run"
    made = locks()
    noted = folder / ".snakemake" / run_lock.OURS
    noted.write_text(json.dumps({"pid": 1, "host": "other", "since": "now"}))
    before = noted.read_text()
    with pytest.raises(GpdError, match="locked by Snakemake since"), run_lock.hold_folder(folder, UNLOCK):
        pass
    assert made.exists()
    assert noted.read_text() == before


@pytest.mark.parametrize("without_flock", [errno.EIO], indirect=True)
def test_a_lock_that_fails_otherwise_is_an_error(tmp_path, without_flock):
    with pytest.raises(OSError, match="Input/output error"), run_lock.hold_folder(tmp_path, UNLOCK):
        pass


def test_what_a_killed_run_left_is_lifted(tmp_path, locks):
    folder = tmp_path / "my run"
    run_killed(folder, locks)
    assert (folder / ".snakemake/locks/0.output.lock").exists()
    with run_lock.hold_folder(folder, UNLOCK):
        assert not list((folder / ".snakemake/locks").iterdir())


def test_what_a_killed_snakemake_left_is_lifted(tmp_path, locks):
    """Its gpd run came to its end."""
    folder = tmp_path / "my run"
    with run_lock.hold_folder(folder, UNLOCK):
        locks()
    with run_lock.hold_folder(folder, UNLOCK):
        assert not list((folder / ".snakemake/locks").iterdir())


def test_locks_of_a_run_on_another_machine_are_not_lifted(tmp_path, locks):
    """Its lock may be none to us: some file systems lock on each machine for itself."""
    folder = tmp_path / "my run"
    made = locks()
    (folder / ".snakemake" / run_lock.OURS).write_text(json.dumps({"pid": 1, "host": "other", "since": "now"}))
    with pytest.raises(GpdError, match="it was killed, or is at work elsewhere"), run_lock.hold_folder(folder, UNLOCK):
        pass
    assert made.exists()


def test_a_lock_that_was_made_after_a_run_is_not_lifted(tmp_path, locks):
    """The user started Snakemake."""
    folder = tmp_path / "my run"
    with run_lock.hold_folder(folder, UNLOCK):
        locks().unlink()
    made = locks()
    with pytest.raises(GpdError) as error, run_lock.hold_folder(folder, UNLOCK):
        pass
    assert "none of yours is at work here on this machine" in str(error.value)
    assert str(error.value).endswith(f"if you know that it is gone: {UNLOCK}")
    assert made.exists()


def test_a_lock_of_which_nothing_is_known_is_not_lifted_unless_the_user_says_so(tmp_path, locks):
    made = locks()
    with pytest.raises(GpdError), run_lock.hold_folder(tmp_path / "my run", UNLOCK):
        pass
    with run_lock.hold_folder(tmp_path / "my run", ""):
        assert made.exists()


def test_a_snakemake_at_work_is_named(tmp_path, locks):
    locks()
    folder = tmp_path / "my run"
    command = [sys.executable, "-c", "input('at work\\n')", "snakemake"]
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        with pytest.raises(GpdError) as error, run_lock.hold_folder(folder, UNLOCK):
            pass
        process.communicate(b"\n")
    assert f"Snakemake is at work here (pid {process.pid}, since 20" in str(error.value)


@pytest.mark.parametrize(
    "garbage",
    [
        *(b"", b"{", b"[]", b"\0\xff", b'{"locks": 3}', b"[" * 100_000),
        json.dumps({"pid": "1; touch x", "host": os.uname().nodename, "since": "now"}).encode(),
    ],
)
def test_a_torn_note_is_no_note(tmp_path, locks, garbage):
    made = locks()
    (tmp_path / "my run/.snakemake/gpd.lock").write_bytes(garbage)
    with pytest.raises(GpdError, match="locked by Snakemake"), run_lock.hold_folder(tmp_path / "my run", UNLOCK):
        pass
    assert made.exists()


@as_root
def test_who_may_not_write_in_the_folder_cannot_lock_it(tmp_path, monkeypatch):
    lock = tmp_path / ".snakemake" / run_lock.OURS
    lock.parent.mkdir()
    for folder, mode in ((0o755, 0o600), (0o775, 0o660)):
        lock.touch(0o644)  # of an older version
        lock.parent.chmod(folder)
        with run_lock.hold_folder(tmp_path, UNLOCK):
            assert stat.S_IMODE(lock.stat().st_mode) == mode
        monkeypatch.chdir(lock.parent)
        assert as_user(NOBODY, lambda: os.open(run_lock.OURS, os.O_RDONLY)).startswith("PermissionError")


@pytest.mark.parametrize("kind", [os.symlink, lambda _, path: os.mkfifo(path)], ids=["link", "pipe"])
def test_a_file_that_was_put_there_is_not_written_to(tmp_path, kind):
    (tmp_path / ".snakemake").mkdir()
    other = tmp_path / "other"
    other.write_text("theirs")
    kind(other, tmp_path / ".snakemake" / run_lock.OURS)
    refused = pytest.raises(GpdError, match=r"gpd\.lock: (a link, .*|not a plain file); remove it$")
    with refused, run_lock.hold_folder(tmp_path, UNLOCK):
        pass
    assert other.read_text() == "theirs"


@as_root
def test_another_user_is_told_what_to_do_in_a_line():
    with tempfile.TemporaryDirectory() as name:  # pytest's own are closed to others
        folder = Path(name)
        with run_lock.hold_folder(folder, UNLOCK):
            pass
        for path in (folder, folder / ".snakemake"):
            path.chmod(0o777)
        told = as_user(NOBODY, lambda: run_lock.hold_folder(folder, UNLOCK).__enter__())
    assert told == (
        f"GpdError: {folder}/.snakemake/gpd.lock: root's, and you may not write there: run in a folder of your own "
        f"(--directory), or have root share this one: chmod -R g+rwXs {folder}, of a group that you both are in, and "
        "umask 002"
    )
