"""Those that asked for a job: who is gone, how long a signal waits for that to show, and what ends a job at all."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from launcher import requester
from launcher.requester import Ended, Parent, Requester, Starter, end_if_gone

READ_ENDINGS = "from launcher.requester import ENDINGS; print(*sorted(each.name for each in ENDINGS))"


@pytest.fixture
def parents(monkeypatch):
    """Whose child is who, as the test says: a launcher (30) whose shell (20) Snakemake (10) has started."""
    found = {"30": "20", "20": "10"}
    monkeypatch.setattr(requester, "parent_of", lambda pid: found.get(str(pid), ""))
    monkeypatch.setattr(os, "getpid", lambda: 30)
    monkeypatch.setattr(os, "getppid", lambda: 20)
    return found


@pytest.fixture(params=["1", "999"])
def other(request):
    """Who takes in orphans: init, or a process that is as young as any."""
    return request.param


@pytest.fixture
def clock(monkeypatch):
    """Time that passes while one sleeps alone; what each of `at` does happens by then."""

    class Clock:
        now, at = 5.0, {}

        def sleep(self, seconds):
            self.now += seconds
            assert seconds > 0 and self.now < 60, "nobody waits so long"
            for due in [due for due in self.at if due <= self.now]:
                self.at.pop(due)()

    made = Clock()
    monkeypatch.setattr(time, "monotonic", lambda: made.now)
    monkeypatch.setattr(time, "sleep", made.sleep)
    return made


def test_who_is_gone_is_named(parents, other):
    asked = Requester()
    assert asked.gone() is asked.gone_soon() is None
    parents["20"] = other
    assert asked.gone() == asked.gone_soon() == "Snakemake (PID 10) is gone"
    parents["30"] = other
    assert asked.gone() == "the shell that ran the launcher (PID 20) is gone"


@pytest.mark.parametrize("kind", [Requester, Parent, Starter])
def test_a_read_that_fails_is_no_death(parents, kind):
    asked = kind()
    parents.clear()
    assert asked.gone() is None


def test_a_shell_whose_parent_could_not_be_read_is_not_missed(parents, other):
    del parents["20"]
    asked = Requester()
    parents["20"] = other
    assert asked.gone() is None


@pytest.mark.parametrize(
    ("kind", "name"), [(Parent, "Snakemake"), (Starter, "the process that runs the parts of its job")]
)
def test_a_parent_alone_is_watched_not_its_own(parents, other, kind, name):
    asked = kind()
    parents["20"] = other
    assert asked.gone() is None
    parents["30"] = other
    assert asked.gone() == f"{name} (PID 20) is gone"


@pytest.mark.parametrize("kind", [Requester, Parent, Starter])
def test_one_that_was_gone_before_we_looked_was_told_of(parents, other, kind):
    parents["30"] = other
    assert "(PID 20) is gone" in kind(20).gone()


def test_who_lives_as_long_as_the_job_is_known(parents):
    assert Requester().pids() == (30, "20", "10")
    assert Parent().pids() == Starter().pids() == (30, "20")


def test_a_snakemake_that_is_killed_may_be_there_for_a_moment(parents, other, clock):
    asked = Parent()
    clock.at[5.2] = lambda: parents.update({"30": other})
    assert asked.gone_soon() == "Snakemake (PID 20) is gone"
    assert clock.now == pytest.approx(5.2, abs=0.02)


def test_one_that_lives_is_not_waited_for_long(parents, clock):
    assert Parent().gone_soon() is None
    assert clock.now == pytest.approx(5 + requester.DYING_S, abs=0.02)


@pytest.mark.parametrize("kind", [Requester, Starter])
def test_who_has_one_thread_is_not_waited_for(parents, clock, kind):
    assert kind().gone_soon() is None
    assert clock.now == 5


def test_a_job_goes_on_while_it_is_waited_for(parents, other):
    asked = Parent()
    end_if_gone(asked)
    parents["30"] = other
    with pytest.raises(Ended) as ended:
        end_if_gone(asked)
    assert (ended.value.signum, ended.value.why) == (signal.SIGTERM, "Snakemake (PID 20) is gone")


def test_a_signal_tells_its_own_name():
    assert Ended(signal.SIGINT).why == "SIGINT"


@pytest.mark.parametrize(
    ("handler", "endings"), [(signal.SIG_DFL, "SIGHUP SIGINT SIGTERM"), (signal.SIG_IGN, "SIGINT SIGTERM")]
)
def test_what_was_ignored_at_the_start_ends_nothing(handler, endings):
    """As SIGHUP is under nohup."""
    command, place = [sys.executable, "-c", READ_ENDINGS], {"PYTHONPATH": str(Path(requester.__file__).parents[1])}
    before = signal.signal(signal.SIGHUP, handler)
    try:
        read = subprocess.run(command, env=place, capture_output=True, text=True, check=True)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert read.stdout.strip() == endings
