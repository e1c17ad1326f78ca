"""Ask Slurm through its commands: which nodes there are, and which jobs of ours have not ended.

Nothing of it is noted anywhere: what Slurm says now can't be out of date.
"""

import re
import time
from dataclasses import dataclass

from gpd.processes import ProcessError, output_of
from gpd.records.host import Host
from gpd.text.formats import some

TIMEOUT_S = 60.0
# states of nodes that take no jobs; one that is POWERED_DOWN is woken for them
NO_JOBS = re.compile(r"\b(?:DOWN|DRAIN\w*|FAIL\w*|FUTURE|UNKNOWN|NOT_RESPONDING)\b|\*")
LONGEST_END_S = 90.0  # of jobs that are cancelled: Slurm gives them its KillWait, 30 s by default
LOOK_S = 1.0
MOST_NAMED = 5  # jobs that do not end
UNKNOWN = (None, "", "(null)", "None")
_PAIR = re.compile(r"(?:^|\s)(\w+)=(\S*)")


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


def queue() -> dict[str, str]:
    """Numbers of our jobs that have not ended, with their names. Raises ProcessError."""
    lines = _ask("squeue", "--me", "--noheader", "--format=%i|%j").splitlines()
    return dict(line.split("|", 1) for line in lines)


def end(mark: str) -> None:
    """End all of our jobs whose names begin with a mark, and wait until they are gone. Raises ProcessError."""
    deadline = time.monotonic() + LONGEST_END_S
    asked = set[str]()  # once each: Slurm's controller has a call for each job and each time
    while left := {number: name for number, name in queue().items() if name.startswith(mark)}:
        if time.monotonic() > deadline:
            names = ",".join(sorted(set(left.values())))  # which all jobs of a run share
            raise ProcessError(f"jobs {some(list(left), MOST_NAMED)} do not end: scancel --full --name={names}")
        if new := left.keys() - asked:
            _ask("scancel", "--quiet", *sorted(new))  # some may have ended meanwhile
            asked |= new
        time.sleep(LOOK_S)


def _ask(command: str, *arguments: str) -> str:
    """What a command of Slurm prints. Raises ProcessError."""
    return output_of([command, *arguments], TIMEOUT_S)
