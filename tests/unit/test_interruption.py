"""Signals to gpd: the first lets what runs tidy up, a second one kills it."""

import os
import signal
import threading
import time

import pytest

from gpd.errors import Interrupted
from gpd.execution import interruption, workflow

# as Snakemake does: SIGTERM starts nothing more, and SIGINT would keep it from tidying up; a child is a job's shell
TIDY = """
trap 'echo untidy >> output' INT
trap 'going=' TERM
going=yes
while [ $going ]; do bash -c 'trap "echo job >> output; exit 1" INT; echo > started; while :; do sleep 0.02; done'; done
echo tidy >> output
"""
# as Snakemake does with jobs on a cluster: SIGTERM has it wait for them, SIGINT end them by a command
CANCEL = """
trap 'sleep 1 && echo cancelled >> output; exit 1' INT
echo > started
while :; do sleep 0.02; done
"""
DEAF = "trap '' INT TERM; echo > started; for i in $(seq 600); do sleep 0.05; done"


def signals(folder, *when_s):
    """Send ourselves SIGINT when the script has started, and so many seconds after that again."""

    def send():
        while not (folder / "started").exists():
            time.sleep(0.01)
        for wait_s in when_s:
            time.sleep(wait_s)
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=send, daemon=True).start()


def run(folder, script, monkeypatch, elsewhere=False):
    monkeypatch.chdir(folder)
    with interruption.catching():
        workflow.run(["bash", "-c", script], folder / "log", lambda state: None, elsewhere=elsewhere)


def test_the_first_signal_lets_it_tidy_up(tmp_path, monkeypatch):
    signals(tmp_path, 0.1)
    with pytest.raises(Interrupted) as caught:
        run(tmp_path, TIDY, monkeypatch)
    assert caught.value.exit_code == 130
    assert (tmp_path / "output").read_text().split() == ["job", "tidy"]


@pytest.mark.deep
def test_jobs_elsewhere_are_ended_by_snakemake_which_is_asked_once(tmp_path, monkeypatch):
    signals(tmp_path, 0.1)
    with pytest.raises(Interrupted):
        run(tmp_path, CANCEL, monkeypatch, elsewhere=True)
    assert (tmp_path / "output").read_text().split() == ["cancelled"]


@pytest.mark.deep
def test_the_second_one_kills(tmp_path, monkeypatch):
    signals(tmp_path, 0.1, 0.3)
    began = time.monotonic()
    with pytest.raises(Interrupted):
        run(tmp_path, DEAF, monkeypatch)
    assert time.monotonic() - began < 10


def test_nothing_is_started_after_it(tmp_path, monkeypatch):
    signals(tmp_path, 0.1)
    with interruption.catching():
        monkeypatch.chdir(tmp_path)
        with pytest.raises(Interrupted):
            workflow.run(["bash", "-c", TIDY], tmp_path / "log", lambda state: None)
        with pytest.raises(Interrupted):
            workflow.run(["touch", "late"], tmp_path / "log", lambda state: None)
    assert not (tmp_path / "late").exists()


def test_where_nothing_runs_it_ends_at_once_and_handlers_are_put_back(tmp_path):
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted) as caught, interruption.catching():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
    assert caught.value.exit_code == 143
    assert signal.getsignal(signal.SIGINT) is before


def test_it_says_what_was_at_work_and_how_to_go_on():
    output = str(Interrupted(signal.SIGINT, ["haplotype_caller S1"], "go on"))
    assert output.splitlines() == ["ended by SIGINT while at work: haplotype_caller S1", "go on"]
