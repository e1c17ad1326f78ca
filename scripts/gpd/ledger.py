"""Read the ledger: one line of JSON for every attempt at a job, written by the workflow's launcher."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

SCHEMA_VERSION = 1


class LedgerError(ValueError):
    """A line that is no record; the message names file and line."""


@dataclass(frozen=True)
class Attempt:
    """One attempt at a job. Times are UTC; `wall_s` is in seconds."""

    rule: str
    step: str
    wildcards: Mapping[str, str]
    threads: int
    start: datetime
    end: datetime
    wall_s: float
    exit_code: int | None
    message: str | None
    log: str

    @property
    def succeeded(self) -> bool:
        return self.exit_code == 0

    @property
    def job(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """What is the same for every attempt at one job."""
        return self.rule, tuple(sorted(self.wildcards.items()))

    @property
    def owner(self) -> str | None:
        """The sample that the job belongs to, `cohort` for all of them, None for what no sample needs alone."""
        return self.wildcards.get("sample") or self.wildcards.get("callset")


def parse_attempt(line: str) -> Attempt:
    """One line of the ledger. Raises ValueError or KeyError where it is none of this schema version."""
    record = json.loads(line)
    if record["schema"] != SCHEMA_VERSION:
        raise ValueError(f"schema version {record['schema']}, not {SCHEMA_VERSION}")
    return Attempt(
        rule=record["rule"],
        step=record["step"],
        wildcards=record["wildcards"],
        threads=record["threads"],
        start=datetime.fromisoformat(record["start"]),
        end=datetime.fromisoformat(record["end"]),
        wall_s=record["wall_s"],
        exit_code=record["exit_code"],
        message=record["message"],
        log=record["log"],
    )


def read_ledger(path: Path) -> list[Attempt]:
    """All attempts, in the order they ended; none where there is no ledger yet."""
    if not path.exists():
        return []
    attempts = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            attempts.append(parse_attempt(line))
        except (KeyError, TypeError, ValueError) as error:
            raise LedgerError(f"{path} line {number}: not a record of a job: {error}") from error
    return attempts


def last_attempts(attempts: Iterable[Attempt]) -> list[Attempt]:
    """The last attempt at every job: what came of it."""
    return list({attempt.job: attempt for attempt in attempts}.values())
