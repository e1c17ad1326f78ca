"""What came of each sample of a run, and why: the one judge of success. Pure: it looks at records.

A sample succeeded when no job of its own and none of its cohort's failed for good, and when it went through every step
that it had to. Which these are, a run that ended with exit code 0 shows: those that any of its samples went through,
and, for its ledger may have been cut short, what any run of its kind in the study did. A run that did not end so may
have stopped anywhere: then a sample needs the steps that no configuration does without (pipelines.unavoidable), and
those that runs of its kind went through. And the run's end must be explained: by a job that failed, where Snakemake
itself came to its end (exit code 1), or by a sample that is known to be unfinished. Where a run was killed, or ended
with an error that no job explains, it is not known which of its samples are whole.

Of a workflow that is not ours rules may be for some samples alone, as those of single reads. Where its run ended with
exit code 0, all samples succeeded. Where it did not, a sample needs what every sample went through in runs of its kind
that did; where there are none, no sample is known to be whole.

A job of no named step (quality control, the reference, the CRAM file of an alignment) fails no sample: its calls are
there. The run's exit code is not 0 then, and what shows the run names the job.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from gpd.pipelines import PIPELINES, unavoidable
from gpd.records.ledger import Attempt, failed_jobs, last_attempts, one_clock
from gpd.records.run import JobNames, ProcessRecord, RunRecord
from gpd.records.run_spec import RunSpec

COHORT = "cohort"  # the owner of what all samples of a run share
NO_JOB_RAN = "no_job_ran"
NOT_FINISHED = "not_finished"
NOTHING = "no job of it ran"
OTHERS = "other rules"  # the step of a rule that has the name of a step without being one of its rules
JOB_FAILED = 1  # Snakemake's exit code where it came to its end, and not all jobs did


@dataclass(frozen=True, kw_only=True)
class Process(ProcessRecord):
    """A Snakemake process as its run's record has it, with the attempts at its jobs."""

    attempts: tuple[Attempt, ...]

    def path(self, name: str) -> str:
        """A file of the process, relative to the run's folder."""
        return name if self.directory == "." else f"{self.directory}/{name}"

    @property
    def end(self) -> str:
        code = "an exit code that is not known" if self.exit_code is None else f"exit code {self.exit_code}"
        return f"Snakemake ended with {code}"


@dataclass(frozen=True)
class Run:
    """A run that ended: its run.json, and its processes."""

    record: RunRecord
    processes: tuple[Process, ...]

    @property
    def spec(self) -> RunSpec:
        return self.record.spec

    @cached_property
    def steps(self) -> tuple[str, ...]:
        """The steps that count; jobs of no named step (reference, QC) are outside of every timing."""
        return steps_of(self.record, (each for process in self.processes for each in process.attempts))

    @property
    def ours(self) -> bool:
        return is_ours(self.record)

    @property
    def samples(self) -> tuple[str, ...]:
        """All that it ran; of a stream the copies of its samples that were started."""
        if self.spec.stream is None:
            return self.spec.samples
        return tuple(name for process in self.processes for name in process.samples)

    @property
    def kind(self) -> tuple[str, str | None]:
        """What runs share whose samples have the same steps before them: pipeline and configuration."""
        return self.spec.pipeline, self.record.settings.config_digest

    @property
    def one_clock(self) -> bool:
        """Whether times of its jobs may be set against each other: several nodes have clocks of their own."""
        attempts = (each for process in self.processes for each in process.attempts)
        return one_clock(attempts)

    def timed(self, process: Process) -> list[Attempt]:
        return timed(process, self.steps)


@dataclass(frozen=True)
class Outcome:
    """A sample of a run. `cause` is None where it succeeded; the step is None where no job of it ran.

    `own`: a job of its own failed, and not one that it shares with its cohort.
    """

    sample: str
    cause: str | None = None
    step: str | None = None
    message: str | None = None
    log: str | None = None
    own: bool = False

    @property
    def succeeded(self) -> bool:
        return self.cause is None


@dataclass(frozen=True)
class Passed:
    """The steps that samples and their cohorts went through; `whole`: a run that ended well is among them, so these are
    all. `unknown`: which steps there are is not known, so that only a run that ended well has whole samples."""

    steps: frozenset[str] = frozenset()
    whole: bool = False
    unknown: bool = False


def is_ours(record: RunRecord) -> bool:
    """Whether a run is of a pipeline of ours, whose steps are known."""
    return record.spec.pipeline in PIPELINES


def steps_of(record: RunRecord, attempts: Iterable[Attempt]) -> tuple[str, ...]:
    """The steps of a run, in order: of a workflow that is not ours those that its study names, or its rules as they
    began."""
    if is_ours(record):
        return PIPELINES[record.spec.pipeline].steps
    if record.job_names and record.job_names.steps:
        return tuple(record.job_names.steps)
    begun = sorted((each for each in attempts if each.start), key=lambda each: str(each.start))
    return tuple(dict.fromkeys(each.step for each in begun))


def read_as(record: RunRecord, samples: Collection[str], attempts: Iterable[Attempt]) -> list[Attempt]:
    """The attempts of a process with these samples: of a workflow that is not ours with their steps and owners.

    A job whose wildcard names no sample belongs to all of them.
    """
    if is_ours(record):
        return list(attempts)
    names = record.job_names or JobNames()
    step_of = {rule: step for step, rules in names.steps.items() for rule in rules}

    def step(attempt: Attempt) -> str:
        own = OTHERS if attempt.rule in names.steps else attempt.rule
        return step_of.get(attempt.rule, own) if names.steps else attempt.step

    def owned_by(attempt: Attempt) -> str:
        named = attempt.wildcards.get(names.wildcard)
        return named if named and named in samples else COHORT

    return [replace(each, step=step(each), owned_by=owned_by(each)) for each in attempts]


def owner(attempt: Attempt) -> str:
    """The sample that a job of a named step belongs to, or the cohort."""
    return attempt.owner or COHORT


def timed(process: Process, steps: Sequence[str]) -> list[Attempt]:
    """The attempts at jobs of named steps."""
    return [attempt for attempt in process.attempts if attempt.step in steps]


def failures(attempts: Iterable[Attempt]) -> dict[str, Attempt]:
    """By sample, or for the cohort, the first job that failed for good; the attempts are at jobs of named steps."""
    found: dict[str, Attempt] = {}
    for attempt in failed_jobs(attempts):
        found.setdefault(owner(attempt), attempt)
    return found


def passed(processes: Iterable[Process], steps: Sequence[str]) -> Passed:
    """What any of the samples and any of the cohorts went through; the processes are of one kind."""
    every = list(processes)
    done = frozenset(attempt.step for process in every for attempt in timed(process, steps) if attempt.succeeded)
    return Passed(done, any(process.exit_code == 0 for process in every))


def passed_in(runs: Sequence[Run]) -> Passed:
    """What runs of one kind went through: of a workflow that is not ours what every sample did in those that ended
    well."""
    if runs[0].ours:
        return passed((process for run in runs for process in run.processes), runs[0].steps)
    every = [
        {each.step for each in run.timed(process) if each.succeeded and owner(each) in (sample, COHORT)}
        for run in runs
        for process in run.processes
        if process.exit_code == 0
        for sample in process.samples
    ]
    return Passed(frozenset(set.intersection(*every)) if every else frozenset(), bool(every), unknown=not every)


def outcomes(run: Run, wanted: Passed) -> list[Outcome]:
    """What came of each sample of a run, in the order of their draw; `wanted` is what all runs of its kind passed."""
    own = Passed()  # of a workflow that is not ours: Snakemake has made all that it was to make
    if run.ours:
        own = Passed(passed(run.processes, run.steps).steps | wanted.steps)
        needed = unavoidable(each.rule for process in run.processes for each in process.attempts)
        wanted = replace(wanted, steps=wanted.steps | (needed & set(run.steps)))
    found = {outcome.sample: outcome for process in run.processes for outcome in judge(process, run.steps, own, wanted)}
    return [found.get(sample) or Outcome(sample, NO_JOB_RAN, message=NOTHING) for sample in run.samples]


def judge(process: Process, steps: Sequence[str], own: Passed, wanted: Passed) -> Iterator[Outcome]:
    """What came of each sample of a process: `own` is what its run passed, `wanted` what all runs of its kind did."""
    done: dict[str, set[str]] = {}
    for attempt in last_attempts(timed(process, steps)):
        done.setdefault(owner(attempt), set()).add(attempt.step)
    failed = failures(timed(process, steps))
    needed = own.steps if process.exit_code == 0 else wanted.steps
    missing = {name: needed - done.get(name, set()) - done.get(COHORT, set()) for name in process.samples}
    seen = any(missing.values()) and wanted.whole
    broken_off = not _is_explained(process, seen) or (wanted.unknown and process.exit_code != 0)
    for sample in process.samples:
        failure = failed.get(sample) or failed.get(COHORT)
        if sample not in done:
            yield Outcome(sample, NO_JOB_RAN, message=f"{NOTHING}; {process.end}")
        elif failure:
            cause = failure.cause or ("killed" if failure.exit_code is None else "unknown")
            log = process.path(failure.log)
            yield Outcome(sample, cause, failure.step, failure.message, log, own=sample in failed)
        elif missing[sample] or broken_off:
            yield _not_finished(sample, process, [step for step in steps if step in missing[sample]])
        else:
            yield Outcome(sample)


def judge_alone(
    attempts: Sequence[Attempt],
    before: Iterable[Attempt],
    steps: Sequence[str],
    exit_code: int | None,
    planned: Iterable[str],
) -> Iterator[Outcome]:
    """What came of each sample of a run that is in no study; `before` are attempts of runs in the same folder.

    What failed in a run before and was not done again is not done. In a run that did not end well those samples
    succeeded, too, that went through what was `planned`.
    """
    samples = {owner(attempt) for attempt in attempts if attempt.step in steps} - {COHORT}
    done = [attempt for attempt in last_attempts(before) if attempt.succeeded]
    own = tuple(sorted(samples))
    process = Process(directory=".", samples=own, exit_code=exit_code, attempts=(*done, *attempts))
    went = passed([process], steps)
    needed = unavoidable(each.rule for each in process.attempts)
    wanted = went.steps | ((frozenset(planned) | needed) & frozenset(steps))
    return judge(process, steps, went, Passed(wanted, went.whole))


def _is_explained(process: Process, seen: bool) -> bool:
    """Whether it is known why a process ended as it did, so that the samples of which nothing is missing are whole.

    It ended well, or a sample was `seen` to be unfinished, or a job failed: any job, but it does not explain a signal.
    """
    failed = bool(failed_jobs(process.attempts))
    return process.exit_code == 0 or seen or (failed and process.exit_code in (JOB_FAILED, None))


def _not_finished(sample: str, process: Process, missing: Sequence[str]) -> Outcome:
    reached = f"it never went through {missing[0]}" if missing else "its run was broken off"
    return Outcome(sample, NOT_FINISHED, missing[0] if missing else None, f"{reached}; {process.end}")
