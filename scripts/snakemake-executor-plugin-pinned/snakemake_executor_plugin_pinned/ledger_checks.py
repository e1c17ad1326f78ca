"""What holds job records against each other: attempts recorded twice, jobs that held one CPU at one time. Pure.

Readers of records have types of their own for them: this takes what it needs of each. It imports nothing of Snakemake.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

DECIMALS = 6  # of seconds, as they are recorded: a sum of two has more

Record = TypeVar("Record")


class Held(NamedTuple, Generic[Record]):
    """CPUs that a job held, from when to when: `start` and `end` compare by one `clock`.

    `gang`: the same for all that hold CPUs together, as members of a pipe do.
    """

    clock: Hashable
    start: Any
    end: Any
    cpus: Iterable[int]
    gang: str | None
    record: Record


def read_lines(path: Path) -> list[str]:
    """The lines of a ledger. Not splitlines(): a tool's message may hold what Unicode too takes for a line's end."""
    text = path.read_text(encoding="utf-8", errors="replace").removesuffix("\n")
    return text.split("\n") if text else []


def end_of(start_s: float, wall_s: float) -> float:
    """When what began at a time was over, as exactly as both are recorded."""
    return round(start_s + wall_s, DECIMALS)


def overlaps(every: Iterable[Held[Record]]) -> Iterator[tuple[int, Record, Record]]:
    """Pairs of jobs, not of one gang, that held one CPU at one time: that CPU, and both in order of their start.

    A job is held against the one before it that ends last, so that each that overlaps is found, and each once.
    """
    by_cpu = defaultdict(list)
    for held in every:
        for cpu in held.cpus:
            by_cpu[held.clock, cpu].append(held)
    for (_, cpu), jobs in by_cpu.items():
        jobs.sort(key=lambda job: (job.start, job.end))
        longest = jobs[0]
        for job in jobs[1:]:
            of_one_gang = job.gang and job.gang == longest.gang
            if job.start < longest.end and not of_one_gang:
                yield cpu, longest.record, job.record
            longest = max(longest, job, key=lambda each: each.end)


def duplicates(identified: Iterable[tuple[str | None, Record]]) -> Iterator[tuple[Record, Record]]:
    """Attempts, by their ids, that were recorded before: the first record, and the later one."""
    first: dict[str, Record] = {}
    for identity, record in identified:
        if identity and identity in first:
            yield first[identity], record
        elif identity:
            first[identity] = record
