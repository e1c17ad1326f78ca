"""Measure what the job launcher costs and how exact its figures are, against the bare command.

    python scripts/bench/launcher.py [--jobs 100] [--seconds 1 15 60] [--steps 32] [--smallest]

All comparisons are paired: the bare command and the launched one alternate, so that a busy machine slows
both. Figures are medians. Exits with 1 when one is out of bounds; `--smallest` only shows that it works.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benches import figures
from benches.figures import Figure

SCRIPTS = Path(__file__).resolve().parents[2] / "workflow" / "scripts"
sys.path.insert(0, str(SCRIPTS))

import build_launcher as compiled  # noqa: E402

PYTHON = [sys.executable, "-S", "-E"]
BASH = ["bash", "-euo", "pipefail", "-c"]
# Spins for a given CPU time, then takes 300 MiB in its last moment.
JOB = """
import sys, time
end = time.process_time() + float(sys.argv[1])
while time.process_time() < end: pass
x = bytearray(int(sys.argv[2]) << 20); x[::4096] = b"x" * len(x[::4096])
"""
# The launcher on a node of as many CPUs as it is told; nobody is bound to those that are not there.
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

    def __init__(self, folder):
        self.folder = Path(folder)
        self.environment = {**os.environ, "GPD_RUNTIME_DIR": f"{folder}/allocations"}
        (self.folder / "job.py").write_text(JOB)
        self.launcher = str(compiled.launcher(SCRIPTS.joinpath, self.folder))  # as the rules run it

    def launched(self, threads=1, name="bench"):
        """Return the command line of a job; those that run at once have names of their own."""
        fixed = ["--step", "bench", "--rule", "bench", "--wildcards", "sample=a", "--mem-mb", "1000"]
        return [*PYTHON, self.launcher, "run", *fixed, "--threads", str(threads), "--log", f"logs/{name}.log"]

    def run(self, command, text=""):
        """Run a command; return its wall time and CPU time, s."""
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(command, input=text.encode(), cwd=self.folder, env=self.environment, check=True)
        wall_s, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        return wall_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def record(self):
        """Return the newest record."""
        return json.loads((self.folder / "ledger.jsonl").read_text().splitlines()[-1])

    def time(self, command):
        """Return CPU s and peak MiB from where /usr/bin/time has them, which cuts them to 0.01 s."""
        process = subprocess.Popen(command, cwd=self.folder)
        _, process.returncode, usage = os.wait4(process.pid, 0)
        return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def overhead(bench, jobs):
    """Return wall and CPU time that a job of `true` costs more when launched, ms."""
    pairs = []
    for _ in range(jobs):
        bare = bench.run([*BASH, "true"])
        launched = bench.run(bench.launched(), "true")
        pairs.append([1000 * (b - a) for a, b in zip(bare, launched, strict=True)])
    return [statistics.median(column) for column in zip(*pairs, strict=True)]


def waiters_share(bench, count=8, seconds=5.0):
    """Return the share of one CPU that launchers use together while they wait for an allocation."""
    cpus = len(os.sched_getaffinity(0))
    start = {
        "cwd": bench.folder,
        "env": bench.environment,
        "stdin": subprocess.PIPE,
        "stderr": subprocess.DEVNULL,
    }
    processes = [subprocess.Popen(bench.launched(cpus, name), **start) for name in range(count + 1)]
    for process in processes:
        process.stdin.write(b"sleep 0.01; until [ -e go ]; do sleep 1; done")
        process.stdin.close()
    time.sleep(3)
    before = sum(own_cpu_s(process.pid) for process in processes)
    time.sleep(seconds)
    used = sum(own_cpu_s(process.pid) for process in processes) - before
    (bench.folder / "go").touch()
    for process in processes:
        process.wait()
    return used / seconds


def waiting_steps_share(bench, steps, seconds=10.0):
    """Return the share of one CPU that so many steps use together while a piece of each runs and others wait.

    On a node with a CPU to spare and no memory for another piece: what is spare has to be summed up of all jobs.
    """
    program = bench.folder / "large_node.py"
    program.write_text(ON_A_LARGE_NODE.format(cpus=steps + 1, folder=str(Path(bench.launcher).parents[1])))
    (bench.folder / "stretches.bed").write_text("".join(f"c{n}\t0\t1000\t{n}\t1000\n" for n in range(4)))
    fixed = ["--step", "bench", "--rule", "bench", "--scatter", "4", "--piece-mib", "1", "--over", "job.py"]
    fixed += ["--stretches", "stretches.bed", "--suffix", ".txt", "--mem-mb", str(10**9)]
    processes = []
    for name in range(steps):
        own = ["--wildcards", f"sample={name}", "--log", f"logs/{name}.log", "--piece", f"{name}.out"]
        processes.append(
            subprocess.Popen(
                [*PYTHON, program, "scatter", *fixed, *own, "--outputs", f"{name}.out", "--inputs", "job.py"],
                cwd=bench.folder,
                env={**bench.environment, "GPD_RUNTIME_DIR": f"{bench.folder}/large"},
                stdin=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        )
        processes[-1].stdin.write(f"touch at_work.{name}; sleep 3600\nGATHER\ntrue\nFINISH\ntrue".encode())
        processes[-1].stdin.close()
    while len(list(bench.folder.glob("at_work.*"))) < steps:
        time.sleep(0.5)
    time.sleep(3)
    before = sum(own_cpu_s(process.pid) for process in processes)
    time.sleep(seconds)
    used = sum(own_cpu_s(process.pid) for process in processes) - before
    for process in processes:
        process.terminate()
    for process in processes:
        process.wait()
    return used / seconds


def own_cpu_s(pid):
    """Return the CPU time of one process, without its children, s."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def accuracy(bench, seconds):
    """Yield (what, ratio) of the launcher's figures to the kernel's, for one process and for a pipe."""
    job = f"{' '.join(PYTHON)} job.py {seconds} 300"
    cpu_s, peak_mib = bench.time([*BASH, job])
    bench.run(bench.launched(), job)
    record = bench.record()
    yield f"{seconds:g} s, one process: CPU, to wait4(2)", record["cpu_s"] / cpu_s
    yield f"{seconds:g} s, one process: peak memory, to wait4(2)", record["peak_rss_mib"] / peak_mib
    pipe = " | ".join(f"{' '.join(PYTHON)} job.py {seconds / 3} 100" for _ in range(3))
    cpu_s, _ = bench.time([*BASH, pipe])
    bench.run(bench.launched(len(os.sched_getaffinity(0))), pipe)
    record = bench.record()
    yield f"{seconds:g} s, pipe of three: CPU, to wait4(2)", record["cpu_s"] / cpu_s
    if record["peak_cgroup_mib"] is not None:
        ratio = record["peak_rss_mib"] / record["peak_cgroup_mib"]
        yield (
            f"{seconds:g} s, pipe of three: peak memory, to its cgroup's",
            ratio,
        )


def median_accuracy(bench, seconds):
    """Return (what, median ratio): on a busy machine the CPU time of a short job varies beyond the bound."""
    ratios = {}
    for _ in range(5 if seconds < 5 else 1):
        for what, ratio in accuracy(bench, seconds):
            ratios.setdefault(what, []).append(ratio)
    return [(what, statistics.median(values)) for what, values in ratios.items()]


def main():
    """Print the figures; return 1 when one is out of bounds."""
    parser = figures.parser(__doc__)
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--seconds", type=float, nargs="*", default=[1, 15, 60])
    parser.add_argument("--steps", type=int, default=32, help="that wait for spare CPUs with some of their pieces")
    arguments = parser.parse_args()
    if arguments.smallest:
        arguments.jobs, arguments.seconds, arguments.steps = 2, [0.2], 2
    with tempfile.TemporaryDirectory(prefix="gpd-bench-") as folder:
        holds = figures.show(measured(Bench(folder), arguments), arguments.smallest)
    return figures.finish(arguments, holds)


def measured(bench, arguments):
    """Yield each figure."""
    wall_ms, cpu_ms = overhead(bench, arguments.jobs)
    yield Figure(f"overhead a job, median of {arguments.jobs} pairs: wall time, ms", (wall_ms,), most=60, decimals=1)
    yield Figure(f"overhead a job, median of {arguments.jobs} pairs: CPU time, ms", (cpu_ms,), most=60, decimals=1)
    share = waiters_share(bench, seconds=0.5 if arguments.smallest else 5.0)
    yield Figure("8 jobs waiting for CPUs: share of a CPU", (share,), most=0.01, decimals=4)
    share = waiting_steps_share(bench, arguments.steps, seconds=0.5 if arguments.smallest else 10.0)
    yield Figure(
        f"{arguments.steps} steps with parts that wait for CPUs: share of a CPU", (share,), most=0.02, decimals=4
    )
    for seconds in arguments.seconds:
        for what, ratio in median_accuracy(bench, seconds):
            bound = 0.02 if "CPU" in what else 0.05
            yield Figure(what, (ratio,), least=1 - bound, most=1 + bound, decimals=4)


if __name__ == "__main__":
    sys.exit(main())
