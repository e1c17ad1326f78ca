"""What came of `gpd run`: its tables, the samples that failed and those that they held up, its exit code."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console

from gpd.commands import run_display
from gpd.commands.run_display import MOST_NAMED
from gpd.commands.subcommands import print_lines
from gpd.errors import GpdError, Interrupted
from gpd.execution import snakemake_log, workflow
from gpd.outcomes import COHORT, owner
from gpd.pipelines import Pipeline
from gpd.records.ledger import Attempt, failed_jobs, last_attempts
from gpd.tables import disturbances
from gpd.tables.summary import summarize
from gpd.text.formats import counted, listed, some

LEFT_OUT_TABLE = "results/left_out.tsv"  # beside a cohort's results, where they are without any
DONE, FAILED = 0, 1  # exit codes
GO_ON = "what is done is kept, and what was cut off is done again: the same command goes on"


@dataclass(frozen=True)
class Ran:
    """A Snakemake that is over: its output, or the signal that ended it; its id is in its records.

    `recorded` is all that the ledger then held; `without`: the samples that were left out.
    """

    run_id: str
    ended: workflow.Finished | Interrupted
    wall_s: float
    recorded: Sequence[Attempt]
    without: Sequence[str] = ()

    @property
    def output(self) -> tuple[str, ...]:
        return () if isinstance(self.ended, Interrupted) else self.ended.output

    @property
    def exit_code(self) -> int | None:
        """None where a signal ended it."""
        return None if isinstance(self.ended, Interrupted) else self.ended.exit_code

    @property
    def attempts(self) -> list[Attempt]:
        """At its own jobs."""
        return [attempt for attempt in self.recorded if attempt.run == self.run_id]


def conclude(
    pipeline: Pipeline,
    runs: Sequence[Ran],
    samples: Sequence[str],
    console: Console,
    plan: Callable[[Sequence[str]], list[str]] = snakemake_log.plan,
) -> int:
    """Show what came of a run: one Snakemake, and those that went on without samples; the exit code.

    `samples`: of a run that did not end well, all that are in the tables. `plan` says what is shown of Snakemake's
    output where no job ran.
    """
    ids, last = {ran.run_id for ran in runs}, runs[-1]
    attempts = [attempt for ran in runs for attempt in ran.attempts]
    earlier = [attempt for attempt in last.recorded if attempt.run not in ids]
    if isinstance(last.ended, Interrupted):
        if attempts:
            show(pipeline, attempts, earlier, console, None)
        killed = [attempt for attempt in last_attempts(attempts) if not _ended_by_itself(attempt)]
        cut_off = [" ".join([attempt.rule, *attempt.wildcards.values()]) for attempt in killed]
        raise Interrupted(last.ended.signum, cut_off, GO_ON)
    if attempts:
        planned = pipeline.steps_of(snakemake_log.planned_rules(runs[0].output))
        show(pipeline, attempts, earlier, console, runs[0].exit_code, sum(ran.wall_s for ran in runs), planned)
        begun = {owner(attempt) for attempt in (*attempts, *earlier)}
        if set(planned) & set(pipeline.steps) and (left := [name for name in samples if name not in begun]):
            print_lines(console, [f"not begun: {some(left, MOST_NAMED)}"])
    if last.without:
        print_lines(console, _went_on(pipeline, last))
    if runs[0].exit_code == 0:
        print_lines(console, [] if attempts else plan(last.output))
        return DONE
    return _exit_code(last.ended, attempts, console)


def _went_on(pipeline: Pipeline, last: Ran) -> list[str]:
    """What the last Snakemake made without samples that had failed."""
    attempts, without = last.attempts, listed(last.without)
    if last.exit_code and not failed_jobs(attempts):
        return [f"did not go on without {without}:", *snakemake_log.reason(last.output)]
    made = {attempt.step for attempt in attempts if owner(attempt) == COHORT and attempt.succeeded}
    if steps := [step for step in pipeline.steps if step in made]:
        return [f"went on without {without}: {listed(steps)}; {LEFT_OUT_TABLE} names the missing samples"]
    return [f"went on without {without}: no step of the cohort was left to do"]


def _exit_code(finished: workflow.Finished, attempts: Sequence[Attempt], console: Console) -> int:
    """The exit code of what did not end well; the reason is printed. Raises GpdError where no job ran."""
    if failed := failed_jobs(attempts):
        print_lines(console, [f"{counted(len(failed), 'job')} failed"])
        return FAILED
    if again := next((line for line in finished.output if line.startswith(snakemake_log.AGAIN)), None):
        raise GpdError(f"{again}; nothing was started: --yes makes them again, --dry-run --verbose shows each job")
    if not attempts:
        raise GpdError(finished.reason)
    print_lines(console, ["not everything was done:", *finished.reason.splitlines()])
    return FAILED


def show(
    pipeline: Pipeline,
    attempts: Sequence[Attempt],
    earlier: Sequence[Attempt],
    console: Console,
    exit_code: int | None,
    wall_s: float | None = None,
    planned: Iterable[str] = (),
) -> None:
    """The tables of a run: its steps, what it came to, every job that failed, and the samples that others held up.

    Of one that a signal ended (`exit_code` None), what it came to is no figure, and jobs cut off are no failures.
    """
    steps, whole = pipeline.steps, exit_code is not None
    summary = summarize(attempts, steps, earlier, exit_code, wall_s, planned)
    if summary.columns:
        console.print(run_display.step_table(summary))
        if whole:
            waited = disturbances.waited([one for one in attempts if one.step in steps], summary.makespan_s)
            print_lines(console, run_display.finished_lines(summary, waited))
    if failures := summary.failures if whole else failed_jobs(filter(_ended_by_itself, attempts)):
        console.print(run_display.failure_table(failures))
    if whole:
        print_lines(console, run_display.unfinished_lines(summary))


def _ended_by_itself(attempt: Attempt) -> bool:
    return attempt.cause != "killed"
