"""Whether a ledger holds up: every line a record, each attempt once, and no CPU two jobs' at one time. Pure."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator
from jsonschema.exceptions import relevance

from gpd.paths import ROOT
from gpd.records.ledger import Attempt, check_leased, files, parse_attempt, parse_line, read_lines
from gpd.text.cpu_lists import parse_cpus
from gpd.text.formats import one_line

SCHEMA = ROOT / "workflow" / "schemas" / "ledger.schema.json"
MOST_ERRORS, MOST_TOLD = 3, 400  # of one line: errors, characters of each

Record = Mapping[str, Any]


class Place(NamedTuple):
    """Where a record stands: a line of one of the ledger's files."""

    file: Path
    line: int

    def __str__(self) -> str:
        return f"{self.file} line {self.line}"


Placed = Sequence[tuple[Place, Record]]


@dataclass(frozen=True)
class Checked:
    """What is wrong with a ledger, and the attempts of the lines that are records."""

    problems: tuple[str, ...]
    attempts: tuple[Attempt, ...]


def check(path: Path) -> Checked:
    """Hold every line against the schema, and the records against each other."""
    validator = Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    lines = {Place(file, number): line for file in files(path) for number, line in enumerate(read_lines(file), 1)}
    errors = {place: wrong for place, line in lines.items() if (wrong := line_errors(line, validator))}
    good = {place: line for place, line in lines.items() if place not in errors}
    records = [(place, parse_line(line)) for place, line in good.items()]
    problems = [f"{place}: {wrong}" for place, wrong in errors.items()]
    problems += duplicates(records)
    try:
        check_leased(record["cpus"] for _, record in records)
        problems += overlaps(records)
    except ValueError as error:
        problems.append(f"{path}: {error}: not held against each other")
    return Checked(tuple(map(one_line, problems)), tuple(map(parse_attempt, good.values())))


def line_errors(line: str, validator: Draft202012Validator) -> str:
    """Say in one line why a line of the ledger is no record; "" where it is one."""
    try:
        record = parse_line(line)
    except ValueError as error:
        return one_line(f"not JSON: {error}")
    errors = sorted(validator.iter_errors(record), key=relevance, reverse=True)
    told = [f"{'.'.join(map(str, error.path))}: {_shortened(error.message)}".removeprefix(": ") for error in errors]
    told = told or _beyond_the_schema(line)
    more = [f"and {len(told) - MOST_ERRORS} more"] if len(told) > MOST_ERRORS else []
    return one_line("; ".join([*told[:MOST_ERRORS], *more]))


def _shortened(message: str) -> str:
    """What is wrong with a value, which may be of any length, from both of its ends."""
    half = MOST_TOLD // 2
    return message if len(message) <= MOST_TOLD else f"{message[:half]} ... {message[-half:]}"


def _beyond_the_schema(line: str) -> list[str]:
    """Return what is wrong with a record that fits the schema: a 31st of February, a CPU that no machine has."""
    try:
        parse_attempt(line)
    except ValueError as error:
        return [str(error)]
    return []


def duplicates(records: Placed) -> list[str]:
    """Name attempts that were recorded twice."""
    first: dict[str, Place] = {}
    return [
        f"{place}: the same attempt as {_beside(first[record['id']], place)}"
        for place, record in records
        if first.setdefault(record["id"], place) != place
    ]


def _beside(place: Place, known: Place) -> str:
    """A place, without its file where that was just named."""
    return f"line {place.line}" if place.file == known.file else str(place)


def _both(first: Place, second: Place) -> str:
    if first.file == second.file:
        return f"{first.file} lines {first.line} and {second.line}"
    return f"{first} and {second}"


def overlaps(records: Placed) -> list[str]:
    """Name pairs of jobs that held one CPU at one time. Jobs without lease or known end have no say."""
    held = defaultdict(list)
    for place, record in records:
        clock, span = record_span(record)
        if span:
            for cpu in parse_cpus(record["cpus"] or ""):
                held[clock, type(span[0]), cpu].append((*span, place, record))
    found = set()
    for (_, _, cpu), jobs in held.items():
        jobs.sort(key=lambda job: job[:3])
        longest = jobs[0]
        for job in jobs[1:]:
            if job[0] < longest[1]:
                at = f"CPU {cpu} of {job[3]['host']} at {job[3]['start']}"
                found.add(f"{_both(longest[2], job[2])}: both held {at}")
            longest = max(longest, job, key=lambda job: job[1])
    return sorted(found)


def record_span(record: Record) -> tuple[str, tuple[Any, Any] | None]:
    """Return whose clock, and (start, end) by it, None where the end is not known.

    The time since the boot, which nobody sets, where it was recorded: UTC goes back when a clock is set back.
    """
    if record.get("boot") and record.get("uptime_s") is not None:
        known = record["wall_s"] is not None
        return record["boot"], (record["uptime_s"], record["uptime_s"] + record["wall_s"]) if known else None
    known = record["start"] and record["end"]
    return record["host"], (record["start"], record["end"]) if known else None
