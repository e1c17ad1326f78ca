"""What the workflow's job launcher knows of this machine: it is run, never imported."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpd.errors import GpdError
from gpd.machines.topology import Layout, Policy
from gpd.paths import PINNED
from gpd.processes import run_script
from gpd.records.node import SAME, Core
from gpd.text.cpu_lists import parse_cpus

LAUNCHER = PINNED / "launcher" / "__main__.py"


@dataclass(frozen=True)
class Limits:
    """What this process may use of the machine: `cpus` at once, memory, files, and processes and threads that may still
    be started; None: no limit is set."""

    cpus: int
    cpu_quota_cpus: float | None
    memory_mib: float
    memory_limit_mib: float | None
    memory_available_mib: float
    open_files: int | None = None
    tasks_left: int | None = None


@dataclass(frozen=True)
class OpenJob:
    """A job that is not over: its ledger's folder, and since when (s, Unix time) it waits for CPUs, or has them."""

    name: str
    folder: Path
    waits: bool
    since: float


def lay_out(policy: Policy, xml: Path | None = None) -> Layout:
    """The cores that may be allocated here, or that an `lstopo --of xml` file describes, and the CPU sets of jobs.

    Raises GpdError where the file describes no core.
    """
    found = _topology(policy, xml)
    groups = ({level: number for level in SAME if (number := core[level]) >= 0} for core in found["cores"])
    cores = (Core(tuple(core["cpus"]), **own) for core, own in zip(found["cores"], groups, strict=True))
    return Layout(policy, tuple(cores), tuple(map(parse_cpus, found["cpu_sets"])))


def usable_cores(smt: bool = False) -> int:
    """How many threads may run here at once: each is allocated a core, or with `smt` a hyperthread. Raises GpdError."""
    return _topology(Policy(threads=1, binding="compact", boundary="l3", smt=smt))["threads_at_once"]


def limits() -> Limits:
    """What this process may use of the machine. Raises GpdError."""
    return Limits(**json.loads(_launcher("limits")))


def throttling() -> tuple[int | None, float | None]:
    """How often and how long (s) the CPU quota of our control groups has held processes; None: none tells."""
    periods, seconds = json.loads(_launcher("throttling"))
    return periods, seconds


def jobs() -> list[OpenJob]:
    """The jobs of all of this user's runs on this machine that are not over. Raises GpdError.

    Jobs whose launchers were killed with them are recorded first.
    """
    return read_jobs(_launcher("jobs"))


def read_jobs(text: str) -> list[OpenJob]:
    """Read what the launcher prints of jobs: a line of JSON each."""
    found = []
    for job in (json.loads(line) for line in text.split("\n") if line):
        name = " ".join([job["rule"], *job["wildcards"].values()])
        found.append(OpenJob(name, Path(job["ledger"]).parent, job["start"] is None, job["since"]))
    return found


def _topology(policy: Policy, xml: Path | None = None) -> dict[str, Any]:
    arguments = [f"--threads={policy.threads}", f"--binding={policy.binding}", f"--boundary={policy.boundary}"]
    arguments += [f"--smt={int(policy.smt)}", *([f"--xml={xml}"] if xml else [])]
    found = json.loads(_launcher("topology", *arguments, subject=f"{xml}: " if xml else ""))
    if not found["cores"]:
        raise GpdError(f"{xml or 'this machine'}: no cores found; is it the output of lstopo --of xml?")
    return found


def _launcher(*arguments: str, subject: str = "") -> str:
    """What the launcher prints. Raises GpdError with the last line of its stderr."""
    done = run_script(LAUNCHER, *arguments, python=("-S", "-E"))
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"launcher: exit status {done.returncode}"]
        raise GpdError(f"{subject}{lines[-1]}")
    return done.stdout
