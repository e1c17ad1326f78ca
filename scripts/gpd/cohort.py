"""Run a pipeline on a cohort and show what it came to; `gpd run` and `gpd demo` end here."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from gpd import configuration, display, launcher, tools, workflow
from gpd.configuration import Configuration, ConfigurationError
from gpd.lab.study import share
from gpd.ledger import read_ledger
from gpd.machines import machine
from gpd.steps import STEPS
from gpd.summary import Summary, summarize

LEDGER = "ledger.jsonl"
USUAL_CONFIG = "config/config.yaml"


def run(
    pipeline: str,
    directory: Path,
    console: Console,
    cores: int | None = None,
    configfiles: Sequence[Path] = (),
    profile: Path | None = None,
    extra: Sequence[str] = (),
) -> int:
    """Run `pipeline` in `directory` and print its tables; Snakemake's exit code.

    Without `cores`, all that this process may use: a thread leases a core, or a hyperthread with `binding.smt`. Times
    are those of this run alone.
    """
    found = _configuration(directory, configfiles, pipeline)
    node, cores = (
        machine.look(directory),
        cores or launcher.usable_cores(bool(found and found.config["binding"]["smt"])),
    )
    profile, options = (profile, []) if profile else choose_profile(found and len(found.samples), cores)
    arguments = workflow.command(
        directory,
        cores=cores,
        mem_mb=int(node.available_gib * 1024),
        profile=profile,
        configfiles=configfiles,
        extra=["--config", f"pipeline={pipeline}", *deployment(pipeline), *options, *extra],
    )
    ledger = directory / LEDGER
    earlier = read_ledger(ledger)
    with display.progress(console) as changed:
        finished = workflow.run(arguments, directory / workflow.LOG, changed)
    attempts = read_ledger(ledger)[len(earlier) :]
    show(summarize(attempts, STEPS[pipeline], earlier, finished.exit_code), finished, console)
    return finished.exit_code


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


def deployment(pipeline: str) -> list[str]:
    """Snakemake's options for where tools come from: conda, where it is there and PATH lacks one."""
    lacking = [tool for tool in tools.needed(tools.read_table(), pipeline) if not shutil.which(tool.command)]
    return ["--sdm", "conda"] if lacking and machine.conda() else []


def show(summary: Summary, finished: workflow.Finished, console: Console) -> None:
    """The tables of a run; where no job ran, what Snakemake said."""
    if not summary.columns:
        console.print("\n".join(finished.said[-20:]), highlight=False, markup=False, soft_wrap=True)
        return
    console.print(display.step_table(summary))
    for line in display.throughput_lines(summary):
        console.print(line, highlight=False)
    if summary.failures:
        console.print(display.failure_table(summary))
