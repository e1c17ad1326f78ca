"""`gpd run`: run a pipeline on a cohort, and show what it came to."""

import argparse
import re
import secrets
import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.console import Console

from gpd.commands import run_display, run_plan
from gpd.commands.run_display import LEDGER, print_lines
from gpd.commands.run_outcome import Ran, conclude
from gpd.commands.subcommands import Cores, terminal
from gpd.errors import GpdError, Interrupted
from gpd.execution import (
    configuration,
    cpu_waits,
    incomplete_results,
    interruption,
    run_lock,
    snakemake_log,
    workflow,
)
from gpd.execution.configuration import Configuration, ConfigurationError
from gpd.machines import launcher, tool_checks
from gpd.outcomes import COHORT, JOB_FAILED, failures
from gpd.pipelines import PIPELINES, share
from gpd.records.ledger import Attempt, read_ledger
from gpd.records.run_spec import OwnPipeline
from gpd.text.formats import listed

POLICY, LEFT_OUT = "failed_samples", "leave_out"  # keys of the configuration
DROP = ("drop", "drop_on_quality")  # values by which a cohort goes on
CHECKS = ("quality_gate", "sex_check")  # rules beside the steps that fail for a sample: by its quality, by its sex
VERDICTS = "results/qc/samples.tsv"
USUAL_CONFIG = "config/config.yaml"
REFUSE_AGAIN = {"GPD_AGAIN": "refuse"}  # the workflow ends before it makes again what finished samples have


def command(
    context: typer.Context,
    pipeline: Annotated[OwnPipeline, typer.Argument(help="Which pipeline to run.")],
    directory: Annotated[Path, typer.Option(help="Where the run writes.", exists=True, file_okay=False)] = Path(),
    configfile: Annotated[list[Path] | None, typer.Option(help="Configuration, repeatable.", exists=True)] = None,
    profile: Annotated[
        str | None, typer.Option(help="One of the project's by its name, or a folder. Default: chosen by the cohort.")
    ] = None,
    cores: Cores = None,
    yes: Annotated[bool, typer.Option("--yes", help="Make again what finished samples have, too.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="With --dry-run: show each job in full.")] = False,
) -> None:
    """Run a pipeline on a cohort; then show time a step, failures, verdicts on samples, and where the results are.

    Targets, after the pipeline: all (the default), results (without the page of statistics), prepare (indexes and
    dictionaries alone), or files. These and further options go to Snakemake, which alone does the same work.

    Where results that samples have would be made again, as after a change of a key, it says why and starts nothing,
    unless --yes is given. Samples that are new or not finished, and what is made of all samples, need no --yes.

    With --dry-run it starts nothing, and says how many jobs there are, and what disk, time and memory they will need.

    Example: gpd run germline results --cores 32
    """
    folder = workflow.find_profile(profile) if profile else None
    options = (context.args, yes, verbose)
    code = run(pipeline, directory, terminal(), cores, configfile or [], folder, *options)
    raise typer.Exit(code)


def run(
    pipeline: str,
    directory: Path,
    console: Console,
    cores: int | None = None,
    configfiles: Sequence[Path] = (),
    profile: Path | None = None,
    extra: Sequence[str] = (),
    yes: bool = False,
    verbose: bool = False,
) -> int:
    """Run `pipeline` in `directory` and print its tables; 0 where all is done, 1 where something failed, named.

    Without `cores`, all that this process may use: a thread has a core, or a hyperthread with `pinned-smt`; where
    jobs run elsewhere, what the profile says. Times are those of this run alone. Raises GpdError where no job ran, as
    where results that samples have would be made again without `yes`, and Interrupted, after the tables, where a
    signal came.
    """
    usual = directory / USUAL_CONFIG
    if not configfiles and not usual.exists():
        raise GpdError(
            f"{usual}: no such file: a run needs a configuration, and the tables of samples and units that it names: "
            "'gpd init FOLDER' writes them for a folder of reads; or name a configuration with --configfile"
        )
    command = partial(_command, pipeline, directory, cores, configfiles, profile, extra)
    unlock = f"gpd run {pipeline} --directory {shlex.quote(str(directory))} --unlock" if "--unlock" not in extra else ""
    with interruption.catching(), run_lock.hold_folder(directory, unlock) as lock:
        cpu_waits.await_former(directory)
        first = command()  # by the memory that there is, without what a killed run's jobs held
        if not only_asks(extra):
            print_lines(console, incomplete_results.set_aside(directory))
        start = partial(_run, directory, lock, console, workflow.runs_elsewhere(profile, extra), yes)
        runs = [start(first)]
        configured = _configuration(directory, configfiles, pipeline) if runs[0].exit_code else None
        while without := _dropped(pipeline, runs, configured, extra):
            print_lines(console, [f"going on without {listed(without)}"])
            runs.append(start(command(without), without, workflow.log(len(runs) + 1)))
    samples = [row["sample_name"] for row in configured.samples] if configured else []
    plan = snakemake_log.plan
    if only_asks(extra) and not (verbose or prints_commands(extra)):
        plan = partial(
            run_plan.lines, partial(_configuration, directory, configfiles, pipeline), directory, given(first)
        )
    code = conclude(PIPELINES[pipeline], runs, samples, console, plan)
    if any(ran.attempts for ran in runs):
        print_lines(console, run_display.verdict_lines(directory / VERDICTS))
    if not only_asks(extra):
        print_lines(console, run_display.result_lines(directory, snakemake_log.results(runs[-1].output)))
    return code


def only_asks(extra: Iterable[str]) -> bool:
    """Whether Snakemake's options have it run nothing."""
    return any(re.fullmatch(r"--dry-?run|--unlock|-[a-zA-Z]*n[a-zA-Z]*", word) for word in extra)


def prints_commands(extra: Iterable[str]) -> bool:
    """Whether Snakemake's options ask for the commands of jobs."""
    return any(re.fullmatch(r"--printshellcmds|-[a-zA-Z]*p[a-zA-Z]*", word) for word in extra)


def given(command: Sequence[str]) -> int | None:
    """The cores that a command gives Snakemake."""
    return int(command[command.index("--cores") + 1]) if "--cores" in command else None


def _dropped(pipeline: str, runs: Sequence[Ran], configured: Configuration | None, extra: Sequence[str]) -> list[str]:
    """The samples that another Snakemake is to leave out; none where there is none to be started."""
    last = runs[-1]
    if last.exit_code != JOB_FAILED or not configured:
        return []
    attempts = [attempt for ran in runs for attempt in ran.attempts]
    names = dropped(PIPELINES[pipeline].steps, attempts, configured, split_settings(extra)[0])
    return names if set(names) - set(last.without) else []


def dropped(
    steps: Sequence[str], attempts: Iterable[Attempt], configured: Configuration, settings: Iterable[str]
) -> list[str]:
    """The samples that a cohort goes on without, those that the user leaves out among them.

    None where no job failed, or no sample is whole, or the configuration does not want it; `settings` of Snakemake's
    --config go before it.
    """
    pairs = (setting.partition("=") for setting in settings)
    typed = {key: yaml.load(value, yaml.BaseLoader) for key, _, value in pairs if key in (POLICY, LEFT_OUT)}
    config: Mapping[str, Any] = {**configured.config, **typed}
    if config[POLICY] not in DROP:
        return []
    counting = (attempt for attempt in attempts if attempt.rule in CHECKS or attempt.step in steps)
    failed = failures(counting).keys() - {COHORT}
    left_out = failed | set(config[LEFT_OUT])
    others = {row["sample_name"] for row in configured.samples} - left_out
    return sorted(left_out) if failed and others else []


# ---- before ------------------------------------------------------------------------------------------


def _command(
    pipeline: str,
    directory: Path,
    cores: int | None,
    configfiles: Sequence[Path],
    profile: Path | None,
    extra: Sequence[str],
    without: Sequence[str] = (),
) -> list[str]:
    mem_mb: int | None = None
    threads: list[str] = []
    if not workflow.runs_elsewhere(profile, extra):
        configured = _configuration(directory, configfiles, pipeline)
        mem_mb = int(launcher.limits().memory_available_mib)
        smt = workflow.setting_of("pinned-smt", profile, extra) in ("1", "true", "True")
        cores = cores or launcher.usable_cores(smt)
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
            *([f"{LEFT_OUT}=[{','.join(without)}]"] if without else []),  # no name has what YAML reads otherwise
            *threads,
            *tool_checks.conda_options(pipeline),
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
    """The profile for a cohort: one thread a job where no sample has two cores for itself, else an even share of them.

    Returns the profile and further options for Snakemake. Where samples can't be counted, the workflow will say why.
    """
    if samples and 2 * samples > cores:
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


def _run(
    directory: Path,
    lock: int,
    console: Console,
    elsewhere: bool,
    yes: bool,
    command: Sequence[str],
    without: Sequence[str] = (),
    log: str = workflow.LOG,
) -> Ran:
    """Run Snakemake in a folder that is ours alone meanwhile; a signal that ends it is returned, not raised."""
    run_id = f"run-{secrets.token_hex(8)}"
    environment = {"GPD_RUN": run_id} | ({} if yes else REFUSE_AGAIN)
    with run_display.progress(console) as display:
        began = time.monotonic()
        ended: workflow.Finished | Interrupted
        try:
            ended = workflow.run(command, directory / log, display.changed, environment, [lock], elsewhere)
        except Interrupted as interrupted:
            ended = interrupted
        wall_s = time.monotonic() - began
    return Ran(run_id, ended, wall_s, read_ledger(directory / LEDGER), without)
