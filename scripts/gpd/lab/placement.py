"""Where Slurm places the jobs of a run: on so many nodes of a partition, by leaving out the others.

The partition is that of the profile, or Slurm's default. Snakemake's plugin has an option for nodes that no job is to
be on; it was made for those that failed.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpd.cluster import slurm
from gpd.cluster.slurm import Node
from gpd.lab.study import StudyError


@dataclass(frozen=True)
class Placement:
    """The nodes of a profile's partition, those that take jobs first."""

    profile: Mapping[str, Any]
    nodes: tuple[Node, ...]

    @property
    def cores(self) -> int:
        """Those of a node."""
        return self.nodes[0].cpus

    def chosen(self, count: int) -> tuple[Node, ...]:
        return self.nodes[:count]

    def confined(self, count: int, folder: Path) -> dict[str, Any]:
        """The profile for a folder's run: its jobs are on the first `count` nodes, and can be told by their names."""
        others = ",".join(node.name for node in self.nodes[count:])
        left_out = {"slurm-exclude-failed-nodes": others} if others else {}
        return {**self.profile, **left_out, "slurm-jobname-prefix": mark(folder)}


def mark(folder: Path) -> str:
    """What the names of a folder's jobs begin with."""
    return f"gpd-{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]}"


def find(profile: Mapping[str, Any], most: int) -> Placement:
    """The nodes of a profile's partition. Raises StudyError where they are fewer than `most`, or of several kinds."""
    partition = _default_resources(profile).get("slurm_partition") or slurm.default_partition()
    own = [node for node in slurm.nodes() if partition in node.partitions]
    usable = [node for node in own if node.usable]
    if len(usable) < most:
        raise StudyError(f"nodes: {most} are more than the {len(usable)} of partition {partition} that take jobs now")
    if kinds := [node for node in usable[:most] if node.cpus != usable[0].cpus]:
        cpus = ", ".join(f"{node.name} has {node.cpus} CPUs" for node in (usable[0], kinds[0]))
        raise StudyError(f"nodes: those of partition {partition} differ: {cpus}; give one of nodes that are alike")
    return Placement(profile, (*usable, *(node for node in own if not node.usable)))


def _default_resources(profile: Mapping[str, Any]) -> dict[str, Any]:
    """A profile's resources of all rules, which it may give as pairs or as words."""
    given = profile.get("default-resources") or {}
    return dict(given) if isinstance(given, Mapping) else dict(word.split("=", 1) for word in given)
