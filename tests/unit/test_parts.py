"""Parts of a job: what is listed of them, and what the journal tells of them."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from launcher import journal as journals
from launcher import parts
from launcher.command import quoted
from launcher.journal import Journal
from launcher.node import own_ledger
from launcher.own_parts import OwnParts
from launcher.processes import stat_fields
from launcher.system import LauncherError
from launching import wait_until


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "{",
            "[]",
            "3",
            "{}",
            '{"parts": 3}',
            '{"parts": [{}]}',
            '{"parts": [{"name": "1", "commands": [["a"]]}]}',
        ),
        *(f'{{"parts": [{{"name": "1", "log": "l", "commands": {commands}}}]}}' for commands in ("3", "[[3]]", "[3]")),
    ],
)
def test_what_is_no_list_of_parts_is_one_line(tmp_path, text):
    (tmp_path / "parts.json").write_text(text)
    with pytest.raises(LauncherError, match=r"no list of parts .*; see parts\.py$"):
        parts.read_parts(str(tmp_path / "parts.json"))


def test_a_word_with_the_jobs_temporary_folder_names_the_parts_own():
    assert parts.in_own_folder("a b", "/tmp/job") == "'a b'"
    assert parts.in_own_folder("--tmp=/tmp/job/x y", "/tmp/job") == "--tmp=\"$TMPDIR\"'/x y'"
    assert parts.in_own_folder("/tmp/job", "/tmp/job") == '"$TMPDIR"'
    assert parts.in_own_folder("", None) == "''"


@pytest.mark.parametrize("job_id", [None, "0" * 16])
def test_outside_of_a_job_there_are_no_parts(tmp_path, monkeypatch, job_id):
    monkeypatch.setenv("GPD_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("GPD_JOB", job_id or "")
    with pytest.raises(LauncherError, match="is no job of the launcher that is at work here"):
        parts.show_spare()


def test_the_words_that_start_the_launcher_survive_a_shell():
    word = "a $b `c` ' \" \\"
    assert subprocess.check_output(["sh", "-c", f"printf %s {quoted(word)}"], text=True) == word


def test_a_part_has_the_ledger_of_its_job():
    environment = {"SLURM_JOB_ID": "1", "SLURMD_NODENAME": "n1"}
    named = own_ledger("/run/ledger.jsonl", environment)
    assert own_ledger(named, environment) == named == "/run/ledger.n1.jsonl"


@pytest.fixture
def journal(tmp_path):
    (tmp_path / "jobs").mkdir()
    return Journal(str(tmp_path), {"id": "a" * 16})


def test_a_job_without_parts_reads_its_journal_no_more_than_it_grows(journal, monkeypatch):
    journal.write({"id": "a"}, "ledger.jsonl")
    own = OwnParts(journal)
    assert own.fields({"shard": None, "gang": None, "id": "a"}) == {}
    assert own.taken_off(2.0, 1.0, 500) == (2.0, 1.0, 500)
    assert not own.took(1)
    assert own.failure() is None
    monkeypatch.setattr("launcher.own_parts.read_text", pytest.fail)
    own.look()


def test_what_parts_used_is_taken_off_once(journal):
    own = OwnParts(journal)
    for line in ("parts 10", "part 11", "used 10 1.0 0.5 1.5 300 8 4 2 1", "over 11", "part 12"):
        journal.say(line)
    journal.say("used 10 2.0 1.0 1.5 400 80 40 20 10")  # so far, of the same starter
    journal.say("used 20 0.25 0.25 0.0 100 1 1 1 1")
    assert own.taken_off(3.0, 2.0, 500) == (0.75, 0.75, 500)
    assert own.taken_off(3.0, 2.0, 400)[2] == 0, "the largest process was a part's, or may have been"
    assert own.taken_off(0.0, 0.0, 0) == (0.0, 0.0, 0)
    assert (own.here_s(), own.moved()) == (1.5, [81, 41, 21, 11])
    assert not own.took(11), "it is over, and its number may be another's"
    assert own.took(12)
    assert own.fields({"shard": None, "gang": None, "id": "a"}) == {"shard": "gather", "gang": "a"}
    assert own.fields({"shard": "1/2", "gang": "b", "id": "a"}) == {"shard": "1/2", "gang": "b"}


def test_what_orphaned_launchers_moved_is_taken_off_as_they_are_reaped(journal, monkeypatch):
    """Their starter was killed before it could tell; what the job reaps of its own between them stays the job's."""
    reaped = [(100, 50, 20, 10), (110, 55, 22, 11), (150, 75, 30, 19), (151, 75, 30, 19), (200, 100, 40, 20)]
    monkeypatch.setattr("launcher.own_parts.reaped_io", iter(reaped).__next__)
    own = OwnParts(journal)
    for line in ("parts 10", "part 11", "part 12"):
        journal.say(line)
    assert [own.took(pid) for pid in (7, 11, 8, 12)] == [False, True, False, True]
    assert own.moved() == [40 + 49, 20 + 25, 8 + 10, 8 + 1]


def test_nothing_is_counted_of_what_was_reaped_before_there_were_parts(journal, monkeypatch):
    monkeypatch.setattr("launcher.own_parts.reaped_io", pytest.fail)
    own = OwnParts(journal)
    assert (own.took(7), own.moved()) == (False, [0, 0, 0, 0])
    journal.say("parts 10")
    assert (own.took(8), own.moved()) == (False, [0, 0, 0, 0])


def test_a_journal_is_read_again_once_it_has_grown(journal, tmp_path, monkeypatch):
    journal.write({"id": "a"}, "one")
    assert [notes["ledger"] for notes in journals.unfinished(str(tmp_path))] == ["one"]
    with monkeypatch.context() as patched:
        patched.setattr(journals, "read_text", pytest.fail)
        assert len(journals.unfinished(str(tmp_path))) == 1
    journal.write({"id": "a"}, "two")
    assert [notes["ledger"] for notes in journals.unfinished(str(tmp_path))] == ["two"]
    journal.close()
    assert journals.unfinished(str(tmp_path)) == []
    assert not [path for path in journals.SEEN if path.startswith(str(tmp_path))]


def test_the_first_failure_tells(journal):
    own = OwnParts(journal)
    journal.say("ended SIGTERM to the launcher")
    journal.say(f"failed {('tool_error', 'shard 1: a' + chr(10) + 'b')!r}")
    journal.say(f"failed {('killed', 'x')!r}")
    own.look()
    assert own.failure() == ("tool_error", "shard 1: a\nb")


def test_a_jobs_processes_are_all_below_it_whatever_they_are_marked_with(journal):
    """A job may start another: of orphans alone the mark decides."""
    journal.say("parts 1")
    command = "GPD_JOB=other sleep 60 & echo $!; wait"
    with subprocess.Popen(["bash", "-c", command], stdout=subprocess.PIPE, text=True) as shell:
        below = int(shell.stdout.readline())
        try:
            found = OwnParts(journal).processes()
        finally:
            os.kill(below, signal.SIGKILL)
    assert found.index(shell.pid) < found.index(below), "parents first"


def test_orphans_of_a_part_are_none_of_the_jobs_processes(tmp_path):
    """They come to the job's supervisor where both launchers of a part are killed."""
    (tmp_path / "jobs").mkdir()
    journal = Journal(str(tmp_path), {"id": "job"})
    journal.say("parts 1")
    marks = ["GPD_JOB=part", "GPD_JOB=job", "OTHER=1"]
    running = [subprocess.Popen(["env", "-i", mark, "sleep", "60"]) for mark in marks]
    try:
        # the command line of env names it, too
        wait_until(lambda: all(Path(f"/proc/{each.pid}/comm").read_text() == "sleep\n" for each in running))
        found = set(OwnParts(journal).processes())
        assert {each.pid for each in running} & found == {running[1].pid, running[2].pid}
        running[0].kill()  # and is not reaped: nothing shows any more whose it was
        wait_until(lambda: stat_fields(running[0].pid)[0] == "Z")
        assert running[0].pid not in OwnParts(journal).processes()
    finally:
        for each in running:
            each.kill()
            each.wait()
