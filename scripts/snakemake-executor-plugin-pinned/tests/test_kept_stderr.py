"""What a job without a log says: all of it reaches who reads, and the end is kept, whatever the reader does."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from folders import PACKAGE, wait_until

TEXT = b"".join(b"line %d of what a tool says\n" % number for number in range(20_000))
PASS_ON = (
    "import sys; from snakemake_executor_plugin_pinned.launcher.kept_stderr import pass_on; pass_on(0, sys.argv[1])"
)


class Reader:
    """A pipe that is full at times, as a slow terminal, in the mode that some programs leave theirs in."""

    def __init__(self, kept: Path) -> None:
        self.kept = kept
        self.end, stderr = os.pipe()
        os.set_blocking(stderr, False)
        words = [sys.executable, "-c", PASS_ON, str(kept)]
        environment = os.environ | {"PYTHONPATH": str(PACKAGE)}
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stderr=stderr, env=environment)
        os.close(stderr)

    def say(self, text: bytes) -> Thread:
        """Say something as the job, and end."""
        speaker = Thread(target=self.process.communicate, args=(text,))
        speaker.start()
        return speaker

    def is_asleep(self) -> bool:
        """Whether it waits, and does not look over and over again."""
        return Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    made = Reader(tmp_path / "kept")
    yield made
    made.process.kill()
    made.process.wait()


def test_a_full_pipe_that_does_not_block_loses_nothing(reader: Reader) -> None:
    speaker = reader.say(TEXT)
    with os.fdopen(reader.end, "rb") as end:
        wait_until(reader.is_asleep)
        assert end.read() == TEXT
    speaker.join(timeout=60)
    assert (reader.process.returncode, reader.kept.read_bytes()) == (0, TEXT)


def test_a_reader_that_is_gone_holds_up_nobody(reader: Reader) -> None:
    os.close(reader.end)
    speaker = reader.say(TEXT)
    speaker.join(timeout=60)
    assert (reader.process.returncode, reader.kept.read_bytes()) == (0, TEXT)


def test_a_reader_that_goes_while_it_is_waited_for_holds_up_nobody(reader: Reader) -> None:
    speaker = reader.say(TEXT)
    wait_until(reader.is_asleep)
    os.close(reader.end)
    speaker.join(timeout=60)
    assert (reader.process.returncode, reader.kept.read_bytes()) == (0, TEXT)


def test_a_reader_that_never_reads_does_not_cost_the_cause(reader: Reader) -> None:
    """As a terminal that is held: when the job is over, its end is kept, though nobody has seen it yet."""
    reader.say(TEXT[: 100 << 10])
    wait_until(lambda: reader.kept.exists() and reader.kept.stat().st_size == 100 << 10)
    assert reader.process.poll() is None
    reader.process.send_signal(signal.SIGKILL)
    os.close(reader.end)
