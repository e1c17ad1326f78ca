"""What a run came to: time a step and sample, makespan, samples a day, failures. Pure: no clock, no files."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpd.ledger import Attempt, last_attempts

SECONDS_PER_DAY = 24 * 3600


@dataclass(frozen=True)
class StepRow:
    """Busy seconds (the sum over jobs) of one step by sample; a sample whose step did not run has no entry."""

    step: str
    busy_s: dict[str, float]

    @property
    def total_s(self) -> float | None:
        return sum(self.busy_s.values()) if self.busy_s else None


@dataclass(frozen=True)
class Failure:
    """A job that failed for good, and what its tool said."""

    rule: str
    sample: str
    message: str
    log: str


@dataclass(frozen=True)
class Summary:
    """A run. `makespan_s` goes from the start of its first step to the end of its last; indexes and QC are outside."""

    steps: tuple[StepRow, ...]
    columns: tuple[str, ...]
    succeeded: tuple[str, ...]
    failures: tuple[Failure, ...]
    makespan_s: float | None

    @property
    def samples_per_day(self) -> float | None:
        """24 h x samples that succeeded / makespan: a failed sample costs its time and counts nothing."""
        return SECONDS_PER_DAY * len(self.succeeded) / self.makespan_s if self.makespan_s else None

    def busy_s(self, column: str) -> float:
        return sum(row.busy_s.get(column, 0.0) for row in self.steps)


def summarize(attempts: Iterable[Attempt], steps: Sequence[str]) -> Summary:
    """Sum up the jobs of `steps`. Only the last attempt at a job says what came of it; earlier ones cost time too.

    A sample succeeded when none of its jobs failed, none of the cohort's did, and it went through every step that any
    sample went through.
    """
    timed = [attempt for attempt in attempts if attempt.step in steps]
    columns = tuple(sorted({a.owner or "cohort" for a in timed}, key=lambda name: (name == "cohort", name)))
    rows = tuple(_step_row(step, [a for a in timed if a.step == step]) for step in steps)
    final = last_attempts(timed)
    failures = tuple(
        Failure(a.rule, a.owner or "cohort", a.message or "no message", a.log) for a in final if not a.succeeded
    )
    makespan = (max(a.end for a in timed) - min(a.start for a in timed)).total_seconds() if timed else None
    return Summary(rows, columns, _succeeded(final, columns), failures, makespan)


def _step_row(step: str, attempts: list[Attempt]) -> StepRow:
    busy: dict[str, float] = {}
    for attempt in attempts:
        owner = attempt.owner or "cohort"
        busy[owner] = busy.get(owner, 0.0) + attempt.wall_s
    return StepRow(step, busy)


def _succeeded(final: list[Attempt], columns: tuple[str, ...]) -> tuple[str, ...]:
    done: dict[str, set[str]] = {column: set() for column in columns}
    failed = set()
    for attempt in final:
        owner = attempt.owner or "cohort"
        done[owner].add(attempt.rule)
        if not attempt.succeeded:
            failed.add(owner)
    samples = [column for column in columns if column != "cohort"]
    if "cohort" in failed or not samples:
        return ()
    everything = set().union(*(done[sample] for sample in samples))
    return tuple(sample for sample in samples if sample not in failed and done[sample] == everything)
