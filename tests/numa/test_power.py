"""A virtual machine is powered off whatever happens, and a failure says what it was."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from launching import wait_until
from machine import SMALLEST, Machine, MachineError, missing

pytestmark = [
    pytest.mark.numa,
    pytest.mark.skipif(bool(missing()), reason=f"a virtual machine needs {', '.join(missing())}; see make test-numa"),
]

PATIENCE_S = 120.0


def run(folder: Path, *program: str) -> Path:
    """Run a program in the smallest machine; return the shared folder."""
    with Machine.started(SMALLEST, folder, program) as machine:
        machine.wait(PATIENCE_S)
    return folder


def test_a_program_has_the_hosts_files_and_its_own_folder(tmp_path: Path) -> None:
    mark = tmp_path / "a mark"
    mark.write_text("of the host\n")
    share = run(tmp_path / "a, b", "sh", "-c", 'cat "$0" - >seen </proc/cpuinfo; echo changed >"$0"', str(mark))
    output = (share / "seen").read_text()
    assert output.startswith("of the host\n")
    assert output.count("processor\t") == SMALLEST.cpus
    assert mark.read_text() == "of the host\n"


@pytest.fixture
def qemus() -> Iterator[list[int]]:
    """Ids of QEMU's, none of which is left in the end."""
    found: list[int] = []
    yield found
    assert found
    for pid in found:
        wait_until(lambda pid=pid: is_over(pid))


def is_over(pid: int) -> bool:
    """Tell whether a process has ended, whether or not its parent has asked."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_a_program_that_fails(tmp_path: Path, qemus: list[int]) -> None:
    with Machine.started(SMALLEST, tmp_path / "share", ["sh", "-c", "echo sorry >&2; exit 3"]) as machine:
        qemus.append(machine.pid)
        with pytest.raises(MachineError, match=r"(?s)^the machine's program ended with exit code 3\n.*sorry"):
            machine.wait(PATIENCE_S)


def test_a_program_that_hangs(tmp_path: Path, qemus: list[int]) -> None:
    with Machine.started(SMALLEST, tmp_path / "share", ["sleep", "600"]) as machine:
        qemus.append(machine.pid)
        wait_until(lambda: "the program begins" in machine.output, PATIENCE_S)
        with pytest.raises(MachineError, match=r"(?s)^not over after 0.5 s, and powered off\n.*the program begins"):
            machine.wait(0.5)
        assert is_over(machine.pid)


def test_a_program_that_crashes_the_kernel(tmp_path: Path, qemus: list[int]) -> None:
    crash = ["sh", "-c", "echo c >/proc/sysrq-trigger"]
    with Machine.started(SMALLEST, tmp_path / "share", crash) as machine:
        qemus.append(machine.pid)
        with pytest.raises(MachineError, match=r"(?s)^the machine ended before its program did\n.*Kernel panic"):
            machine.wait(PATIENCE_S)


def test_a_kernel_that_is_none(tmp_path: Path, qemus: list[int]) -> None:
    (tmp_path / "vmlinuz").write_text("no kernel\n" * 1000)
    with Machine.started(SMALLEST, tmp_path / "share", ["true"], tmp_path / "vmlinuz") as machine:
        qemus.append(machine.pid)
        with pytest.raises(MachineError, match=r"(?s)program did\nqemu.* kernel too old"):
            machine.wait(PATIENCE_S)


def test_a_test_that_fails_while_the_machine_runs(tmp_path: Path, qemus: list[int]) -> None:
    with (
        pytest.raises(AssertionError, match="a promise"),
        Machine.started(SMALLEST, tmp_path / "share", ["sleep", "600"]) as machine,
    ):
        qemus.append(machine.pid)
        raise AssertionError("a promise")


def test_whoever_started_it_is_killed(tmp_path: Path, qemus: list[int]) -> None:
    """As pytest is by a CI that has waited long enough."""
    program = (
        "import pathlib, time; from machine import SMALLEST, Machine\n"
        f"with Machine.started(SMALLEST, pathlib.Path({str(tmp_path / 'share')!r}), ['sleep', '600']) as machine:\n"
        "    print(machine.pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=Path(__file__).parent, stdout=subprocess.PIPE, text=True
    ) as starter:
        pid = int(starter.stdout.readline())
        qemus.append(pid)
        wait_until(lambda: "qemu" in psutil.Process(pid).name())
        os.kill(starter.pid, signal.SIGKILL)
