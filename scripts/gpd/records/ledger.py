"""Read the ledger: one line of JSON for every attempt at a job, written by the workflow's launcher.

Jobs of a batch system write into a file of their node, `ledger.NODE.jsonl` beside `ledger.jsonl`: all are one ledger.
"""

import glob
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from snakemake_executor_plugin_pinned.ledger_checks import read_lines as read_lines

from gpd.errors import GpdError
from gpd.records.machine_use import Amount
from gpd.records.run import YEARS
from gpd.records.run_spec import AtLeastOne
from gpd.text.cpu_lists import check_cpus, count_cpus

SCHEMA_VERSION = 1
STEM = "ledger"  # of the names of a ledger's files
GATHER = "gather"  # the shard of what joins a job's shards
LONGEST_TIME = 40  # characters
MOST_NUMBERS = 5  # of lines, in a warning
# CPUs of all lines together, each as often as it is named: those that 15,000 jobs had on 128 CPUs; those that 100,000
# jobs might have used that nothing bound, on 256 CPUs and more
MOST_ALLOCATED, MOST_USABLE = 2_000_000, 50_000_000

Job = tuple[str, tuple[tuple[str, str], ...]]  # a rule and its wildcards


class LedgerError(GpdError):
    """There is no such ledger."""


def check_allocated(allocations: Iterable[str | None], most: int = MOST_ALLOCATED) -> None:
    """Refuse lists of CPUs that are too many to compare, though each is within bounds. Raises ValueError."""
    allocated = 0
    for cpus in allocations:
        allocated += count_cpus(cpus or "")
        if allocated > most:
            raise ValueError(f"more than {most:,} CPUs in all its lines")


class LedgerWarning(UserWarning):
    """Lines that are no records, as a full disk or a power cut leaves them: they are left out, and counted."""


@dataclass(frozen=True)
class Attempt:
    """One attempt at a job. Times are UTC; units stand in the names. What the ledger does not know is None.

    The end of an attempt whose launcher was killed with it was not seen: it has no `end`, `wall_s` and `exit_code`. One
    that was ended while it waited for CPUs has no `start` either.
    """

    rule: str
    step: str
    wildcards: Mapping[str, str]
    threads: Annotated[int, Meta(ge=0, le=10**6)]
    start: datetime | None
    end: datetime | None
    wall_s: Amount | None
    exit_code: Annotated[int, Meta(ge=0, le=255)] | None
    message: str | None
    log: str
    id: Annotated[str, Meta(pattern="^[0-9a-f]{16}$")] | None = None
    attempt: AtLeastOne | None = None
    mem_mb: Amount | None = None
    cpus: str | None = None
    cpus_allowed: str | None = None
    cpus_seen: str | None = None
    boot: str | None = None
    uptime_s: Amount | None = None
    wait_s: Amount | None = None
    cpu_s: Amount | None = None
    peak_rss_mib: Amount | None = None
    read_mib: Amount | None = None
    write_mib: Amount | None = None
    peak_open_files: AtLeastOne | None = None
    peak_temporary_mib: Amount | None = None
    shared_inputs_mib: Amount | None = None
    shared_outputs_mib: Amount | None = None
    binding_ok: bool | None = None
    cause: str | None = None
    shard: str | None = None
    gang: str | None = None
    split: bool | None = None
    run: str | None = None
    memory_applied: str | None = None
    cpu_contention: bool | None = None
    other_cpu_s: Amount | None = None
    steal_s: Amount | None = None
    paused_s: Amount | None = None
    host: str | None = None
    node: str | None = None
    slurm_job_id: str | None = None
    slurm_step_id: str | None = None
    owned_by: str | None = None  # in no ledger: whose it is where the workflow is not ours
    recorded: datetime | None = None

    @property
    def succeeded(self) -> bool:
        return self.exit_code == 0

    @property
    def cpu_use(self) -> float | None:
        """CPUs that were busy on average: CPU seconds a second of wall time."""
        return self.cpu_s / self.wall_s if self.cpu_s is not None and self.wall_s else None

    @property
    def own_s(self) -> float | None:
        """Its wall time, s; of a job that waited for its parts, whose records are beside it, at most its CPU time."""
        if self.shard != GATHER or self.gang != self.id or self.wall_s is None:
            return self.wall_s
        return None if self.cpu_s is None else min(self.wall_s, self.cpu_s)

    @property
    def is_whole(self) -> bool:
        """Whether it left the job's outputs: it was no shard of the job, or gathered them."""
        return self.shard in (None, GATHER)

    @property
    def job(self) -> Job:
        """What is the same for every attempt at one job, and for its shards."""
        return self.rule, tuple(sorted(self.wildcards.items()))

    @property
    def owner(self) -> str | None:
        """The sample that the job belongs to, `cohort` for all of them, None for what no sample needs alone."""
        return self.owned_by or self.wildcards.get("sample") or self.wildcards.get("callset")


def parse_line(line: str) -> Any:
    """A line of JSON, strictly: without NaN, halves of characters and depth. Raises ValueError."""
    try:
        return msgspec.json.decode(line)
    except msgspec.DecodeError as error:
        raise ValueError(f"not JSON: {error}") from error
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def parse_attempt(line: str) -> Attempt:
    """One line of the ledger, held against its types. Raises ValueError where it does not fit this schema version."""
    record = parse_line(line)
    if not isinstance(record, dict) or record.get("schema") != SCHEMA_VERSION:
        raise ValueError(f"no record of schema version {SCHEMA_VERSION}")
    times = {name: _time(record[name]) for name in ("start", "end", "recorded") if record.get(name) is not None}
    attempt = msgspec.convert(record | times, Attempt)
    for cpus in (attempt.cpus, attempt.cpus_allowed, attempt.cpus_seen):
        check_cpus(cpus or "")
    return attempt


def _time(text: Any) -> datetime:
    """A time with its zone, of an age that can be reckoned with. Raises ValueError."""
    if not isinstance(text, str):
        raise ValueError("a time that is no text")
    time = datetime.fromisoformat(text[:LONGEST_TIME])
    if time.tzinfo is None or time.year not in YEARS:
        raise ValueError(f"{text[:LONGEST_TIME]}: no time of this age")
    return time


def files(path: Path) -> list[Path]:
    """The files of a ledger that are there: the one named, and those of single nodes beside it."""
    of_nodes = path.parent.glob(f"{glob.escape(path.stem)}.*{path.suffix}")
    return [file for file in (path, *sorted(of_nodes)) if file.is_file()]


def read_ledger(path: Path) -> list[Attempt]:
    """All attempts, in the order they were recorded; none where there is no ledger yet. Warns of lines left out."""
    return [attempt for _, attempt in read_records(path)]


def read_records(path: Path) -> list[tuple[str, Attempt]]:
    """Each line that is a record, with what it says, as read_ledger() has them. Warns of those that are none."""
    found = [_read_file(file) for file in files(path)]
    return found[0] if len(found) == 1 else _merged(found)


def _merged(found: Iterable[list[tuple[str, Attempt]]]) -> list[tuple[str, Attempt]]:
    """The records of several files by when they were recorded; those of one file stay in their order."""
    placed = []
    for records in found:
        latest = datetime.min.replace(tzinfo=UTC)
        for record in records:
            latest = max(latest, record[1].recorded or latest)
            placed.append((latest, record))
    return [record for _, record in sorted(placed, key=lambda each: each[0])]


def _read_file(path: Path) -> list[tuple[str, Attempt]]:
    records, torn = [], []
    for number, line in enumerate(read_lines(path), 1):
        try:
            records.append((line, parse_attempt(line)))
        except ValueError:
            torn.append(number)
    if torn:
        warnings.warn(_left_out(path, torn), LedgerWarning, stacklevel=2)
    return records


def _left_out(path: Path, torn: list[int]) -> str:
    numbers = ", ".join(map(str, torn[:MOST_NUMBERS])) + (", ..." if len(torn) > MOST_NUMBERS else "")
    return (
        f"{path}: left out: {len(torn)} of its lines (number {numbers}), no records of jobs: gpd ledger check says why"
    )


def last_attempts(attempts: Iterable[Attempt]) -> list[Attempt]:
    """The last attempt at every job: what came of it.

    Of a scattered job that is what gathered its shards, or a shard that failed: another that succeeds mends nothing.
    Where Slurm started a job again, perhaps where a clock is behind, the number of the attempt tells which is later.
    """
    last: dict[Job, Attempt] = {}
    for attempt in attempts:
        known = last.get(attempt.job)
        if known and _is_earlier(attempt, known):
            continue
        if attempt.is_whole or not attempt.succeeded or known is None or (known.succeeded and not known.is_whole):
            last[attempt.job] = attempt
    return list(last.values())


def failed_jobs(attempts: Iterable[Attempt]) -> list[Attempt]:
    """The last attempt at every job that failed for good."""
    return [attempt for attempt in last_attempts(attempts) if not attempt.succeeded]


def _is_earlier(attempt: Attempt, known: Attempt) -> bool:
    """Whether Slurm started `known` after it, for the same shard of the job."""
    same = (attempt.slurm_job_id, attempt.shard) == (known.slurm_job_id, known.shard)
    return same and attempt.slurm_job_id is not None and (attempt.attempt or 1) < (known.attempt or 1)


class Clock:
    """The clock by which attempts on one host are timed, in seconds.

    It is the time since the boot, which cannot be set, where all were recorded with it in one boot; else UTC.
    """

    def __init__(self, attempts: Iterable[Attempt]) -> None:
        begun = [attempt for attempt in attempts if attempt.start]
        boots = {attempt.boot if attempt.uptime_s is not None else None for attempt in begun}
        self.monotonic = len(boots) == 1 and None not in boots
        self._zero = min(
            (attempt.start for attempt in begun if attempt.start), default=datetime.min.replace(tzinfo=UTC)
        )

    def start_s(self, attempt: Attempt) -> float | None:
        """When an attempt began; None where it never did."""
        return attempt.uptime_s if self.monotonic else self._since(attempt.start)

    def end_s(self, attempt: Attempt) -> float | None:
        """When it ended; None where that was not seen."""
        if not self.monotonic:
            return self._since(attempt.end)
        return None if attempt.uptime_s is None or attempt.wall_s is None else attempt.uptime_s + attempt.wall_s

    def first(self, attempts: Iterable[Attempt]) -> float | None:
        """The earliest start."""
        return min((start for attempt in attempts if (start := self.start_s(attempt)) is not None), default=None)

    def last(self, attempts: Iterable[Attempt]) -> float | None:
        """The latest end."""
        return max((end for attempt in attempts if (end := self.end_s(attempt)) is not None), default=None)

    def _since(self, moment: datetime | None) -> float | None:
        return None if moment is None else (moment - self._zero).total_seconds()


def one_clock(attempts: Iterable[Attempt]) -> bool:
    """Whether the times of all these attempts are of one host's clock: no duration is taken across two."""
    return len({attempt.host for attempt in attempts if attempt.start or attempt.end}) <= 1
