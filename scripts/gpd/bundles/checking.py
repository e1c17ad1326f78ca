"""Whether files that came from anywhere are records at all, and of a size that can be worked with. Pure.

What passes here, the code that computes tables may be given: no depth, number, time or list in it is beyond reason.
"""

import json
from collections.abc import Iterable
from math import isfinite
from typing import Any

from jsonschema import Draft202012Validator

from gpd.records import ledger_check, study

MOST_LEVELS = 12  # of JSON within JSON
LARGEST = 1e15  # number
LARGEST_CPU = 65_535
CPU_FIELDS = ("cpus", "cpus_allowed", "cpus_seen", "ran_on")
YEARS = range(1971, 9000)
TIME_FIELDS = ("start", "end", "recorded", "began", "ended")


def check(name: str, content: bytes) -> None:
    """Refuse a file of a bundle that is no record. Raises ValueError, its message is one line."""
    try:
        text = content.decode()
        if name.endswith(".json"):
            parse(text)
        elif name.endswith(".jsonl"):
            lines = text.removesuffix("\n").split("\n") if text else []
            for line in lines:
                parse(line)
            if name != study.STARTS:
                _check_ledger(lines)
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: not UTF-8") from error
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def parse(text: str) -> Any:
    """JSON without what no record has. Raises ValueError, its message is one line."""
    try:
        document = json.loads(text, parse_constant=_refuse, parse_float=_number, parse_int=_integer)
    except RecursionError as error:
        raise ValueError(f"JSON of more than {MOST_LEVELS} levels") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: line {error.lineno}: {error.msg}") from error
    _check(document, 1)
    return document


def _refuse(constant: str) -> None:
    raise ValueError(f"not JSON: {constant}")


def _number(text: str) -> float:
    value = float(text)
    if not isfinite(value) or abs(value) > LARGEST:
        raise ValueError(f"a number beyond reason: {text[:40]}")
    return value


def _integer(text: str) -> int:
    _number(text)
    return int(text)


def _check(document: Any, level: int, field: str = "") -> None:
    """Refuse depth, CPU lists and years beyond reason. Raises ValueError."""
    if level > MOST_LEVELS:
        raise ValueError(f"JSON of more than {MOST_LEVELS} levels")
    if isinstance(document, dict):
        for key, value in document.items():
            _check(value, level + 1, key)
    elif isinstance(document, list):
        for value in document:
            _check(value, level + 1, field)
    elif isinstance(document, str):
        if field in CPU_FIELDS:
            _check_cpus(document)
        if field in TIME_FIELDS and not (document[:4].isdecimal() and int(document[:4]) in YEARS):
            raise ValueError(f"{field}: {document[:40]!r}: no time of this age")


def _check_cpus(text: str) -> None:
    """Refuse a list of CPUs that no machine has."""
    ends = [end for part in text.split(",") for end in part.split("-")] if text else []
    known = all(end.isascii() and end.isdecimal() and len(end) <= len(str(LARGEST_CPU)) for end in ends)
    numbers = [int(end) for end in ends] if known else []
    if not known or max(numbers, default=0) > LARGEST_CPU or numbers != sorted(numbers):
        raise ValueError(f"{text[:40]!r}: no list of CPUs")


def _check_ledger(lines: Iterable[str]) -> None:
    """Refuse a ledger with a line that is no record. Raises ValueError."""
    validator = Draft202012Validator(json.loads(ledger_check.SCHEMA.read_text(encoding="utf-8")))
    for number, line in enumerate(lines, 1):
        if wrong := ledger_check.line_errors(line, validator):
            raise ValueError(f"line {number}: {wrong}")
