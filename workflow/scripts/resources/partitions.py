"""What Slurm's partitions can hold, from `scontrol show node` and `scontrol show partition`.

The workflow loads this file by its path.
"""

import math
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

MINUTES = (1440, 60, 1, 1 / 60)  # of a day, an hour, a minute, a second
ANSWER_S = 60  # how long a busy slurmctld may take


@dataclass(frozen=True)
class Partition:
    """A partition: what each of its nodes gives to jobs (CPUs, MB), and after how many minutes it ends them."""

    name: str
    is_default: bool
    minutes: float
    nodes: tuple[tuple[int, int], ...]

    def most_mb(self, cpus: int) -> int:
        """The memory of its largest node that has so many CPUs; 0 where none has."""
        return max((has_mb for has_cpus, has_mb in self.nodes if cpus <= has_cpus), default=0)


def look() -> dict[str, Partition]:
    """The cluster's partitions by name; none where there is no Slurm, or it does not answer."""
    if not shutil.which("scontrol"):
        return {}
    try:
        return read(*(_described(kind) for kind in ("node", "partition")))
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return {}  # the executor plugin says why: it asks next


def _described(kind: str) -> str:
    command = ["scontrol", "--oneliner", "--all", "show", kind]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=ANSWER_S).stdout


def read(nodes: str, partitions: str) -> dict[str, Partition]:
    """The partitions that have nodes, of what scontrol says of both, a line each."""
    found: dict[str, set[tuple[int, int]]] = {}
    for node in _records(nodes):
        cpus = int(node.get("CPUEfctv") or node["CPUTot"])  # without those that a node keeps for itself
        mem_mb = int(node["RealMemory"]) - int(node.get("MemSpecLimit", 0))
        for name in node.get("Partitions", "").split(","):
            found.setdefault(name, set()).add((cpus, mem_mb))
    return {
        partition["PartitionName"]: Partition(
            partition["PartitionName"],
            partition.get("Default") == "YES",
            _minutes(partition.get("MaxTime", "UNLIMITED")),
            tuple(sorted(_limited(has, partition) for has in found[partition["PartitionName"]])),
        )
        for partition in _records(partitions)
        if partition["PartitionName"] in found
    }


def _records(text: str) -> list[dict[str, str]]:
    return [dict(re.findall(r"(\w+)=(\S*)", line)) for line in text.splitlines() if line.strip()]


def _limited(has: tuple[int, int], partition: Mapping[str, str]) -> tuple[int, int]:
    """What a node has, or less where the partition gives no job so much of one."""
    limits = (partition.get(name, "") for name in ("MaxCPUsPerNode", "MaxMemPerNode"))
    cpus, mem_mb = (
        min(most, int(limit)) if limit.isdecimal() else most for most, limit in zip(has, limits, strict=True)
    )
    return cpus, mem_mb


def _minutes(time: str) -> float:
    """Minutes of a time as Slurm prints it, DAYS-HOURS:MINUTES:SECONDS."""
    parts = [int(part) for part in re.split("[-:]", time)] if time[:1].isdecimal() else []
    return (
        sum(part * unit for part, unit in zip(reversed(parts), reversed(MINUTES), strict=False))
        if parts
        else float("inf")
    )


@dataclass(frozen=True)
class Asked:
    """What jobs of a rule ask for; of several partitions Slurm takes one.

    `divides`: the key of the configuration that makes them more and smaller.
    """

    rule: str
    cpus: int
    mem_mb: int
    minutes: int
    partitions: str
    divides: str = ""


def grouped(
    jobs: Iterable[Asked], groups: Mapping[str, str], components: Mapping[str, int], cores: float
) -> list[Asked]:
    """Groups as the jobs that Snakemake makes of them: the most that one of its jobs asks for, and the time of all.

    `groups`: a group by rule; `components`: of how many samples a group is, where that is said. Of those Snakemake
    takes as many to run side by side as have room on `cores`, and asks for the CPUs and memory of all these.
    """
    together: dict[str, list[Asked]] = {}
    for job in jobs:
        count = components.get(groups[job.rule], 1)
        beside = max(1, int(min(count, cores // job.cpus)))
        of_all = Asked(
            job.rule, job.cpus * beside, job.mem_mb * beside, job.minutes * math.ceil(count / beside), job.partitions
        )
        together.setdefault(groups[job.rule], []).append(of_all)
    return [
        Asked(
            f"group {group} ({', '.join(job.rule for job in members)})",
            max(job.cpus for job in members),
            max(job.mem_mb for job in members),
            sum(job.minutes for job in members),
            members[0].partitions,
        )
        for group, members in together.items()
    ]


def chosen(asked: str, partitions: Mapping[str, Partition]) -> list[Partition]:
    """The partitions that a job names, separated by commas, else the cluster's own."""
    names = [name for name in asked.split(",") if name]
    return [each for each in partitions.values() if (each.name in names if names else each.is_default)]


def refusals(rules: Iterable[Asked], partitions: Mapping[str, Partition]) -> list[str]:
    """A line for each rule that no node of its partitions can hold, and for each partition that is not there."""
    rules = list(rules)
    named = {name for rule in rules for name in rule.partitions.split(",") if name}
    lines = [
        f"slurm_partition {name}: no such partition with nodes (there are: {', '.join(sorted(partitions))})"
        for name in sorted(named - set(partitions))
    ]
    return lines + [line for rule in rules for line in _refusal(rule, chosen(rule.partitions, partitions))]


def _refusal(rule: Asked, partitions: list[Partition]) -> list[str]:
    if not partitions:
        return []  # refused by name, or for Slurm to choose
    names = ", ".join(partition.name for partition in partitions)
    roomy = [partition for partition in partitions if max(1, rule.mem_mb) <= partition.most_mb(rule.cpus)]
    if not roomy:
        cpus, mem_mb = max(node for partition in partitions for node in partition.nodes)
        return [
            f"{rule.rule} asks for {rule.cpus} CPUs and {rule.mem_mb} MB, which no node of partition {names} has (its "
            f"largest: {cpus} CPUs, {mem_mb} MB): give --cores, or set-threads and mem_mb of {rule.rule}, or another "
            "slurm_partition"
        ]
    most = max(partition.minutes for partition in roomy)
    if rule.minutes <= most:
        return []
    larger = f"a larger {rule.divides}" if rule.divides else "set-threads"
    return [
        f"{rule.rule} asks for {rule.minutes} minutes, and partition {names} ends jobs after {most:.0f}: give "
        f"{larger} or runtime of {rule.rule}, or another slurm_partition"
    ]
