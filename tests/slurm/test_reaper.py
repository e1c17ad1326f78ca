"""Nothing of a daemon outlives it, nor whoever started it: no Slurm is needed for that."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from cluster import REAPER, Daemon
from launching import wait_until

pytestmark = pytest.mark.slurm

DAEMON = ("sh", "-c", "setsid sleep 600 & echo $! >orphan; exec sleep 600")  # slurmd and a slurmstepd


def orphan(folder: Path) -> psutil.Process:
    """What the daemon has started, in a session of its own."""
    wait_until(lambda: (folder / "orphan").exists() and (folder / "orphan").read_text().strip())
    return psutil.Process(int((folder / "orphan").read_text()))


@pytest.mark.parametrize("signum", [None, signal.SIGTERM, signal.SIGKILL])
def test_a_daemon_that_ends_leaves_nothing(tmp_path: Path, signum: signal.Signals | None) -> None:
    daemon = Daemon(DAEMON, os.environ, tmp_path / "log")
    left = orphan(tmp_path)
    daemon.end(signum)
    assert not left.is_running()
    assert not psutil.pid_exists(daemon.pid)


def test_whoever_started_it_is_killed(tmp_path: Path) -> None:
    """As pytest is by a CI that has waited long enough."""
    program = f"import subprocess, sys, time; subprocess.Popen({[sys.executable, str(REAPER), *DAEMON]}, stdin=-1)"
    starter = subprocess.Popen([sys.executable, "-c", f"{program}; time.sleep(600)"], cwd=tmp_path)
    left = orphan(tmp_path)
    starter.kill()
    starter.wait()
    psutil.wait_procs([left], timeout=20)
    assert not left.is_running()
