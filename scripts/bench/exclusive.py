"""How many CPUs jobs at one time hold twice, by the executors `pinned` and `shared-local`, counted from outside.

    python scripts/bench/exclusive.py [--runs 3] [--here] [--smallest]

As many jobs as a virtual machine of 2 sockets and 4 NUMA nodes has CPUs (tests/numa) wait there at one time. Of each
one's shell /proc/PID/status says on which CPUs the kernel lets it run; a CPU on which two may run is held twice. Each
job asks for its share of half the memory, by which shared-local chooses NUMA nodes. `--here` takes this machine.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
from benches import jobs_at_once, measurements
from benches.measurements import Measurement

from gpd.paths import PINNED, ROOT

sys.path.insert(0, str(ROOT / "tests" / "numa"))

from machine import Machine, Shape, missing

OTHER = "snakemake-executor-plugin-shared-local==0.1.4"
VIRTUAL = Shape()
TIMEOUT_S = 3600.0  # of a virtual machine


class ExecutorComparison:
    """Runs of one workflow by several executors, on this machine or on a virtual one."""

    def __init__(self, folder: Path, is_here: bool) -> None:
        self.folder, self.is_here = folder, is_here
        self.cpus = len(os.sched_getaffinity(0)) if is_here else VIRTUAL.cpus
        memory_mib = psutil.virtual_memory().total >> 20 if is_here else VIRTUAL.nodes * VIRTUAL.node_mib
        each = ["--default-resources", f"mem_mb={memory_mib // (2 * self.cpus)}"]
        own = ["--shared-local-pool-cores", str(self.cpus), "--shared-local-dir", str(self.work / "together")]
        self.options = {"pinned": [*each, "--pinned-smt", "1"], "shared-local": [*each, *own]}

    @property
    def work(self) -> Path:
        """Where jobs run: on the virtual machine in its memory, for what it shares with us has no locks."""
        return self.folder if self.is_here else Path("/run/exclusive")

    def install(self) -> str:
        """Have the other executor in a folder of its own; return why it cannot be had, "" where it can."""
        words = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(self.folder / "other")]
        done = subprocess.run([*words, OTHER], capture_output=True, text=True, check=False)
        return done.stderr.strip().rpartition("\n")[2] if done.returncode else ""

    def command(self, executor: str, made: Path) -> list[str]:
        """Run the workflow by an executor; what is seen of its jobs goes to a file."""
        paths = [self.folder / "other", PINNED.parent]
        environment = [f"PYTHONPATH={os.pathsep.join(map(str, paths))}", f"GPD_RUNTIME_DIR={self.work / 'runtime'}"]
        program = [sys.executable, jobs_at_once.__file__, str(self.cpus), str(made), str(self.work / executor)]
        return ["env", *environment, *program, "--executor", executor, *self.options[executor]]

    def allowed(self, executor: str, run: int) -> list[list[int]]:
        """For each job of as many as there are CPUs, those that it may run on."""
        share = self.folder / "share" / f"{executor}-{run}"
        if self.is_here:
            share.mkdir(parents=True)
            subprocess.run(self.command(executor, share / "seen.json"), check=True)
        else:
            with Machine.started(VIRTUAL, share, self.command(executor, Path("/share/seen.json"))) as machine:
                machine.wait(TIMEOUT_S)
        found: list[list[int]] = json.loads((share / "seen.json").read_text())
        return found

    def measure(self, runs: int) -> Iterator[Measurement]:
        for executor in self.options:
            held = [Counter(cpu for job in self.allowed(executor, run) for cpu in job) for run in range(runs)]
            twice = tuple(sum(count > 1 for count in each.values()) for each in held)
            most = 0 if executor == "pinned" else None
            which = f"{executor}, {self.cpus} jobs on {self.cpus} CPUs"
            yield Measurement(f"{which}: CPUs held twice", twice, most=most, decimals=0, of_results=True)
            yield Measurement(f"{which}: most jobs on a CPU", tuple(max(each.values()) for each in held), decimals=0)
            unused = tuple(self.cpus - len(each) for each in held)
            yield Measurement(f"{which}: CPUs that no job may use", unused, decimals=0)


def main() -> int:
    """Print the figures; return 1 where `pinned` gave a CPU to two jobs."""
    parser = measurements.parser(__doc__)
    parser.add_argument("--runs", type=int, default=3, help="of each executor, each on a machine of its own")
    parser.add_argument("--here", action="store_true", help="on this machine, not on a virtual one")
    arguments = parser.parse_args()
    is_here = arguments.here or arguments.smallest
    if lacking := [] if is_here else missing():
        print(f"not measured: a virtual machine needs {', '.join(lacking)}: scripts/setup/numa")
        return 0
    with tempfile.TemporaryDirectory(prefix="gpd-bench-") as folder:
        comparison = ExecutorComparison(Path(folder), is_here)
        if why := comparison.install():
            print(f"not measured: pip cannot install {OTHER}: {why}")
            return 0
        holds = measurements.show(comparison.measure(1 if is_here else arguments.runs), arguments.smallest)
    return measurements.finish(arguments, holds)


if __name__ == "__main__":
    sys.exit(main())
