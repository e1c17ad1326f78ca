"""Ask Slurm through its commands: which nodes there are; submit a batch job; which jobs of ours have not ended.

Nothing of it is noted anywhere: what Slurm says now can't be out of date.
"""

import os
import re
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpd.processes import ProcessError, output_of
from gpd.records.host import Host

TIMEOUT_S = 60.0
# states of nodes that take no jobs; one that is POWERED_DOWN is woken for them
NO_JOBS = re.compile(r"\b(?:DOWN|DRAIN\w*|FAIL\w*|FUTURE|UNKNOWN|NOT_RESPONDING)\b|\*")
LONGEST_END_S = 90.0  # of jobs that are cancelled: Slurm gives them its KillWait, 30 s by default
LOOK_S = 1.0
UNKNOWN = (None, "", "(null)", "None")
_PAIR = re.compile(r"(?:^|\s)(\w+)=(\S*)")


@dataclass(frozen=True)
class Job:
    """A batch job of ours that has not ended. `stands`: in Slurm's words, as `PENDING (Resources)` or `RUNNING n1`."""

    number: str
    name: str
    stands: str


@dataclass(frozen=True)
class Node:
    """A node as Slurm tells it: `usable`: it takes jobs; `cpus`: that jobs may have; `host`: for a run's record."""

    name: str
    partitions: tuple[str, ...]
    usable: bool
    cpus: int
    host: Host


def nodes() -> list[Node]:
    """All nodes, in Slurm's order. Raises ProcessError."""
    return [read_node(line) for line in _ask("scontrol", "show", "node", "--oneliner").splitlines() if line.strip()]


def read_node(line: str) -> Node:
    """A node, of the line that `scontrol show node` prints. CPUs that are kept for the system are none of its jobs'."""
    found = dict(_PAIR.findall(line))
    name, partitions = found["NodeName"], tuple(filter(None, found.get("Partitions", "").split(",")))
    sockets, threads = int(found["Sockets"]), int(found["CPUTot"])
    cpus = int(found.get("CPUEfctv", threads))
    host = Host(
        hostname=name,
        node=name,
        partition=", ".join(partitions) or None,
        architecture=None if found.get("Arch") in UNKNOWN else found["Arch"],
        sockets=sockets,
        cores=sockets * int(found["CoresPerSocket"]),
        threads=threads,
        usable_threads=cpus,
        memory_mib=float(found["RealMemory"]),
    )
    return Node(name, partitions, not NO_JOBS.search(found["State"]), cpus, host)


def default_partition() -> str:
    """The partition of jobs that ask for none; empty where there is none. Raises ProcessError."""
    names = _ask("sinfo", "--noheader", "--format=%P").split()
    return next((name.removesuffix("*") for name in names if name.endswith("*")), "")


def submit(name: str, log: Path, command: Sequence[str], *options: str) -> str:
    """Submit a command, which is to have a node for itself, and be run again where it loses it; the job's number.

    Of jobs of one name and user Slurm runs one at a time. `%j` in the name of the log is the job's number. Raises
    ProcessError with sbatch's words.
    """
    # neither a path nor a name is read as a pattern, nor by the shell, in whose place the command runs
    log = log.with_name(log.name.replace("%j", "\0"))
    output = str(log).replace("%", "%%").replace("\0", "%j")
    printed = _ask(
        *("sbatch", "--parsable", "--nodes=1", "--exclusive", "--mem=0", "--requeue", "--open-mode=append"),
        *("--dependency=singleton", f"--job-name={name}", f"--output={output}", *options),
        f"--wrap=exec {shlex.join(command)}",
    )
    return printed.partition(";")[0].strip()


def queue() -> list[Job]:
    """Our jobs that have not ended. Raises ProcessError."""
    lines = _ask("squeue", "--me", "--noheader", "--format=%i|%T %R|%j").splitlines()
    return [Job(number, name, stands) for number, stands, name in (line.split("|", 2) for line in lines)]


def end(mark: str) -> None:
    """End all of our jobs whose names begin with a mark, and wait until they are gone. Raises ProcessError."""
    deadline = time.monotonic() + LONGEST_END_S
    while left := [job.number for job in queue() if job.name.startswith(mark)]:
        if time.monotonic() > deadline:
            raise ProcessError(f"jobs {', '.join(left)} of an earlier run do not end: scancel --full {' '.join(left)}")
        _ask("scancel", "--quiet", *left)  # some may have ended meanwhile
        time.sleep(LOOK_S)


def _ask(command: str, *arguments: str) -> str:
    """What a command of Slurm prints. Raises ProcessError.

    It does not see what the Slurm job that we may be in was granted: sbatch would ask for the same again.
    """
    environment = {key: value for key, value in os.environ.items() if key == "SLURM_CONF" or key[:6] != "SLURM_"}
    return output_of([command, *arguments], TIMEOUT_S, env=environment)
