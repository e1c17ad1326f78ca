"""Who works at a job's outputs: what heartbeat, process and Slurm say of an owner, and who takes a dead one's place."""

import errno
import os
import secrets
import subprocess
from ast import literal_eval
from types import SimpleNamespace

import pytest
from launcher import node, owner
from launcher.owner import DEAD, SILENT, Found, Owner, Watch

HERE = {"SLURM_JOB_ID": "7", "SLURMD_NODENAME": "n1", "SLURM_STEP_ID": "0"}


JOB = secrets.token_hex(8)  # processes of this machine are looked through for it, those of other tests among them


def found(beat=1, ended=False, **told):
    """What is found of an owner elsewhere."""
    record = {"id": JOB, "attempt": 1, "rule": "rule", "host": "h", "node": "n2", "slurm_job_id": None, "pid": 1}
    known = {"started": "1", "place": "elsewhere", "work": "w", "ledger": "l", "beat_s": 10.0}
    text = repr({"record": record | {name: told.pop(name) for name in record if name in told}} | known | told)
    return Found(f"{text}\n" + ("ended\n" if ended else ""), beat)


def looks_until_over(watch, *looks):
    """Return after how many of these looks an owner counts as gone, None where it never does."""
    return next((number for number, each in enumerate(looks, 1) if watch.is_over(each)), None)


@pytest.fixture
def slurm(monkeypatch):
    """A way to say what state Slurm knows a job in; what it returns is how often it was asked."""

    def knows(state):
        asked = []
        monkeypatch.setattr(owner, "slurm_state", lambda job: asked.append(job) or state)
        return asked

    return knows


def test_an_owner_that_nobody_knows_more_of_is_gone_after_six_beats_of_silence(slurm):
    slurm(None)
    assert looks_until_over(Watch(found()), *[found()] * 100) == DEAD


HOSTILE = {
    "nested deeply": "(" * 60000,
    "minus signs": "-" * 60000 + "1",
    "torn": "{'record': {'id'",
    "no dictionary": "[1, 2]",
    "a call": "__import__('os').getcwd()",
    "no record": "{'record': 1, 'beat_s': 1.0}",
    "no beat": repr(literal_eval(found().text) | {"beat_s": float("1e300")}),
    "no job": repr(literal_eval(found().text) | {"record": {}}),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_file_that_no_owner_wrote_names_none_and_ends_nothing(text, slurm):
    slurm(None)
    watch = Watch(Found(f"{text}\n", 1))
    assert watch.owner == {}
    assert "does not say who it is" in watch.in_words()
    assert looks_until_over(watch, *[Found(f"{text}\n", 1)] * 100) == DEAD


def test_a_heartbeat_that_moves_is_life_whatever_its_clock_says(slurm):
    """Backwards, or years away: only that it differs from the last look counts."""
    asked = slurm("")
    beats = [found(beat) for beat in (5, 4, 10**18, 1, 0) for _ in range(SILENT)]
    assert looks_until_over(Watch(found(9)), *beats) is None
    assert asked == []


@pytest.mark.parametrize(("state", "looks"), [("", SILENT), ("RUNNING", None), ("SUSPENDED", None), (None, DEAD)])
def test_slurm_says_what_silence_means(slurm, state, looks):
    asked = slurm(state)
    watch = Watch(found(slurm_job_id="11"))
    assert looks_until_over(watch, *[found(slurm_job_id="11")] * 100) == looks
    assert set(asked) == {"11"}
    assert len(asked) <= 100 / SILENT, "once in two beats"


def test_an_owner_that_has_ended_is_over_at_once(slurm):
    slurm("RUNNING")
    assert looks_until_over(Watch(found()), found(ended=True)) == 1


def test_a_process_of_this_place_needs_no_heartbeat(monkeypatch):
    near = {"place": owner.place(), "pid": os.getpid(), "started": owner.start_of("self")}
    assert looks_until_over(Watch(found(**near)), *[found(**near)] * 100) is None
    another = near | {"started": "1"}  # the number of a process that is gone is given away again
    assert looks_until_over(Watch(found(**another)), found(**another)) == 1


def test_without_a_name_for_the_boot_nothing_is_near(monkeypatch):
    monkeypatch.setattr(owner, "boot_id", lambda: "")
    assert owner.place() is None
    assert not Watch(found(place=None)).near


@pytest.mark.parametrize(
    ("own", "told", "how"),
    [
        (None, {}, "PID 1 on n2 (host h); `kill 1 on h` ends it"),
        (None, {"slurm_job_id": "11"}, "PID 1 on n2 (host h), Slurm job 11; `scancel 11` ends it"),
        (
            "11",
            {"slurm_job_id": "11"},
            "PID 1 on n2 (host h), Slurm job 11; `kill 1 on h` ends it",
        ),  # and not ourselves
        (None, {"node": "h"}, "PID 1 on h; `kill 1 on h` ends it"),
    ],
)
def test_what_ends_an_owner(monkeypatch, own, told, how):
    monkeypatch.setattr(owner, "slurm_job_id", lambda: own)
    assert Watch(found(**told)).in_words().endswith(f"which makes the same outputs: {how}")


def answer(monkeypatch, code=0, output="", complaint=""):
    done = subprocess.CompletedProcess([], code, output, complaint)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)


@pytest.mark.parametrize(
    ("answered", "state"),
    [
        ((0, "RUNNING\n"), "RUNNING"),
        ((0, "PENDING\nRUNNING\n"), "RUNNING"),  # an array's tasks, where the number is the array's too
        ((0, "PENDING\n"), ""),  # requeued: what ran is over
        ((0, ""), ""),
        ((1, "", "slurm_load_jobs error: Invalid job id specified\n"), ""),
        ((1, "", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"), None),
    ],
)
def test_what_squeue_says(monkeypatch, answered, state):
    answer(monkeypatch, *answered)
    assert owner.slurm_state("11") == state


def test_no_squeue_no_answer(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert owner.slurm_state("11") is None
    assert owner.slurm_state(None) is None


def test_what_ran_under_our_own_slurm_job_before_is_over(monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "11")
    monkeypatch.setenv("PATH", "")
    assert owner.slurm_state("11") == ""


# ---- the place of one who is gone


@pytest.fixture
def attempt(tmp_path, monkeypatch):
    """A launcher that has not begun."""
    monkeypatch.chdir(tmp_path)
    settings = SimpleNamespace(attempt=1, inputs=(), outputs=("out",), ledger="ledger.jsonl", beat_s=1000.0, step="s")
    record = {"id": "b" * 16, "attempt": 1, "rule": "rule", "pid": 1, "log": "a.log", **node.where({})}
    return SimpleNamespace(settings=settings, record=record, command="true", name="s a")


def test_the_file_that_was_judged_is_replaced(attempt, tmp_path):
    place = tmp_path / "a.log.owner"
    place.write_text(found().text)
    follower = Owner(attempt)
    assert follower.succeed(owner.look(str(place)))
    assert owner.read_owner(place.read_text().partition("\n")[0])["record"]["id"] == "b" * 16
    follower.release(0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("now", ["another", "beat", "gone"])
def test_a_file_that_is_another_by_now_is_left_alone(attempt, tmp_path, now):
    """Another launcher was faster, or the owner was not dead."""
    place = tmp_path / "a.log.owner"
    place.write_text(found().text)
    os.utime(place, (1, 1))
    judged = owner.look(str(place))
    if now == "another":
        place.write_text(found(id="c" * 16).text)
    elif now == "beat":
        os.utime(place)
    else:
        place.unlink()
    before = owner.look(str(place))
    assert not Owner(attempt).succeed(judged)
    assert owner.look(str(place)) == before


def test_a_disk_that_is_full_stops_no_job(attempt, tmp_path, monkeypatch, capfd):
    """Neither the launcher nor its keeper has anything to touch or to remove then."""
    write = os.write

    def full(fd, data):
        if fd > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(fd, data)

    monkeypatch.setattr(os, "write", full)
    follower = Owner(attempt)
    assert follower.create()
    follower.beat()
    follower.release(0)
    assert os.strerror(errno.ENOSPC) in capfd.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("lost", [True, False])
def test_only_who_is_lost_is_recorded_by_who_follows(attempt, tmp_path, lost):
    """Who ended with a word has recorded itself, or was no job: a step's pieces are."""
    attempt.runtime = str(tmp_path / "runtime")
    (tmp_path / "runtime" / "jobs").mkdir(parents=True)
    elsewhere = found(ledger=str(tmp_path / "ledger.n2.jsonl"))
    watch = Watch(elsewhere)
    while not watch.is_over(elsewhere if lost else found(ended=True)):
        assert not watch.lost
    assert Owner(attempt).made_by(watch) is None
    assert (tmp_path / "ledger.jsonl").exists() == lost


def test_whose_turn_it_is_replaces_alone(attempt, tmp_path):
    place = tmp_path / "a.log.owner"
    place.write_text(found().text)
    turn = tmp_path / "a.log.owner.next"
    turn.touch()
    follower = Owner(attempt)
    judged = owner.look(str(place))
    assert not any(follower.succeed(judged) for _ in range(DEAD))
    assert turn.exists()
    follower.succeed(judged)  # its launcher was killed meanwhile
    assert follower.succeed(judged)
    follower.release(0)


def test_one_who_was_taken_for_dead_leaves_the_next_ones_file(attempt, tmp_path):
    place = tmp_path / "a.log.owner"
    first = Owner(attempt)
    assert first.create()
    place.unlink()
    place.write_text(found().text)
    first.touch()
    first.release(0)
    assert place.read_text() == found().text


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
