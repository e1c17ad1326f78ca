"""Who works at a job's outputs: what is believed of LOG.owner, of locks that a file system lacks, and of Slurm."""

import errno
import fcntl
import os
import secrets
import stat
import subprocess
from ast import literal_eval
from types import SimpleNamespace

import pytest
from launcher import node, output_lock
from launcher.output_lock import OutputLock
from launcher.system import LauncherError, open_plain
from other_users import NOBODY, as_root, as_user

# of Slurm's states: a process of the job may run, or run on
AT_WORK = ("SUSPENDED", "STOPPED", "COMPLETING", "CONFIGURING", "SIGNALING", "STAGE_OUT", "RESIZING")
HERE = {"SLURM_JOB_ID": "7", "SLURMD_NODENAME": "n1", "SLURM_STEP_ID": "0"}
JOB = secrets.token_hex(8)


def told(**changed):
    """What another launcher says of itself."""
    record = {"id": JOB, "attempt": 1, "rule": "rule", "host": "h", "node": "n2", "slurm_job_id": None, "pid": 1}
    return repr(record | changed) + "\n"


HOSTILE = {
    "nested deeply": "(" * 60000,
    "minus signs": "-" * 60000 + "1",
    "torn": "{'record': {'id'",
    "no dictionary": "[1, 2]",
    "a call": "__import__('os').getcwd()",
    "another type": "{'id': 1}",
    "no job": repr({"id": JOB}),
    "a command for a PID": told(pid="1; touch x"),
    "a command for a host": told(host="h; touch x"),
    "a command for a Slurm job": told(slurm_job_id="11; touch x"),
    "a PID for all": told(pid=-1),
    "true": told(pid=True),
    "bytes": told(message=b"x"),
    "infinite": told(wall_s=1).replace("'wall_s': 1}", "'wall_s': 1e999}"),
    "endless": told(threads=0).replace("'threads': 0", f"'threads': 0x{'f' * 9000}"),
    "no text for a key": repr({b"x": 1, **literal_eval(told())}),
    "not hashable": "{[]: 1}",
    "nothing": "",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_file_that_no_launcher_wrote_names_none(text):
    assert output_lock.read_owner(f"{text}\n") is None


@pytest.mark.parametrize(
    ("own", "changed", "how"),
    [
        (None, {}, "PID 1 on n2 (host h); `kill 1 on h` ends it"),
        (None, {"slurm_job_id": "11"}, "PID 1 on n2 (host h), Slurm job 11; `scancel 11` ends it"),
        ("11", {"slurm_job_id": "11"}, "PID 1 on n2 (host h), Slurm job 11; `kill 1 on h` ends it"),  # not ourselves
        (None, {"node": "h"}, "PID 1 on h; `kill 1 on h` ends it"),
    ],
)
def test_what_ends_another_launcher(monkeypatch, own, changed, how):
    monkeypatch.setattr(output_lock, "slurm_job_id", lambda: own)
    words = output_lock.waits_for(output_lock.read_owner(told(**changed)))
    assert words.endswith(f"which makes the same outputs: {how}")


def answer(monkeypatch, code=0, output="", complaint=""):
    done = subprocess.CompletedProcess([], code, output, complaint)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)


@pytest.mark.parametrize(
    ("answered", "at_work"),
    [
        ((0, "RUNNING\n"), True),
        ((0, "PENDING\nRUNNING\n"), True),  # an array's tasks, where the number is the array's too
        *(((0, f"{state}\n"), True) for state in AT_WORK),
        ((0, "PENDING\n"), False),  # requeued: what ran is over
        ((0, ""), False),
        ((1, "", "slurm_load_jobs error: Invalid job id specified\n"), False),
        ((1, "", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"), False),
    ],
)
def test_what_squeue_says(monkeypatch, answered, at_work):
    answer(monkeypatch, *answered)
    assert output_lock.is_at_work("11") == at_work


def test_no_squeue_no_answer(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert not output_lock.is_at_work("11")
    assert not output_lock.is_at_work(None)


def test_what_ran_under_our_own_slurm_job_before_is_over(monkeypatch):
    answer(monkeypatch, 0, "RUNNING\n")
    monkeypatch.setenv("SLURM_JOB_ID", "11")
    assert not output_lock.is_at_work("11")


# ---- the lock


@pytest.fixture
def attempt(tmp_path, monkeypatch):
    """A launcher that has not begun."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.setattr(output_lock, "NEAREST_S", 0.0)
    monkeypatch.setattr(output_lock, "SETTLE_S", 0.0)
    settings = SimpleNamespace(owner="", attempt=1, inputs=(), outputs=("out",), ledger="ledger.jsonl", step="s")
    record = {"id": "b" * 16, "attempt": 1, "rule": "rule", "pid": 1, "log": "a.log", **node.where({})}
    requester = SimpleNamespace(gone=lambda: None)
    runtime = str(tmp_path / "runtime")
    (tmp_path / "runtime" / "jobs").mkdir(parents=True)
    return SimpleNamespace(
        settings=settings,
        record=record,
        command="true",
        name="s a",
        requester=requester,
        runtime=runtime,
        note=lambda awaits=None: None,
    )


def without_locks(code):
    """flock() as a file system answers it that has no locks."""

    def flock(*_):
        raise OSError(code, os.strerror(code))

    return flock


LACKING = [without_locks(code) for code in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)]
no_locks = LACKING[0]


def test_a_lock_that_fails_otherwise_is_an_error(attempt, monkeypatch):
    monkeypatch.setattr(output_lock.fcntl, "flock", without_locks(errno.EIO))
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        OutputLock(attempt).claim()


@pytest.mark.parametrize("flock", [fcntl.flock, *LACKING], ids=["locks", "ENOLCK", "ENOSYS", "EOPNOTSUPP"])
def test_the_file_says_who_is_at_work_and_goes_with_the_job(attempt, tmp_path, monkeypatch, flock):
    monkeypatch.setattr(output_lock.fcntl, "flock", flock)
    lock = OutputLock(attempt)
    lock.claim()
    assert output_lock.read_owner((tmp_path / "a.log.owner").read_text()) == attempt.record
    lock.release(0)
    assert not (tmp_path / "a.log.owner").exists()


@pytest.mark.parametrize("flock", [fcntl.flock, no_locks], ids=["locks of the node alone", "no locks"])
def test_where_no_lock_tells_slurm_is_asked(attempt, tmp_path, monkeypatch, capfd, flock):
    (tmp_path / "a.log.owner").write_text(told(slurm_job_id="11"))
    monkeypatch.setattr(output_lock.fcntl, "flock", flock)
    looks = iter([True, True, False])
    monkeypatch.setattr(output_lock, "is_at_work", lambda job: job == "11" and next(looks))
    OutputLock(attempt).claim()
    assert list(looks) == []
    assert capfd.readouterr().err.count("Slurm job 11; `scancel 11` ends it") == 1


def test_who_has_ended_in_a_slurm_job_that_goes_on_is_not_waited_for(attempt, tmp_path, monkeypatch):
    (tmp_path / "a.log.owner").write_text(told(slurm_job_id="11") + "ended\n")
    monkeypatch.setattr(output_lock, "is_at_work", lambda job: True)
    OutputLock(attempt).claim()
    assert not (tmp_path / "ledger.jsonl").exists()  # it has recorded itself


def test_a_lock_that_a_lost_node_keeps_goes_with_the_file(attempt, tmp_path, monkeypatch):
    """As servers of NFS 3 keep it until the node comes back."""
    owner = tmp_path / "a.log.owner"
    owner.write_text(told())
    with owner.open() as lost:
        fcntl.flock(lost, fcntl.LOCK_EX)
        monkeypatch.setattr(output_lock.time, "sleep", lambda seconds: owner.unlink(missing_ok=True))
        OutputLock(attempt).claim()


def test_a_disk_that_is_full_stops_no_job(attempt, tmp_path, monkeypatch, capfd):
    def full(fd, data, at):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    lock = OutputLock(attempt)
    lock.claim()
    lock.release(0)
    assert os.strerror(errno.ENOSPC) in capfd.readouterr().err
    assert not (tmp_path / "a.log.owner").exists()


def test_whose_file_was_removed_leaves_the_next_ones(attempt, tmp_path):
    owner = tmp_path / "a.log.owner"
    lock = OutputLock(attempt)
    lock.claim()
    owner.unlink()
    owner.write_text(told())
    lock.release(0)
    assert owner.read_text() == told()


# ---- other users


@as_root
@pytest.mark.parametrize(("folder", "mode"), [(0o755, 0o600), (0o2755, 0o600), (0o775, 0o660), (0o2775, 0o660)])
def test_who_may_not_write_in_the_folder_cannot_lock_the_file(attempt, tmp_path, folder, mode):
    tmp_path.chmod(folder)
    owner = tmp_path / "a.log.owner"
    owner.touch(0o644)  # of an older version
    OutputLock(attempt).claim()
    assert stat.S_IMODE(owner.stat().st_mode) == mode
    assert as_user(NOBODY, lambda: os.open(owner.name, os.O_RDONLY)).startswith("PermissionError")


@as_root
def test_a_folder_of_another_group_gives_the_file_to_none(attempt, tmp_path):
    os.chown(tmp_path, -1, NOBODY)
    tmp_path.chmod(0o775)
    OutputLock(attempt).claim()
    assert stat.S_IMODE((tmp_path / "a.log.owner").stat().st_mode) == 0o600


@as_root
def test_two_users_of_a_group_work_in_turn(attempt, tmp_path, capfd):
    """What the first left says nothing of who works now, and goes into no record of the second's."""
    owner = tmp_path / "a.log.owner"
    owner.write_text(told())
    os.chown(owner, NOBODY, -1)
    owner.chmod(0o660)
    with owner.open("r+") as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        end_later(attempt, first)
        OutputLock(attempt).claim()
    assert "waits for a run of nobody's, which makes the same outputs" in capfd.readouterr().err
    assert output_lock.read_owner(owner.read_text()) == attempt.record
    assert owner.stat().st_uid == 0
    assert not (tmp_path / "ledger.jsonl").exists()


def end_later(attempt, file):
    attempt.note = lambda awaits=None: fcntl.flock(file, fcntl.LOCK_UN)


@as_root
def test_another_users_file_that_is_closed_to_us_is_told(attempt, tmp_path):
    tmp_path.chmod(0o755)
    (tmp_path / "a.log.owner").touch(0o600)
    failure = as_user(NOBODY, lambda: open_plain("a.log.owner", os.O_RDWR))
    assert failure == "LauncherError: a.log.owner: is root's, and closed to you; remove it once their run is over"


@pytest.mark.parametrize("kind", [os.symlink, lambda _, path: os.mkfifo(path)], ids=["link", "pipe"])
def test_a_file_that_was_put_there_is_not_written_to(attempt, tmp_path, kind):
    (tmp_path / "other").write_text("theirs")
    kind("other", "a.log.owner")
    with pytest.raises(LauncherError, match=r"a\.log\.owner: (a link, .*|not a plain file); remove it$"):
        OutputLock(attempt).claim()
    assert (tmp_path / "other").read_text() == "theirs"


# ---- nodes


def test_where_a_job_runs(monkeypatch):
    host = os.uname().nodename
    assert node.where(HERE) == {"host": host, "node": "n1", "slurm_job_id": "7", "slurm_step_id": "0"}
    assert node.where({}) == {"host": host, "node": host, "slurm_job_id": None, "slurm_step_id": None}


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        (HERE, "ledger.n1.jsonl"),
        ({"PBS_JOBID": "1", "SLURMD_NODENAME": "../x y"}, "ledger..._x_y.jsonl"),
        ({"SLURMD_NODENAME": "n1"}, "ledger.jsonl"),
    ],
)
def test_a_batch_job_writes_the_ledger_of_its_node(environment, name):
    assert node.own_ledger("/run/ledger.jsonl", environment) == f"/run/{name}"
