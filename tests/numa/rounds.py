"""In the guest: jobs that are on the machine at the same time, and what is seen of them from outside the launcher.

Standard library alone, and only what it needs: to import costs seconds there.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path

from launcher.cpu_allocation import is_allocated
from launcher.processes import descendants
from launcher.topology import parse_cpus

HERE = Path(__file__).parent
GROUPS = Path("/sys/fs/cgroup")
CPUS = Path("/sys/devices/system/cpu")
PATIENCE_S = 600.0  # two real CPUs emulate sixteen, and may have much else to do


class Guest:
    """Where jobs are started: a folder, a runtime folder, and an environment in which nobody asks hwloc."""

    def __init__(self, launch: Path, work: Path) -> None:
        self.launch, self.work = launch, work
        self.python = [sys.executable, "-S", "-E"]
        for name in ("bin", "ready"):
            (work / name).mkdir(parents=True)
        for folder in os.environ["PATH"].split(os.pathsep):
            if os.access(f"{folder}/bash", os.X_OK) and not (work / "bin/bash").exists():
                (work / "bin/bash").symlink_to(f"{folder}/bash")
        self.environment = {
            "PATH": str(work / "bin"),
            "GPD_RUNTIME_DIR": str(work / "runtime"),
        }

    def ask(self, *words: str, group: Path | None = None) -> dict:
        """What the launcher tells, in JSON."""
        command = [*self.python, str(self.launch), *words]
        return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, **self.within(group)).stdout)

    def within(self, group: Path | None) -> dict:
        """How a process is started: with our environment, in our folder, and in a control group."""
        return {"env": self.environment, "cwd": self.work, "preexec_fn": group and (lambda: join(group))}

    def allocated(self) -> list[int]:
        """The CPUs whose locks are held."""
        with (self.work / "runtime/cpus").open("rb") as file:
            cpus = range(os.sysconf("SC_NPROCESSORS_CONF"))  # those that are offline, too
            return [cpu for cpu in cpus if is_allocated(file.fileno(), cpu)]

    def waits(self) -> bool:
        """Tell whether a launcher waits for CPUs."""
        return any(path.name.isdigit() for path in (self.work / "runtime/queue").glob("*/*"))

    def left(self) -> dict[str, list]:
        """What the jobs have left behind: allocations and journals."""
        journals = [path.name for path in (self.work / "runtime/jobs").iterdir()]
        return {"allocations": self.allocated(), "journals": journals}


class Job:
    """A job, from its launcher's start; `pid`: its process that holds memory, once it does."""

    def __init__(self, name: str, wrapper: subprocess.Popen) -> None:
        self.name, self.wrapper, self.pid = name, wrapper, None
        self.seen: dict = {}

    def kill(self) -> None:
        """Kill the launcher, its supervisor and all of the job at once, with -9."""
        for pid in (self.wrapper.pid, *descendants(self.wrapper.pid)):
            with suppress(ProcessLookupError):  # a launcher that is killed takes its job with it
                os.kill(pid, signal.SIGKILL)


class Round:
    """Jobs each of which keeps its memory until the block ends; then the launchers are waited for."""

    def __init__(self, guest: Guest, name: str) -> None:
        self.guest, self.name, self.jobs = guest, name, []
        self.hold = guest.work / f"hold-{name}"

    def __enter__(self) -> Round:
        self.lock = os.open(self.hold, os.O_RDWR | os.O_CREAT)
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.lock)
        for job in self.jobs:
            try:
                job.wrapper.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                job.kill()
                raise

    def start(self, threads: int, *options: str, mib: int = 8, command: str = "", group: Path | None = None) -> Job:
        """Start a job that takes some memory, or runs another command."""
        guest, name = self.guest, f"{self.name}{len(self.jobs)}"
        words = ["--step", "step", "--rule", "rule", "--wildcards", f"sample={name}", f"--threads={threads}"]
        words += ["--mem-mb=100", f"--log=logs/{name}.log", "--run=numa", *options]
        hold = [*guest.python, HERE / "holder.py", self.ready(name), self.hold, mib]
        with (guest.work / f"{name}.output").open("wb") as output:
            started = {"stdin": subprocess.PIPE, "stdout": output, "stderr": output, **guest.within(group)}
            wrapper = subprocess.Popen([*guest.python, str(guest.launch), "run", *words], **started)
        wrapper.stdin.write((command or f"exec {shlex.join(map(str, hold))}").encode())
        wrapper.stdin.close()
        self.jobs.append(Job(name, wrapper))
        return self.jobs[-1]

    def ready(self, name: str) -> Path:
        return self.guest.work / "ready" / name

    def at_work(self, *jobs: Job) -> None:
        """Wait until jobs hold their memory, all of the round if none is named; look at them from outside."""
        for job in jobs or self.jobs:
            wait_until(lambda job=job: self.is_ready(job))
            job.seen = look(job.pid)

    def require(self, job: Job) -> None:
        """Raise RuntimeError where a job that should be at work has ended."""
        if job.wrapper.poll() is not None:
            output = (self.guest.work / f"{job.name}.output").read_text()
            raise RuntimeError(f"{job.name} ended with {job.wrapper.returncode}: {output}")

    def is_ready(self, job: Job) -> bool:
        self.require(job)
        if self.ready(job.name).exists():
            job.pid = int(self.ready(job.name).read_text())
        return job.pid is not None

    def told(self) -> dict:
        """What was seen of the jobs that were looked at."""
        return {"jobs": {job.name: job.seen for job in self.jobs if job.seen}}


def look(pid: int) -> dict:
    """Where a process may run, and where its own memory is: by the kernel alone."""
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    areas = [area for area in memory_areas(pid) if "anon" in area]
    largest = max(areas, key=lambda area: int(area["anon"]))
    return {
        "cpus": status["Cpus_allowed_list"],
        "policy": largest["policy"],
        "pages": pages_by_node(areas),
    }


def memory_areas(pid: int | str) -> Iterator[dict[str, str]]:
    """The rows of /proc/PID/numa_maps: policy, name=value."""
    for line in Path(f"/proc/{pid}/numa_maps").read_text().splitlines():
        words = line.split()[1:]
        policy = takewhile(lambda word: "=" not in word and word not in ("heap", "stack"), words)
        yield {"policy": " ".join(policy)} | dict(word.split("=", 1) for word in words if "=" in word)


def pages_by_node(areas: Sequence[dict[str, str]]) -> dict[int, int]:
    """How many pages of some areas lie on each NUMA node."""
    found: dict[int, int] = {}
    for area in areas:
        for name, value in area.items():
            if name[0] == "N" and name[1:].isdigit():
                found[int(name[1:])] = found.get(int(name[1:]), 0) + int(value)
    return found


def wait_until(condition: Callable[[], object], timeout_s: float = PATIENCE_S) -> float:
    """Wait until a condition holds; return how long that took."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > timeout_s:
            raise TimeoutError(f"did not happen within {timeout_s:g} s")
        time.sleep(0.05)
    return time.monotonic() - began


def make_group(name: str, **settings: str) -> Path:
    """A control group with settings, their dots written as two underscores."""
    group = GROUPS / name
    group.mkdir()
    for setting, value in settings.items():
        (group / setting.replace("__", ".")).write_text(value)
    return group


def join(group: Path) -> None:
    (group / "cgroup.procs").write_text("0")


@contextmanager
def offline(*cpus: int) -> Iterator[None]:
    """Take CPUs from the machine, and give them back."""
    try:
        for cpu in cpus:
            (CPUS / f"cpu{cpu}/online").write_text("0")
        yield
    finally:
        for cpu in cpus:
            (CPUS / f"cpu{cpu}/online").write_text("1")


def free_mib() -> dict[int, int]:
    """How much memory of each NUMA node nobody has."""
    found = {}
    for node in sorted(parse_cpus(Path("/sys/devices/system/node/online").read_text())):
        lines = Path(f"/sys/devices/system/node/node{node}/meminfo").read_text().splitlines()
        found[node] = next(int(line.split()[3]) // 1024 for line in lines if "MemFree" in line)
    return found
