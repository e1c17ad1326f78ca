"""What a job says on stderr where it has no log: all of it is passed on, and the end of it is kept."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from launcher import kept_stderr
from launcher.kept_stderr import KEPT_BYTES, MOST_WAITING, keep_end, keep_stderr, write_some
from launching import wait_until

PIPE = 1 << 16  # what a pipe holds
BEGIN = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(kept_stderr.__file__).parents[1])!r})
from launcher.kept_stderr import keep_stderr
fd = keep_stderr("kept")
def say(data):
    while data:
        data = data[os.write(fd, data):]
"""
SAID = b"".join(b"line %d\n" % number for number in range(300_000))


@pytest.fixture
def job(tmp_path):
    """Runs what says something; its stderr ends when all is passed on."""

    def run(script, **kwargs):
        return subprocess.Popen([sys.executable, "-c", BEGIN + script], cwd=tmp_path, **kwargs)

    return run


def kept(tmp_path):
    """What was kept; no file yet, or an empty one, is none."""
    path = tmp_path / "kept"
    return path.read_bytes() if path.exists() else b""


def test_all_is_passed_on_and_the_end_is_kept(job, tmp_path):
    output = "say(b''.join(b'line %d\\n' % number for number in range(300_000)))"
    with job(output, stderr=subprocess.PIPE) as process:
        assert process.stderr.read() == SAID
    assert len(SAID) > 3 * KEPT_BYTES
    assert KEPT_BYTES <= len(kept(tmp_path)) <= 2 * KEPT_BYTES
    assert SAID.endswith(kept(tmp_path))


def test_the_beginning_goes_now_and_then_not_at_each_byte():
    """A cut copies all that is kept."""
    twice = SAID[: 2 * KEPT_BYTES]
    assert keep_end(twice) is twice
    assert keep_end(twice + b"x") == (twice + b"x")[-KEPT_BYTES:]


def test_what_is_little_is_kept_whole(job, tmp_path):
    with job("say(b'a'); say(b'b'); os.close(fd)", stderr=subprocess.PIPE) as process:
        assert process.stderr.read() == b"ab"
    assert kept(tmp_path) == b"ab"


def test_a_terminal_that_is_gone_holds_nothing_up(job, tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    with job(f"say(b'x' * {8 * PIPE}); say(b'the cause')", stderr=writing) as process:
        os.close(writing)
    assert process.returncode == 0
    assert wait_until(lambda: kept(tmp_path) == b"x" * 8 * PIPE + b"the cause")  # it is kept as it comes


def test_a_terminal_that_is_held_costs_no_cause(job, tmp_path):
    with job(f"say(b'x' * {PIPE}); say(b'the cause')", stderr=subprocess.PIPE) as process:
        output = b"x" * PIPE + b"the cause"
        assert wait_until(lambda: kept(tmp_path) == output)
        assert process.stderr.read() == output


@pytest.mark.deep
def test_a_job_waits_where_nobody_reads_as_it_would_without_us(job):
    """It may be ahead by what is kept to be passed on and by the pipes before and after, not by what memory holds."""
    count = """
import select
os.set_blocking(fd, False)
poll, written = select.poll(), 0
poll.register(fd, select.POLLOUT)
while poll.poll(500) and written < 1 << 22:
    written += os.write(fd, bytes(4096))
print(written)
"""
    with job(count, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        written = int(process.stdout.readline())
        assert MOST_WAITING + 2 * PIPE <= written < MOST_WAITING + 4 * PIPE
        assert process.stderr.read() == bytes(written)


def test_the_last_words_come_after_the_signal(job, tmp_path):
    """All processes of a group get it, that one, too."""
    last = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
say(b'began. ')
sys.stdin.read()
say(b'out of memory')
"""
    with job(last, stdin=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
        assert process.stderr.read(7) == b"began. "
        for signum in (signal.SIGTERM, signal.SIGINT):
            os.killpg(process.pid, signum)
        process.stdin.close()
        assert process.stderr.read() == b"out of memory"
    assert kept(tmp_path) == b"began. out of memory"


def test_none_is_left_when_the_job_is_over(tmp_path):
    """The descriptor is the job's alone: the process ends with the last that has it."""
    writing = keep_stderr(tmp_path / "kept")
    os.close(writing)
    assert os.WEXITSTATUS(os.wait()[1]) == 0
    assert (tmp_path / "kept").exists()


@pytest.mark.parametrize(("error", "left"), [(BlockingIOError, (b"said", True)), (BrokenPipeError, (b"", False))])
def test_a_full_terminal_is_waited_for_and_one_that_is_gone_is_not(monkeypatch, error, left):
    def write(descriptor, data):
        raise error

    monkeypatch.setattr(os, "write", write)
    assert write_some(b"said") == left
