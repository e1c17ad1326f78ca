"""Whether files that came from anywhere are records at all, and of a size that can be worked with.

What passes here, the code that computes tables may be given: no depth, number, time or list in it is beyond reason.
"""

import json
from collections.abc import Sequence
from typing import Any

from gpd.records import decoding, ledger, study
from gpd.records.ledger import Attempt
from gpd.records.run import YEARS
from gpd.text.cpu_lists import check_cpus

CPU_FIELDS = ("cpus", "cpus_allowed", "cpus_seen", "ran_on")
TIME_FIELDS = ("start", "end", "recorded", "began", "ended")


def check(name: str, content: bytes) -> list[Attempt]:
    """Refuse a file of a package that is no record; return the attempts of a ledger. Raises ValueError, in one line."""
    attempts = []
    try:
        text = content.decode()
        if name.endswith(".json"):
            parse(text)
        lines = text.removesuffix("\n").split("\n") if text and name.endswith(".jsonl") else []
        for line in lines:
            parse(line)
        for number, line in enumerate(lines if name != study.STARTS else (), 1):
            try:
                attempts.append(ledger.parse_attempt(line))
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: not UTF-8") from error
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    return attempts


def check_allocated(attempts: Sequence[Attempt]) -> None:
    """Refuse more CPUs in all ledgers together than can be held against each other. Raises ValueError."""
    ledger.check_allocated(attempt.cpus for attempt in attempts)
    for field in ("cpus_allowed", "cpus_seen"):
        ledger.check_allocated((getattr(attempt, field) for attempt in attempts), ledger.MOST_USABLE)


def parse(text: str) -> Any:
    """JSON without what no record has. Raises ValueError, its message is one line."""
    try:
        document = decoding.parse(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: line {error.lineno}: {error.msg}") from error
    _check(document)
    return document


def _check(document: Any, field: str = "") -> None:
    """Refuse CPU lists and years beyond reason. Raises ValueError."""
    if isinstance(document, dict):
        for key, value in document.items():
            _check(value, key)
    elif isinstance(document, list):
        for value in document:
            _check(value, field)
    elif isinstance(document, str):
        if field in CPU_FIELDS:
            check_cpus(document)
        if field in TIME_FIELDS and not (document[:4].isdecimal() and int(document[:4]) in YEARS):
            raise ValueError(f"{field}: {document[:40]!r}: no time of this age")
