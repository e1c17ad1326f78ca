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

from . import ledger_checks
from .launcher.ledger import beside
from .launcher.topology import parse_cpus
from .ledger_checks import Held, end_of, read_lines

Record = dict[str, Any]
SCHEMA = Path(__file__).with_name("ledger.schema.json")


def lines(path: str) -> Iterator[tuple[str, str]]:
    """The lines of a ledger, those of other nodes beside it among them, with their places."""
    for file in sorted(beside(path)):
        for number, line in enumerate(read_lines(Path(file)), 1):
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


def twice(records: list[Record]) -> list[str]:
    """Attempts that were recorded twice."""
    found = ledger_checks.duplicates((each["id"], each) for each in records)
    return [f"{name(each)}: its attempt {each['id']} was recorded twice" for _, each in found]


def overlaps(records: list[Record]) -> list[str]:
    """Pairs of jobs that held one CPU at one time, by the time since the boot."""
    found = ledger_checks.overlaps(map(held, filter(is_known, records)))
    return sorted(
        {f"{name(one)} and {name(other)} both held CPU {cpu} of {other['host']}" for cpu, one, other in found}
    )


def is_known(record: Record) -> bool:
    """Whether a job held CPUs, and from when to when is certain."""
    return bool(record["cpus"]) and None not in (record.get("uptime_s"), record["wall_s"])


def held(record: Record) -> Held[Record]:
    """The CPUs of a job."""
    start, cpus = record["uptime_s"], parse_cpus(record["cpus"])
    return Held(record.get("boot"), start, end_of(start, record["wall_s"]), cpus, record.get("gang"), record)


def unbound(records: list[Record]) -> list[str]:
    """Jobs of which a process was seen on a CPU, or allowed on one, that the job did not hold."""
    return [
        f"{name(each)}: had {each['cpus']}, was on {each['cpus_seen']}"
        for each in records
        if each["binding_ok"] is False
    ]


def name(record: Record) -> str:
    """What people call a job, or a part of one."""
    return " ".join(filter(None, [record["rule"], *record["wildcards"].values(), record.get("shard")]))


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
        problems += twice(records) + overlaps(records) + unbound(records)
        print("\n".join(problems) or f"{len(records)} records, nothing wrong: no CPU was two jobs' at one time")
        return int(bool(problems))
    print(show(records) if given.what == "show" else summary(records))
    for problem in problems:
        print(f"pinned-ledger: {problem}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
