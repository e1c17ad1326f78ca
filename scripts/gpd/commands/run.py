"""`gpd run`: run a pipeline on a cohort, and show what it came to."""

import argparse
import secrets
import shlex
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from gpd.commands import run_display
from gpd.commands.verbs import Cores, Pipeline, terminal
from gpd.errors import GpdError, Interrupted
from gpd.execution import configuration, deployment, interruption, run_lock, said, waiting, workflow
from gpd.execution.configuration import Configuration, ConfigurationError
from gpd.machines import launcher, machine
from gpd.pipelines import PIPELINES, share
from gpd.records.ledger import Attempt, last_attempts, read_ledger
from gpd.tables.summary import summarize
from gpd.text.formats import counted

LEDGER = "ledger.jsonl"
USUAL_CONFIG = "config/config.yaml"
DONE, FAILED = 0, 1  # exit codes
GO_ON = "what is done is kept, and what was cut off is done again: the same command goes on"


class RunError(GpdError):
    """A run that can't be started, or that ended without a single job."""


def command(
    context: typer.Context,
    pipeline: Annotated[Pipeline, typer.Argument(help="Which pipeline to run.")],
    directory: Annotated[Path, typer.Option(help="Where the run writes.", exists=True, file_okay=False)] = Path(),
    configfile: Annotated[list[Path] | None, typer.Option(help="Configuration, repeatable.", exists=True)] = None,
    profile: Annotated[
        str | None, typer.Option(help="One of the project's by its name, or a folder. Default: chosen by the cohort.")
    ] = None,
    cores: Cores = None,
) -> None:
    """Run a pipeline on a cohort, and show time a step, failures and samples a day.

    Targets, after the pipeline: all (the default), results (without the page of statistics), prepare (indexes and
    dictionaries alone), or files. These and further options go to Snakemake, which alone does the same work.

    Example: gpd run germline results --cores 32
    """
    folder = workflow.find_profile(profile) if profile else None
    code = run(pipeline, directory, terminal(), cores, configfile or [], folder, extra=context.args)
    raise typer.Exit(code)


@dataclass(frozen=True)
class Ran:
    """A run that is over: what Snakemake left, or the signal that ended it; its id is in its records."""

    run_id: str
    ended: workflow.Finished | Interrupted
    wall_s: float


def run(
    pipeline: str,
    directory: Path,
    console: Console,
    cores: int | None = None,
    configfiles: Sequence[Path] = (),
    profile: Path | None = None,
    extra: Sequence[str] = (),
) -> int:
    """Run `pipeline` in `directory` and print its tables; 0 where all is done, 1 where something failed, named.

    Without `cores`, all that this process may use: a thread leases a core, or a hyperthread with `binding.smt`; where
    jobs run elsewhere, what the profile says. Times are those of this run alone. Raises GpdError where no job ran, and
    Interrupted, after the tables, where a signal came.
    """
    _refuse_no_config(directory, configfiles)
    command = _command(pipeline, directory, cores, configfiles, profile, extra)
    unlock = "" if "--unlock" in extra else _unlock(pipeline, directory)
    ran = _run(directory, command, unlock, console, workflow.runs_elsewhere(profile, extra))
    recorded = read_ledger(directory / LEDGER)
    attempts = [attempt for attempt in recorded if attempt.run == ran.run_id]
    earlier = [attempt for attempt in recorded if attempt.run != ran.run_id]
    if isinstance(ran.ended, Interrupted):
        if attempts:
            show(pipeline, attempts, earlier, console, None)
        cut_off = [_name(attempt) for attempt in last_attempts(attempts) if not _ended_by_itself(attempt)]
        raise Interrupted(ran.ended.signum, cut_off, GO_ON)
    if ran.ended.exit_code:
        attempts = with_failed(attempts, said.failed_jobs(ran.ended.said))
    if attempts:
        show(pipeline, attempts, earlier, console, ran.ended.exit_code, ran.wall_s)
    return _verdict(ran.ended, attempts, console)


def _verdict(finished: workflow.Finished, attempts: Sequence[Attempt], console: Console) -> int:
    """The exit code; one that is not 0 has its reason said. Raises RunError where no job ran."""
    if not finished.exit_code:
        if not attempts:
            _print(console, said.plan(finished.said))
        return DONE
    if failed := sum(not attempt.succeeded for attempt in last_attempts(attempts)):
        _print(console, [f"{counted(failed, 'job')} failed"])
        return FAILED
    reason = said.reason(finished.said) or [f"Snakemake ended with exit code {finished.exit_code} and said nothing"]
    if not attempts:
        raise RunError("\n".join(reason))
    _print(console, ["not everything was done:", *reason])
    return FAILED


def _print(console: Console, lines: Iterable[str]) -> None:
    console.print("\n".join(lines), highlight=False, markup=False, soft_wrap=True)


# ---- before ------------------------------------------------------------------------------------------


def _refuse_no_config(directory: Path, configfiles: Sequence[Path]) -> None:
    if not configfiles and not (usual := directory / USUAL_CONFIG).exists():
        raise RunError(
            f"{usual}: no such file: a run needs a configuration, and the tables of samples and units that it names; "
            f"copy {workflow.ROOT / 'config'} here and fill it in (its README.md describes every key), or name a "
            "configuration with --configfile"
        )


def _command(
    pipeline: str,
    directory: Path,
    cores: int | None,
    configfiles: Sequence[Path],
    profile: Path | None,
    extra: Sequence[str],
) -> list[str]:
    mem_mb: int | None = None
    threads: list[str] = []
    if not workflow.runs_elsewhere(profile, extra):
        configured = _configuration(directory, configfiles, pipeline)
        mem_mb = int(machine.look(directory).available_gib * 1024)
        cores = cores or launcher.usable_cores(bool(configured and configured.config["binding"]["smt"]))
        samples = len(configured.samples) if configured else None
        profile, threads = (profile, []) if profile else choose_profile(samples, cores)
    settings, rest = split_settings(extra)
    return workflow.command(
        directory,
        cores=cores,
        mem_mb=mem_mb,
        profile=profile,
        configfiles=configfiles,
        options=[
            "--config",
            f"pipeline={pipeline}",
            *settings,
            *threads,
            *deployment.options(pipeline),
            "--rerun-incomplete",
        ],
        extra=rest,
    )


def split_settings(extra: Sequence[str]) -> tuple[list[str], list[str]]:
    """Take settings of --config out of Snakemake's options, for a second --config would replace ours.

    What follows --config without an equals sign is a target: Snakemake itself would refuse it as a setting.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("-C", "--config", nargs="*", action="extend", default=[])
    ours, rest = parser.parse_known_args(extra)
    settings = [word for word in ours.config if "=" in word]
    return settings, rest + [word for word in ours.config if "=" not in word]


def choose_profile(samples: int | None, cores: int) -> tuple[Path, list[str]]:
    """The profile for a cohort: one thread a job where there is a sample for each core, else an even share of them.

    Returns the profile and further options for Snakemake. Where samples can't be counted, the workflow will say why.
    """
    if samples and samples >= cores:
        return workflow.PROFILES / "throughput", []
    threads = [f"{rule}={count}" for rule, count in share(samples, cores).items()] if samples else []
    return workflow.PROFILES / "default", ["--set-threads", *threads] if threads else []


def _configuration(directory: Path, configfiles: Sequence[Path], pipeline: str) -> Configuration | None:
    """What the workflow will read; None where it would refuse the configuration or the tables, and say why."""
    usual = [directory / USUAL_CONFIG] if (directory / USUAL_CONFIG).exists() or not configfiles else []
    try:
        return configuration.read([*usual, *configfiles], directory, pipeline)
    except ConfigurationError:
        return None


# ---- the run -----------------------------------------------------------------------------------------


def _run(directory: Path, command: Sequence[str], unlock: str, console: Console, elsewhere: bool) -> Ran:
    """Run Snakemake in a folder that is ours alone meanwhile."""
    run_id = f"run-{secrets.token_hex(8)}"
    with interruption.catching(), run_lock.hold_folder(directory, unlock) as lock:
        waiting.await_former(directory)
        with run_display.progress(console) as shown, waiting.watch(directory, shown.waits):

            def changed(state: workflow.Progress) -> None:
                run_lock.note_snakemakes(directory, lock)
                shown.changed(state)

            began = time.monotonic()
            ended: workflow.Finished | Interrupted
            try:
                environment = {"GPD_RUN": run_id}
                log = directory / workflow.LOG
                ended = workflow.run(command, log, changed, environment, [lock.descriptor], elsewhere)
            except Interrupted as interrupted:
                ended = interrupted
            return Ran(run_id, ended, time.monotonic() - began)


def _unlock(pipeline: str, directory: Path) -> str:
    return f"gpd run {pipeline} --directory {shlex.quote(str(directory))} --unlock"


# ---- after -------------------------------------------------------------------------------------------


def with_failed(attempts: Sequence[Attempt], failed: Iterable[said.FailedJob]) -> list[Attempt]:
    """The attempts, and beside them the jobs that failed by Snakemake's word alone.

    A launcher that never started leaves no record, and one whose command ended well knows of no missing output.
    """
    last = {attempt.job: attempt for attempt in last_attempts(attempts)}
    completed = list(attempts)
    for job in failed:
        failure = Attempt(
            rule=job.rule,
            step=job.rule,
            wildcards=job.wildcards,
            threads=0,
            start=None,
            end=None,
            wall_s=None,
            exit_code=1,
            message=job.message,
            log=job.log,
        )
        recorded = last.get(failure.job)
        if recorded is None:
            completed.append(failure)
        elif recorded.succeeded:
            completed.append(replace(failure, step=recorded.step))
    return completed


def show(
    pipeline: str,
    attempts: Sequence[Attempt],
    earlier: Sequence[Attempt],
    console: Console,
    exit_code: int | None,
    wall_s: float | None = None,
) -> None:
    """The tables of a run: its steps, what it came to, and every job that failed.

    Of one that a signal ended (`exit_code` None), what it came to is no figure, and jobs cut off are no failures.
    """
    steps, whole = PIPELINES[pipeline].steps, exit_code is not None
    summary = summarize(attempts, steps, earlier, exit_code, wall_s)
    if summary.columns:
        console.print(run_display.step_table(summary))
    if summary.columns and whole:
        waited_s = waiting.waited_s(attempt for attempt in attempts if attempt.step in steps)
        for line in run_display.throughput_lines(summary, waited_s):
            console.print(line, highlight=False)
    failures = summary.failures if whole else summarize(filter(_ended_by_itself, attempts), steps).failures
    if failures:
        console.print(run_display.failure_table(failures))


def _ended_by_itself(attempt: Attempt) -> bool:
    return attempt.cause != "killed"


def _name(attempt: Attempt) -> str:
    return " ".join([attempt.rule, *attempt.wildcards.values()])
