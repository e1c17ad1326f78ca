"""Whether a ledger holds up: every line a record, each attempt once, and no CPU two jobs' at one time. Pure."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import relevance

from gpd.paths import ROOT
from gpd.records.ledger import Attempt, parse_attempt, read_lines
from gpd.text.cpu_lists import parse_cpus

SCHEMA = ROOT / "workflow" / "schemas" / "ledger.schema.json"
MOST_ERRORS = 3  # of one line

Record = Mapping[str, Any]
Numbered = Sequence[tuple[int, Record]]  # records by their lines


@dataclass(frozen=True)
class Checked:
    """What is wrong with a ledger, and the attempts of the lines that are records."""

    problems: tuple[str, ...]
    attempts: tuple[Attempt, ...]


def check(path: Path) -> Checked:
    """Hold every line against the schema, and the records against each other."""
    validator = Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    lines = dict(enumerate(read_lines(path), 1))
    errors = {number: wrong for number, line in lines.items() if (wrong := line_errors(line, validator))}
    good = {number: line for number, line in lines.items() if number not in errors}
    records = [(number, json.loads(line)) for number, line in good.items()]
    problems = [f"line {number}: {wrong}" for number, wrong in errors.items()]
    problems += duplicates(records) + overlaps(records)
    return Checked(tuple(f"{path} {problem}" for problem in problems), tuple(map(parse_attempt, good.values())))


def line_errors(line: str, validator: Draft202012Validator) -> str:
    """Say in one line why a line of the ledger is no record; "" where it is one."""
    try:
        record = json.loads(line)
    except ValueError as error:
        return f"not JSON: {error}"
    errors = sorted(validator.iter_errors(record), key=relevance, reverse=True)
    told = [f"{'.'.join(map(str, error.path))}: {error.message}".removeprefix(": ") for error in errors]
    told = told or _not_a_date(line)
    more = [f"and {len(told) - MOST_ERRORS} more"] if len(told) > MOST_ERRORS else []
    return "; ".join([*told[:MOST_ERRORS], *more])


def _not_a_date(line: str) -> list[str]:
    """Return what is wrong with a record that fits the schema: a 31st of February."""
    try:
        parse_attempt(line)
    except ValueError as error:
        return [str(error)]
    return []


def duplicates(records: Numbered) -> list[str]:
    """Name attempts that were recorded twice."""
    first: dict[str, int] = {}
    return [
        f"line {number}: the same attempt as line {first[record['id']]}"
        for number, record in records
        if first.setdefault(record["id"], number) != number
    ]


def overlaps(records: Numbered) -> list[str]:
    """Name pairs of jobs that held one CPU at one time. Jobs without lease or known end have no say."""
    held = defaultdict(list)
    for number, record in records:
        clock, span = record_span(record)
        if span:
            for cpu in parse_cpus(record["cpus"] or ""):
                held[clock, cpu].append((*span, number, record))
    found = set()
    for (_, cpu), jobs in held.items():
        jobs.sort(key=lambda job: job[:3])
        longest = jobs[0]
        for job in jobs[1:]:
            if job[0] < longest[1]:
                at = f"CPU {cpu} of {job[3]['host']} at {job[3]['start']}"
                found.add(f"lines {longest[2]} and {job[2]}: both held {at}")
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
