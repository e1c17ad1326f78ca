"""What the launcher's tests share: ways to start jobs on allocations of their own, and to look at them."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PINNED = ROOT / "scripts/snakemake-executor-plugin-pinned/snakemake_executor_plugin_pinned"
LAUNCH = PINNED / "launcher" / "__main__.py"
TOPOLOGIES = ROOT / "resources" / "topologies"
SCHEMA = PINNED / "ledger.schema.json"
HANGS_S = 900.0  # after which a process is taken to hang, also on a machine with much else to do
sys.path.insert(0, str(LAUNCH.parents[1]))

from launcher.cpu_allocation import is_allocated  # noqa: E402
from launcher.system import read_text  # noqa: E402

from gpd.records import ledger_check  # noqa: E402
from gpd.records.ledger import read_records  # noqa: E402


class Node:
    """A working directory and a runtime folder of its own, in which jobs are run."""

    def __init__(self, folder):
        self.folder = folder
        self.runtime = folder / "runtime"
        self.ledger = folder / "ledger.jsonl"
        self.launch = LAUNCH
        self.environment = {**os.environ, "GPD_RUNTIME_DIR": str(self.runtime)}
        self.environment.pop("GPD_JOB", None)

    def command_line(self, *options, name="a", threads=1):
        """Return the command line of a job."""
        fixed = ["--step", "step", "--rule", "rule", "--wildcards", f"sample={name}"]
        fixed += ["--threads", str(threads), "--mem-mb", "100", "--log", f"logs/{name}.log"]
        return [sys.executable, "-S", "-E", str(self.launch), "run", *fixed, *map(str, options)]

    def start(self, command, *options, **settings):
        """Start a job and return its wrapper."""
        process = subprocess.Popen(
            self.command_line(*options, **settings),
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            env=self.environment,
        )
        process.stdin.write(command.encode())
        process.stdin.close()
        process.stdin = None  # so that communicate() leaves it alone
        return process

    def run(self, command, *options, **settings):
        """Run a job to its end; return its exit code, what it said on stderr, and its record."""
        process = self.start(command, *options, **settings)
        _, output = process.communicate(timeout=60)
        return process.returncode, output.decode(), self.records()[-1]

    def records(self):
        """Return the ledger's records, those of other nodes among them."""
        return [json.loads(line) for line, _ in read_records(self.ledger)]

    def allocated(self):
        """Return the CPUs whose locks are held."""
        path = self.runtime / "cpus"
        if not path.exists():
            return set()
        with path.open("rb") as file:
            return {cpu for cpu in os.sched_getaffinity(0) if is_allocated(file.fileno(), cpu)}

    def queued(self):
        """Return how many launchers stand in the queue, those that are being served among them."""
        return sum(path.name.isdigit() for path in (self.runtime / "queue").rglob("*"))

    def check(self):
        """Return what is wrong with the ledger, once the jobs whose launchers were killed are recorded in it."""
        recovering = [sys.executable, "-S", "-E", LAUNCH, "jobs"]
        subprocess.run(recovering, env=self.environment, check=True, stdout=subprocess.DEVNULL, timeout=60)
        return ledger_check.check(self.ledger).problems


def processes_of(job_id):
    """Return the processes of a job, by the mark in their environment."""
    mark = f"GPD_JOB={job_id}\0"
    return [path.name for path in Path("/proc").glob("[0-9]*") if mark in read_text(f"{path}/environ")]


def wait_until(condition, timeout_s=50.0):
    """Wait until a condition holds; return its value, or fail, sooner than a job ends that sleeps for 60 s."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    raise AssertionError(f"did not happen within {timeout_s:g} s: {condition}")
