"""CPUs that a gang has are held until none of its members is left."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from launcher import gang
from launching import Node, wait_until


def blocks(pid: int, signum: int) -> bool:
    """Whether a process has a signal wait."""
    status = Path(f"/proc/{pid}/status").read_text()
    (mask,) = (line.split()[1] for line in status.splitlines() if line.startswith("SigBlk"))
    return bool(int(mask, 16) >> (signum - 1) & 1)


def hold(node: Node, gang: str) -> subprocess.Popen[bytes]:
    """One CPU, until the end of stdin and of the gang's members."""
    words = [sys.executable, "-S", "-E", str(node.launch), "hold", "--threads=1", f"--gang={gang}"]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=node.folder, env=node.environment)


@pytest.mark.deep
@pytest.mark.parametrize("first", ["pipe", "signal"])
def test_the_end_of_snakemake_is_told_twice_and_ends_no_hold_before_its_members(node: Node, first: str) -> None:
    """By the end of the pipe, and by a signal, in either order."""
    holder = hold(node, "services")
    cpus = holder.stdout.readline().decode().strip()
    command = "touch began; until [ -e go ]; do sleep 0.05; done"
    member = node.start(command, "--gang=services", f"--cpus={cpus}", name="member")
    wait_until((node.folder / "began").exists)
    told = [holder.stdin.close, holder.terminate]
    for tell in told if first == "pipe" else reversed(told):
        tell()
        wait_until(lambda: blocks(holder.pid, signal.SIGTERM))
    with pytest.raises(subprocess.TimeoutExpired):
        holder.wait(timeout=0.5)
    assert node.allocated() == {int(cpus)}
    (node.folder / "go").touch()
    assert member.wait(timeout=30) == 0
    assert holder.wait(timeout=30) == (0 if first == "pipe" else 143)
    assert node.allocated() == set()


@pytest.mark.deep
@pytest.mark.parametrize("other", ["--gang=a", "--gang=z", "--threads=1"])
def test_a_hold_waits_for_no_job_but_its_own_members(node: Node, other: str) -> None:
    beside = node.start("touch began; until [ -e go ]; do sleep 0.05; done", other, name="beside")
    wait_until((node.folder / "began").exists)
    holder = hold(node, "services")
    holder.communicate(timeout=10)
    assert holder.returncode == 0
    assert beside.poll() is None
    (node.folder / "go").touch()
    assert beside.wait(timeout=30) == 0


@pytest.mark.deep
@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_hold_that_is_ended_while_it_waits_says_by_what(node: Node, signum: int) -> None:
    cpus = os.sched_getaffinity(0)
    beside = node.start("until [ -e go ]; do sleep 0.05; done", threads=len(cpus), name="beside")
    wait_until(lambda: node.allocated() == cpus and not node.queued())
    holder = hold(node, "services")
    wait_until(lambda: node.queued() == 1)
    holder.send_signal(signum)
    printed, _ = holder.communicate(timeout=30)
    assert (holder.returncode, printed) == (128 + signum, b"")
    assert node.allocated() == cpus
    (node.folder / "go").touch()
    assert beside.wait(timeout=30) == 0


@pytest.mark.deep
def test_what_comes_on_stdin_ends_no_hold(node: Node) -> None:
    holder = hold(node, "services")
    cpu = int(holder.stdout.readline())
    for _ in range(2):
        holder.stdin.write(b"a line\n")
        holder.stdin.flush()
    with pytest.raises(subprocess.TimeoutExpired):
        holder.wait(timeout=0.5)
    assert node.allocated() == {cpu}
    holder.communicate(timeout=30)
    assert holder.returncode == 0


def test_a_member_that_cannot_be_ended_is_waited_for_no_longer_than_that_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=1000.0)

    def sleep(seconds: float) -> None:
        clock.now += seconds

    monkeypatch.setattr(gang, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep))
    monkeypatch.setattr(gang, "recover", lambda runtime: None)
    monkeypatch.setattr(gang, "unfinished", lambda runtime: [{"record": {"gang": "services"}}])
    gang.await_members("runtime", "services")
    assert 0 <= clock.now - 1000.0 - gang.PATIENCE_S < 2 * gang.LOOK_S
