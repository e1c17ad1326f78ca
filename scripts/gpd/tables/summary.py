"""What a run came to: time a step and sample, makespan, failures. Pure: no clock, no files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpd.outcomes import COHORT, NOT_FINISHED, Outcome, judge_alone, owner
from gpd.records.ledger import Attempt, failed_jobs, one_clock
from gpd.tables.rows import span_s


@dataclass(frozen=True)
class Summary:
    """A run. `steps` has the summed seconds of each step by sample; a sample whose step did not run has no entry.

    `failures` are jobs that failed for good. `makespan_s` goes from the start of the first step to the end of the last;
    indexes and QC are outside. Of jobs on several hosts, whose clocks differ, it is the whole run's by the clock of the
    host that started it (`of_run`).
    """

    steps: Mapping[str, Mapping[str, float]]
    columns: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    failures: tuple[Attempt, ...]
    makespan_s: float | None
    resumed: bool
    of_run: bool = False

    @property
    def succeeded(self) -> tuple[str, ...]:
        return tuple(outcome.sample for outcome in self.outcomes if outcome.succeeded)

    @property
    def unfinished(self) -> tuple[Outcome, ...]:
        """Samples that did not come to their end, of which no job failed."""
        return tuple(outcome for outcome in self.outcomes if outcome.cause == NOT_FINISHED)

    def summed_s(self, column: str) -> float:
        return sum(by_sample.get(column, 0.0) for by_sample in self.steps.values())


def summarize(
    attempts: Iterable[Attempt],
    steps: Sequence[str],
    earlier: Iterable[Attempt] = (),
    exit_code: int | None = 0,
    wall_s: float | None = None,
    planned: Iterable[str] = (),
) -> Summary:
    """Sum up the jobs of `steps` in one run that ended with `exit_code` (None: not known).

    `earlier` are the attempts of runs before it in the same folder. Only the last attempt at a job says what came of
    it; the ones before cost their time too. Which samples succeeded, outcomes.py judges: in a run that did not end well
    those that went through what was `planned`, too. `wall_s`: of the whole run, by its starter's clock.
    """
    every, before = list(attempts), [attempt for attempt in earlier if attempt.step in steps]
    timed = [attempt for attempt in every if attempt.step in steps]
    columns = tuple(sorted({owner(a) for a in timed}, key=lambda name: (name == COHORT, name)))
    return Summary(
        steps={step: _summed_s(attempt for attempt in timed if attempt.step == step) for step in steps},
        columns=columns,
        outcomes=tuple(judge_alone(every, before, steps, exit_code, planned)),
        failures=tuple(failed_jobs(every)),
        makespan_s=span_s(timed) if one_clock(timed) else wall_s,
        resumed=bool(before),
        of_run=not one_clock(timed),
    )


def _summed_s(attempts: Iterable[Attempt]) -> dict[str, float]:
    """Sum up a step by sample; how long an attempt took that was killed with its launcher is not known."""
    summed: dict[str, float] = {}
    for attempt in attempts:
        if attempt.own_s is not None:
            summed[owner(attempt)] = summed.get(owner(attempt), 0.0) + attempt.own_s
    return summed
