"""`pinned-ledger`: what the records of a run say, and whether they hold up."""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from jsonschema import Draft202012Validator

from .launcher.ledger import beside
from .launcher.topology import parse_cpus

Record = dict[str, Any]
SCHEMA = Path(__file__).with_name("ledger.schema.json")


def lines(path: str) -> Iterator[tuple[str, str]]:
    """The lines of a ledger, those of other nodes beside it among them, with their places."""
    for file in sorted(beside(path)):
        for number, line in enumerate(Path(file).read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            yield f"{file} line {number}", line


def read(path: str) -> tuple[list[Record], list[str]]:
    """The records of a ledger, and what is wrong with lines that are none."""
    schema, records, problems = Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))), [], []
    for place, line in lines(path):
        try:
            record = json.loads(line)
        except ValueError:
            problems.append(f"{place}: cut off, or not JSON")
            continue
        errors = [error.message for error in schema.iter_errors(record)]
        problems += [f"{place}: {error}" for error in errors]
        records += [] if errors else [record]
    return records, problems


def overlaps(records: list[Record]) -> list[str]:
    """Pairs of jobs, not of one gang, that held one CPU at one time, by the time since the boot."""
    held, found = defaultdict(list), set()
    for record in records:
        if record["cpus"] and record["wall_s"] is not None:
            end = round(record["uptime_s"] + record["wall_s"], 6)
            for cpu in parse_cpus(record["cpus"]):
                held[record["boot"], cpu].append((record["uptime_s"], end, record))
    for (_, cpu), jobs in held.items():
        jobs.sort(key=lambda job: job[:2])
        longest = jobs[0]
        for job in jobs[1:]:
            one, other = longest[2], job[2]
            if job[0] < longest[1] and not (one.get("gang") and one.get("gang") == other.get("gang")):
                found.add(f"{name(one)} and {name(other)} both held CPU {cpu} of {other['host']}")
            longest = max(longest, job, key=lambda each: each[1])
    return sorted(found)


def unbound(records: list[Record]) -> list[str]:
    """Jobs of which a process was seen on a CPU, or allowed on one, that the job did not hold."""
    return [
        f"{name(each)}: had {each['cpus']}, was on {each['cpus_seen']}"
        for each in records
        if each["binding_ok"] is False
    ]


def name(record: Record) -> str:
    """What people call a job."""
    return " ".join([record["rule"], *record["wildcards"].values()])


def table(head: list[str], rows: list[list[str]]) -> str:
    """Columns, the numbers to the right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return "\n".join(
        "  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip() for row in [head, *rows]
    )


def shown(value: Any) -> str:
    """A value as a table has it; what is not known stays empty."""
    return f"{value:.2f}" if isinstance(value, float) else "" if value is None else str(value)


def show(records: list[Record]) -> str:
    """A line for each attempt."""
    columns = ["threads", "cpus", "wall_s", "cpu_s", "peak_rss_mib", "binding_ok", "cause"]
    return table(["job", *columns], [[name(each), *(shown(each[column]) for column in columns)] for each in records])


def summary(records: list[Record]) -> str:
    """A line for each rule: medians over its attempts that ended well."""
    rules = defaultdict(list)
    for each in records:
        rules[each["rule"]].append(each)
    rows = []
    for rule, attempts in rules.items():
        well = [each for each in attempts if each["cause"] is None]
        known = {
            column: [each[column] for each in well if each[column] is not None]
            for column in ("wall_s", "cpu_s", "peak_rss_mib")
        }
        middle = [shown(float(median(values))) if values else "" for values in known.values()]
        rows.append([rule, str(len(attempts)), str(len(attempts) - len(well)), *middle])
    return table(["rule", "attempts", "failed", "wall_s", "cpu_s", "peak_rss_mib"], rows)


def main() -> int:
    """Be the command line; exit code 1 where a check fails, 2 where there is no such ledger."""
    parser = argparse.ArgumentParser(prog="pinned-ledger", description=__doc__)
    parser.add_argument("what", choices=["show", "check", "summary"], help="each attempt; what is wrong; each rule")
    parser.add_argument("ledger", nargs="?", default="ledger.jsonl")
    given = parser.parse_args()
    if not Path(given.ledger).parent.is_dir() or not beside(given.ledger):
        print(f"pinned-ledger: {given.ledger}: no such file", file=sys.stderr)
        return 2
    records, problems = read(given.ledger)
    if given.what == "check":
        problems += overlaps(records) + unbound(records)
        print("\n".join(problems) or f"{len(records)} records, nothing wrong: no CPU was two jobs' at one time")
        return int(bool(problems))
    print(show(records) if given.what == "show" else summary(records))
    for problem in problems:
        print(f"pinned-ledger: {problem}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
