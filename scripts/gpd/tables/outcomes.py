"""What came of each sample of a cell, and why. Pure: it looks at records."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpd.ledger import Attempt, last_attempts
from gpd.steps import STEPS
from gpd.summary import COHORT

NO_JOB_RAN = "no_job_ran"
NOT_FINISHED = "not_finished"


@dataclass(frozen=True)
class Process:
    """One Snakemake process of a cell: its working directory within the cell, its samples, its ledger."""

    directory: str
    samples: tuple[str, ...]
    exit_code: int | None
    attempts: tuple[Attempt, ...]

    def path(self, name: str) -> str:
        """A file of the process, relative to the cell's folder."""
        return name if self.directory == "." else f"{self.directory}/{name}"


@dataclass(frozen=True)
class Run:
    """A cell that ended: its run.json, and its processes."""

    record: Mapping[str, Any]
    processes: tuple[Process, ...]

    @property
    def cell(self) -> Mapping[str, Any]:
        return self.record["cell"]

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps that count; jobs of no named step (reference, QC) are outside of every timing."""
        return STEPS[self.cell["pipeline"]]

    @property
    def kind(self) -> tuple[str, str | None]:
        """What runs share whose samples have the same steps before them: pipeline and configuration."""
        return self.cell["pipeline"], (self.record.get("settings") or {}).get("config_digest")

    def timed(self, process: Process) -> list[Attempt]:
        return [attempt for attempt in process.attempts if attempt.step in self.steps]


@dataclass(frozen=True)
class Outcome:
    """A sample of a cell. `cause` is None where it succeeded; the step is None where no job of it ran."""

    sample: str
    cause: str | None = None
    step: str | None = None
    message: str | None = None
    log: str | None = None

    @property
    def succeeded(self) -> bool:
        return self.cause is None


@dataclass(frozen=True)
class Passed:
    """The steps that samples and cohorts went through; `whole`: one that ended well is among them, so these are all."""

    by_samples: frozenset[str] = frozenset()
    by_cohorts: frozenset[str] = frozenset()
    whole: bool = False

    def missing(self, sample: set[str], cohort: set[str]) -> set[str]:
        return (self.by_samples - sample) | (self.by_cohorts - cohort)


def owner(attempt: Attempt) -> str:
    """The sample that a job of a named step belongs to, or the cohort."""
    return attempt.owner or COHORT


def passed(runs: Iterable[Run]) -> Passed:
    """What any of the samples and any of the cohorts went through; the runs are of one kind."""
    by_samples: set[str] = set()
    by_cohorts: set[str] = set()
    whole = False
    for run in runs:
        for process in run.processes:
            whole = whole or process.exit_code == 0
            for attempt in run.timed(process):
                if attempt.succeeded:
                    (by_cohorts if owner(attempt) == COHORT else by_samples).add(attempt.step)
    return Passed(frozenset(by_samples), frozenset(by_cohorts), whole)


def outcomes(run: Run, wanted: Passed) -> list[Outcome]:
    """What came of each sample of the cell, in the order in which they were drawn.

    A sample succeeded when no job of its own and none of its cohort's failed for good, and when it went through every
    step that any sample of the cell went through. A process that did not end with exit code 0 may have stopped
    anywhere: then samples and cohort must have gone through all steps of `wanted`, what all runs of its kind passed.
    """
    enough = Passed(passed([run]).by_samples)
    found = {
        outcome.sample: outcome
        for process in run.processes
        for outcome in _of_process(run, process, enough if process.exit_code == 0 else wanted)
    }
    return [found.get(sample) or _no_job(sample, None) for sample in run.cell["samples"]]


def _of_process(run: Run, process: Process, wanted: Passed) -> list[Outcome]:
    done: dict[str, set[str]] = {}
    failed: dict[str, Attempt] = {}
    for attempt in last_attempts(run.timed(process)):
        done.setdefault(owner(attempt), set()).add(attempt.step)
        if not attempt.succeeded:
            failed.setdefault(owner(attempt), attempt)
    missing = {sample: wanted.missing(done.get(sample, set()), done.get(COHORT, set())) for sample in process.samples}
    broken_off = _broken_off(process, any(missing.values()) and wanted.whole)
    result = []
    for sample in process.samples:
        failure = failed.get(sample) or failed.get(COHORT)
        if sample not in done:
            result.append(_no_job(sample, process))
        elif failure:
            result.append(_failed(sample, process, failure))
        elif missing[sample] or broken_off:
            result.append(_not_finished(sample, process, [step for step in run.steps if step in missing[sample]]))
        else:
            result.append(Outcome(sample))
    return result


def _broken_off(process: Process, seen: bool) -> bool:
    """Whether a process ended with an error that no job of it explains, nor a sample that was `seen` to be unfinished.

    Then nobody can say which of its samples are whole.
    """
    failed_job = any(not attempt.succeeded for attempt in last_attempts(process.attempts))
    return process.exit_code != 0 and not failed_job and not seen


def _no_job(sample: str, process: Process | None) -> Outcome:
    ended = f"; {_exit(process)}" if process else ""
    return Outcome(sample, NO_JOB_RAN, message=f"no job of it ran{ended}")


def _failed(sample: str, process: Process, attempt: Attempt) -> Outcome:
    cause = attempt.cause or ("killed" if attempt.exit_code is None else "unknown")
    return Outcome(sample, cause, attempt.step, attempt.message, process.path(attempt.log))


def _not_finished(sample: str, process: Process, missing: Sequence[str]) -> Outcome:
    reached = f"it never went through {missing[0]}" if missing else "its run was broken off"
    return Outcome(sample, NOT_FINISHED, missing[0] if missing else None, f"{reached}; {_exit(process)}")


def _exit(process: Process) -> str:
    code = "an exit code that is not known" if process.exit_code is None else f"exit code {process.exit_code}"
    return f"Snakemake ended with {code}"
