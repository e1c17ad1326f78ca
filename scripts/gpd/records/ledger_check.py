"""Whether a ledger holds up: every line a record, each attempt once, and no CPU two jobs' at one time. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from snakemake_executor_plugin_pinned import ledger_checks
from snakemake_executor_plugin_pinned.ledger_checks import Held, end_of

from gpd.records.ledger import Attempt, check_allocated, files, parse_attempt, read_lines
from gpd.text.cpu_lists import parse_cpus
from gpd.text.formats import one_line


class LedgerLine(NamedTuple):
    """Where a record stands: a line of one of the ledger's files."""

    file: Path
    line: int

    def __str__(self) -> str:
        return f"{self.file} line {self.line}"


Placed = Sequence[tuple[LedgerLine, Attempt]]


@dataclass(frozen=True)
class Checked:
    """What is wrong with a ledger, and the attempts of the lines that are records."""

    problems: tuple[str, ...]
    attempts: tuple[Attempt, ...]


def check(path: Path) -> Checked:
    """Hold every line against the types of a record, and the records against each other."""
    lines = [
        (LedgerLine(file, number), line) for file in files(path) for number, line in enumerate(read_lines(file), 1)
    ]
    problems, records = [], []
    for place, line in lines:
        try:
            records.append((place, parse_attempt(line)))
        except ValueError as error:
            problems.append(f"{place}: {error}")
    problems += duplicates(records)
    try:
        check_allocated(attempt.cpus for _, attempt in records)
        problems += overlaps(records)
    except ValueError as error:
        problems.append(f"{path}: {error}: not held against each other")
    return Checked(tuple(map(one_line, problems)), tuple(attempt for _, attempt in records))


def duplicates(records: Placed) -> list[str]:
    """Name attempts that were recorded twice."""
    found = ledger_checks.duplicates((attempt.id, place) for place, attempt in records)
    return [f"{place}: the same attempt as {_beside(first, place)}" for first, place in found]


def _beside(place: LedgerLine, known: LedgerLine) -> str:
    """A place, without its file where that was just named."""
    return f"line {place.line}" if place.file == known.file else str(place)


def _both(first: LedgerLine, second: LedgerLine) -> str:
    if first.file == second.file:
        return f"{first.file} lines {first.line} and {second.line}"
    return f"{first} and {second}"


def overlaps(records: Placed) -> list[str]:
    """Name pairs of jobs that held one CPU at one time. Jobs without allocation or known end have no say."""
    return sorted(
        {
            f"{_both(first, place)}: both held CPU {cpu} of {attempt.host} at {attempt.start}"
            for cpu, (first, _), (place, attempt) in ledger_checks.overlaps(_held(records))
        }
    )


def _held(records: Placed) -> Iterator[Held[tuple[LedgerLine, Attempt]]]:
    for place, attempt in records:
        clock, span = span_of(attempt)
        if span:
            cpus = parse_cpus(attempt.cpus or "")
            yield Held((clock, type(span[0])), *span, cpus, attempt.gang, (place, attempt))


def span_of(attempt: Attempt) -> tuple[str | None, tuple[Any, Any] | None]:
    """Return whose clock, and (start, end) by it, None where the end is not known.

    The time since the boot, which cannot be set, where it was recorded: UTC goes back when a clock is set back.
    """
    if attempt.boot and attempt.uptime_s is not None:
        end = None if attempt.wall_s is None else end_of(attempt.uptime_s, attempt.wall_s)
        return attempt.boot, None if end is None else (attempt.uptime_s, end)
    known = attempt.start is not None and attempt.end is not None
    return attempt.host, (attempt.start, attempt.end) if known else None
