"""Runs jobs at one time by an executor of Snakemake, and writes on which CPUs the kernel lets each of them run.

    python jobs_at_once.py JOBS MADE FOLDER OPTION...

All jobs wait in FOLDER until each is there, and has been looked at from outside. MADE is a list of lists of CPUs.
OPTIONs are Snakemake's. It takes the standard library alone, and so begins soon on an emulated machine, too.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

PATIENCE_S = 1800.0  # an emulated machine takes minutes to import Snakemake
SNAKEFILE = """
rule all:
    input: expand("{n}.done", n=range(int(config["jobs"])))

rule waits:
    output: "{n}.done"
    shell: "echo $BASHPID > {wildcards.n}.pid; until [ -e go ]; do sleep 1; done; touch {output}"
"""


def main() -> int:
    """Run and look; return 1 where the jobs never were there at one time."""
    jobs, made, place, *options = sys.argv[1:]
    folder = Path(place)
    folder.mkdir(parents=True)
    (folder / "Snakefile").write_text(SNAKEFILE)
    words = ["--cores", jobs, "--config", f"jobs={jobs}", "--quiet", "all", *options]
    run = subprocess.Popen([sys.executable, "-m", "snakemake", *words], cwd=folder)
    try:
        pids = started(run, folder, int(jobs))
        Path(made).write_text(json.dumps([allowed(pid) for pid in pids]))
    except TimeoutError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        (folder / "go").touch()
        code = run.wait()
    return code


def started(run: subprocess.Popen[bytes], folder: Path, jobs: int) -> list[str]:
    """The shells of all jobs, once each is at work. Raises TimeoutError where that never comes."""
    deadline, pids = time.monotonic() + PATIENCE_S, []
    while time.monotonic() < deadline and run.poll() is None:
        pids = [pid for file in folder.glob("*.pid") if (pid := file.read_text().strip())]
        if len(pids) == jobs:
            return pids
        time.sleep(0.2)
    raise TimeoutError(f"only {len(pids)} of {jobs} jobs were at work at one time")


def allowed(pid: str) -> list[int]:
    """The CPUs that the kernel lets a process run on."""
    lines = Path("/proc", pid, "status").read_text().splitlines()
    (text,) = (line.split()[1] for line in lines if line.startswith("Cpus_allowed_list:"))
    ranges = (part.partition("-") for part in text.split(","))
    return [cpu for first, _, last in ranges for cpu in range(int(first), int(last or first) + 1)]


if __name__ == "__main__":
    sys.exit(main())
