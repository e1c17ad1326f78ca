"""Measure what the job launcher costs and how exact its figures are, against the bare command.

    python scripts/bench/launcher.py [--jobs 100] [--steps 128 512] [--seconds 1 15 60]
        [--smallest]

Comparisons are paired: the bare command and the launched one alternate, so that a busy machine slows both. CPU time is
held against what the shell of the same run is told of it. Figures are medians. Exits with 1 when one is out of bounds;
`--smallest` only shows that it works. It takes some 20 minutes.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
from benches import measurements
from benches.measurements import Measurement, timed

from gpd.paths import PINNED

sys.path.insert(0, str(PINNED))

import build

PYTHON = [sys.executable, "-S", "-E"]
BASH = ["bash", "-euo", "pipefail", "-c"]
CPUS = len(os.sched_getaffinity(0))
WAITING_JOBS = 8
WINDOWS = 3  # of time in which those that wait are watched
# Spins for a given CPU time, then takes 300 MiB in its last moment.
JOB = """
import sys, time
end = time.process_time() + float(sys.argv[1])
while time.process_time() < end: pass
x = bytearray(int(sys.argv[2]) << 20); x[::4096] = b"x" * len(x[::4096])
"""
# The launcher on a node of as many CPUs as it is told; no job is bound to those that are not there.
ON_A_LARGE_NODE = """
import os, sys
os.sched_getaffinity = lambda pid: set(range({cpus}))
os.sched_setaffinity = lambda pid, cpus: None
sys.path.insert(0, {folder!r})
from launcher.__main__ import cli
cli()
"""


class Bench:
    """A working directory with allocations of its own."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.settings = {"cwd": folder, "env": {**os.environ, "GPD_RUNTIME_DIR": f"{folder}/allocations"}}
        (self.folder / "job.py").write_text(JOB)
        self.launcher = str(build.launcher(PINNED.joinpath, self.folder))  # as the rules run it

    def launched(self, threads: int = 1, name: str = "bench") -> list[str]:
        """The command line of a job; those that run at once have names of their own."""
        fixed = ["--step", "bench", "--rule", "bench", "--wildcards", "sample=a", "--mem-mb", "1000"]
        return [*PYTHON, self.launcher, "run", *fixed, "--threads", str(threads), "--log", f"logs/{name}.log"]

    def run(self, command: list[str], text: str = "") -> tuple[float, float, float]:
        """Wall seconds, CPU seconds, peak MiB of one process."""
        return timed(command, text, **self.settings)

    def record(self) -> dict:
        """The newest job record."""
        return json.loads((self.folder / "ledger.jsonl").read_text().splitlines()[-1])


def overhead(bench: Bench, jobs: int) -> Iterator[Measurement]:
    """Wall and CPU time that a job of `true` costs more when launched."""
    pairs = [(bench.run([*BASH, "true"]), bench.run(bench.launched(), "true")) for _ in range(jobs)]
    for column, what in enumerate(("wall time, ms", "CPU time, ms")):
        more_ms = tuple(1000 * (launched[column] - bare[column]) for bare, launched in pairs)
        yield Measurement(f"overhead a job: {what}", more_ms, most=60, decimals=1)


def executor(bench: Bench, jobs: int, pairs: int) -> Iterator[Measurement]:
    """Wall and CPU time that a job of `touch` costs more by the executor `pinned` than by `local`."""
    folder = bench.folder / "workflow"
    folder.mkdir()
    text = f"rule all:\n    input: expand('{{n}}', n=range({jobs}))\n"
    (folder / "Snakefile").write_text(text + "rule one:\n    output: '{n}'\n    shell: 'touch {output}'\n")
    path = os.pathsep.join([str(PINNED.parent), os.environ.get("PYTHONPATH", "")])
    settings = {"cwd": folder, "env": bench.settings["env"] | {"PYTHONPATH": path}}
    found: dict[str, list[tuple[float, float, float]]] = {"local": [], "pinned": []}
    for _ in range(pairs):
        for name, times in found.items():
            words = [sys.executable, "-m", "snakemake", "--executor", name, "--cores", "1", "--forceall", "--quiet"]
            times.append(timed(words, "", **settings))
    for column, what in enumerate(("wall time, ms", "CPU time, ms")):
        more = [1000 * (one[column] - other[column]) / jobs for other, one in zip(*found.values(), strict=True)]
        yield Measurement(f"executor pinned beside local, a job: {what}", tuple(more), most=60, decimals=1)


def waiting(bench: Bench, seconds: float) -> Measurement:
    """The share of one CPU that launchers use together while they wait for CPUs."""
    settings = {"stdin": subprocess.PIPE, "stderr": subprocess.DEVNULL, **bench.settings}
    jobs = [psutil.Popen(bench.launched(CPUS, str(number)), **settings) for number in range(WAITING_JOBS + 1)]
    for job in jobs:
        job.stdin.write(b"sleep 0.01; until [ -e go ]; do sleep 1; done")
        job.stdin.close()
    time.sleep(3)
    shares = []
    for _ in range(WINDOWS):
        before = own_cpu_s(jobs)
        time.sleep(seconds)
        shares.append((own_cpu_s(jobs) - before) / seconds)
    (bench.folder / "go").touch()
    for job in jobs:
        job.wait()
    return Measurement(f"{WAITING_JOBS} jobs waiting for CPUs: share of a CPU", tuple(shares), most=0.01, decimals=4)


def waiting_steps(bench: Bench, count: int, seconds: float) -> Measurement:
    """The share of one CPU that jobs in parts use together while a part of each sleeps and their others wait.

    The node has CPUs to spare and no memory for another part, so that what is spare has to be summed up of all jobs:
    at each end of another job, of which there is one each second.
    """
    folder = bench.folder / f"steps{count}"
    folder.mkdir()
    program = folder / "large_node.py"
    program.write_text(ON_A_LARGE_NODE.format(cpus=count + 8, folder=str(Path(bench.launcher).parents[1])))
    settings = {"cwd": folder, "env": {**os.environ, "GPD_RUNTIME_DIR": f"{folder}/allocations"}}
    steps = [start_parts(program, str(number), settings) for number in range(count)]
    while len(list(folder.glob("at_work.*"))) < count:
        time.sleep(0.5)
    time.sleep(3)
    starters = [each for step in steps for each in step.children(recursive=True) if "parts" in each.cmdline()]
    job = ["run", "--step", "bench", "--rule", "bench", "--wildcards", "sample=other", "--log", "logs/other.log"]
    shares = []
    for _ in range(WINDOWS):
        before, began = own_cpu_s(starters), time.monotonic()
        while time.monotonic() < began + seconds:
            subprocess.run([*PYTHON, str(program), *job], input=b"sleep 1", check=True, **settings)
        shares.append((own_cpu_s(starters) - before) / (time.monotonic() - began))
    for step in steps:
        step.terminate()
    for step in steps:
        step.wait()
    what = f"{count} steps whose shards wait, a release a second: share of a CPU"
    return Measurement(what, tuple(shares), most=count / 2000, decimals=4)


def start_parts(program: Path, name: str, settings: dict) -> psutil.Popen:
    """Start a job in four parts, each of which sleeps."""
    tool = ["bash", "-c", f"touch at_work.{name}; sleep 3600"]
    parts = [{"name": f"{number}/4", "commands": [tool], "log": f"logs/{name}.{number}.log"} for number in range(1, 5)]
    (settings["cwd"] / f"{name}.json").write_text(json.dumps({"parts": parts}))
    words = ["--step", "bench", "--rule", "bench", "--wildcards", f"sample={name}", "--log", f"logs/{name}.log"]
    command = [*PYTHON, str(program), "run", *words, "--mem-mb", str(10**9)]
    job = psutil.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, **settings)
    job.stdin.write(f'eval "$PINNED_LAUNCH parts {name}.json"'.encode())
    job.stdin.close()
    return job


def own_cpu_s(processes: list[psutil.Process]) -> float:
    """CPU time of processes without their children."""
    times = [process.cpu_times() for process in processes]
    return sum(each.user + each.system for each in times)


def accuracy(bench: Bench, seconds: float) -> Iterator[Measurement]:
    """The launcher's figures over the kernel's, for a process and a pipe; more often for short jobs, which vary.

    CPU time is that of the same run, which the job's own shell asks for: what a job takes differs between runs.
    """
    one = f"{' '.join(PYTHON)} job.py {seconds} 300"
    pipe = " | ".join(f"{' '.join(PYTHON)} job.py {seconds / 3} 100" for _ in range(3))
    ratios: dict[str, list[float]] = {}
    for _ in range(5 if seconds < 5 else 2):
        for what, command, threads in (("one process", one, 1), ("pipe of three", pipe, CPUS)):
            bench.run(bench.launched(threads), f"TIMEFORMAT='%3U %3S'; {{ time {command}; }} 2> times")
            user_s, system_s = map(float, (bench.folder / "times").read_text().split())
            of_one = ratios.setdefault(f"{what}: CPU, to getrusage(2)", [])
            of_one.append(bench.record()["cpu_s"] / (user_s + system_s))
        _, _, peak_mib = bench.run([*BASH, one])
        bench.run(bench.launched(), one)
        peaks = ratios.setdefault("one process: peak memory, to wait4(2)", [])
        peaks.append(bench.record()["peak_rss_mib"] / peak_mib)
    for what, values in ratios.items():
        bound = 0.02 if "CPU" in what else 0.05
        yield Measurement(f"{seconds:g} s, {what}", tuple(values), least=1 - bound, most=1 + bound, decimals=4)


def measure(bench: Bench, jobs: int, steps: list[int], seconds: list[float], wait_s: float) -> Iterator[Measurement]:
    yield from overhead(bench, jobs)
    yield from executor(bench, jobs, 5 if jobs > 2 else 1)
    yield waiting(bench, wait_s)
    for each in steps:
        yield waiting_steps(bench, each, wait_s)
    for each in seconds:
        yield from accuracy(bench, each)


def main() -> int:
    """Print the figures; return 1 when one is out of bounds."""
    parser = measurements.parser(__doc__)
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--seconds", type=float, nargs="*", default=[1, 15, 60])
    parser.add_argument("--steps", type=int, nargs="*", default=[128, 512], help="that wait for spare CPUs")
    arguments = parser.parse_args()
    if arguments.smallest:
        arguments.jobs, arguments.steps, arguments.seconds = 2, [2], [0.2]
    with tempfile.TemporaryDirectory(prefix="gpd-bench-") as folder:
        found = measure(
            Bench(folder), arguments.jobs, arguments.steps, arguments.seconds, 0.5 if arguments.smallest else 5
        )
        holds = measurements.show(found, arguments.smallest)
    return measurements.finish(arguments, holds)


if __name__ == "__main__":
    sys.exit(main())
