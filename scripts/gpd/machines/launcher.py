"""Ask the workflow's job launcher through its command line; it is never imported."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpd.asking import ask
from gpd.errors import GpdError
from gpd.machines.topology import Core, Layout, Policy
from gpd.paths import ROOT
from gpd.text.cpu_lists import parse_cpus

LAUNCH = ROOT / "workflow" / "scripts" / "launcher" / "__main__.py"


class LauncherError(GpdError):
    """The launcher could not answer; the message is its own."""


@dataclass(frozen=True)
class Limits:
    """What this process may use of the machine: `cpus` at once, memory, files, and processes and threads that may still
    be started; None is a limit that is not set."""

    cpus: int
    cpu_quota_cpus: float | None
    memory_mib: float
    memory_limit_mib: float | None
    memory_available_mib: float
    open_files: int | None = None
    tasks_left: int | None = None


def lay_out(policy: Policy, xml: Path | None = None) -> Layout:
    """Return the cores that may be allocated here, or that an `lstopo --of xml` file describes, with their slots.

    Raises LauncherError where the file describes no core.
    """
    told = _topology(policy, xml)
    return Layout(
        policy,
        tuple(Core(tuple(core["cpus"]), core["l3"], core["numa"], core["socket"]) for core in told["cores"]),
        tuple(parse_cpus(slot) for slot in told["slots"]),
    )


def usable_cores(smt: bool = False) -> int:
    """How many threads may run here at once: each is allocated a core, or with `smt` a hyperthread.

    Raises LauncherError where no core is found.
    """
    return _topology(Policy(threads=1, binding="compact", boundary="l3", smt=smt))["units"]


def limits() -> Limits:
    """What this process may use of the machine: the one place that knows. Raises LauncherError."""
    status, output, complaint = _ask("limits")
    if status:
        raise LauncherError(complaint)
    return Limits(**json.loads(output))


def recover() -> None:
    """Have the jobs recorded whose launchers were killed with them: it is done before any are listed.

    Raises LauncherError.
    """
    jobs()


def _topology(policy: Policy, xml: Path | None = None) -> dict[str, Any]:
    """What the launcher tells of this machine, or of a file's. Raises LauncherError."""
    arguments = [f"--threads={policy.threads}", f"--binding={policy.binding}", f"--boundary={policy.boundary}"]
    arguments += [f"--smt={int(policy.smt)}", *([f"--xml={xml}"] if xml else [])]
    status, output, complaint = _ask("topology", "--json", *arguments)
    if status:
        raise LauncherError(f"{xml}: {complaint}" if xml else complaint)
    told = json.loads(output)
    if not told["cores"]:
        raise LauncherError(f"{xml or 'this machine'}: no cores found; is it the output of lstopo --of xml?")
    return told


@dataclass(frozen=True)
class Job:
    """A job that is not over: its ledger's folder, and since when (s, Unix time) it waits for CPUs, or has them."""

    name: str
    folder: Path
    waits: bool
    since: float


def jobs() -> list[Job]:
    """Return the jobs of all of this user's runs on this machine that are not over. Raises LauncherError."""
    status, output, complaint = _ask("jobs")
    if status:
        raise LauncherError(complaint)
    return [_job(json.loads(line)) for line in output.split("\n") if line]


def _job(told: dict) -> Job:
    name = " ".join([told["rule"], *told["wildcards"].values()])
    return Job(name, Path(told["ledger"]).parent, told["start"] is None, told["since"])


def _ask(*arguments: str) -> tuple[int, str, str]:
    """Return the launcher's exit status, its output, and the last line that it wrote to stderr."""
    answer = ask(LAUNCH, *arguments, python=("-S", "-E"))
    said = answer.complaint.splitlines()
    return answer.status, answer.output, said[-1] if said else f"launcher: exit status {answer.status}"
