"""A visit to a virtual machine: guest.py runs there, once, and what it has seen is asked here, a promise a test."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import build as compiled  # beside the launcher, whose folder `launching` has put on the path
import pytest
from launching import LAUNCH, read_records
from machine import Machine, Shape, missing

from gpd.text.cpu_lists import parse_cpus

GUEST = Path(__file__).with_name("guest.py")
TIMEOUT_S = 3600.0  # of a machine that has much else to do: it took minutes


@dataclass(frozen=True)
class Seen:
    """A job: its record in the ledger, and what was seen of it from outside: CPUs, policy, pages by NUMA node."""

    record: dict
    cpus: frozenset[int]
    policy: str
    pages: dict[int, int]

    @property
    def allocation(self) -> frozenset[int]:
        return parse_cpus(self.record["cpus"])

    def shares(self) -> dict[int, float]:
        """The parts of the job's memory that lie on each NUMA node."""
        return {node: pages / sum(self.pages.values()) for node, pages in self.pages.items()}


@dataclass(frozen=True)
class Visit:
    """All that a machine of some shape has told."""

    shape: Shape
    told: dict[str, dict]
    folder: Path
    seconds: float
    cpu_seconds: float  # of QEMU

    def scenario(self, name: str) -> dict:
        """What a scenario of guest.py told; one that failed there fails whoever asks."""
        assert "error" not in self.told[name], self.told[name]["error"]
        return self.told[name]

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger.jsonl"

    def records(self) -> dict[str, dict]:
        """The ledger by the jobs' names, each of which had one attempt."""
        records = [json.loads(line) for line, _ in read_records(self.ledger)]
        found = {record["wildcards"]["sample"]: record for record in records}
        assert len(found) == len(records)
        return found

    def jobs(self, scenario: str) -> list[Seen]:
        """The jobs of a scenario that were looked at, in the order in which they were started."""
        records = self.records()
        return [
            Seen(
                records[name],
                parse_cpus(seen["cpus"]),
                seen["policy"],
                {int(node): pages for node, pages in seen["pages"].items()},
            )
            for name, seen in self.scenario(scenario)["jobs"].items()
        ]

    def every_job(self) -> list[Seen]:
        return [job for scenario, told in self.told.items() if "jobs" in told for job in self.jobs(scenario)]

    def spans(self, cpus: frozenset[int]) -> tuple[int, int, int]:
        """How many L3 groups, NUMA nodes and sockets some CPUs are of."""
        levels: list[Callable[[int], int]] = [self.shape.l3, self.shape.numa, self.shape.socket]
        return tuple(len(set(map(level, cpus))) for level in levels)


def visit(kind: str, shape: Shape, folder: Path) -> Visit:
    """Start a machine, have guest.py do there what is to be done on its kind, and return what it told."""
    if lacking := missing():
        pytest.skip(f"a virtual machine needs {', '.join(lacking)}; make test-numa installs it")
    scripts = LAUNCH.parents[1]
    launch = compiled.launcher(lambda name: scripts / name, folder / "launcher")
    share = folder / "share"
    program = [sys.executable, "-S", "-E", GUEST, kind, launch]
    began, spent_s = time.monotonic(), of_children()
    with Machine.started(shape, share, [*map(str, program)]) as machine:
        machine.wait(TIMEOUT_S)
    told = json.loads((share / "told.json").read_text())
    return Visit(shape, told, share, time.monotonic() - began, of_children() - spent_s)


def of_children() -> float:
    """The CPU seconds of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
