"""What is made before the runs of a study: what all of them share, what a step starts from, and plans without a run."""

import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpd.execution import workflow
from gpd.lab.pool import Source
from gpd.lab.snakemake_process import (
    LEDGER,
    Changed,
    Setup,
    StudyRunError,
    refuse_failed,
    snakemake,
    write_profile,
)
from gpd.pipelines import PIPELINES, share
from gpd.records.ledger import read_ledger
from gpd.records.run_spec import RunSpec, StepCopies


def prepare(setup: Setup, cores: int, changed: Changed) -> None:
    """Make what all runs of a pipeline share, and have the workflow check all of its pool. Raises StudyRunError.

    A workflow that is not ours is planned, and nothing is made.
    """
    if not setup.source.ours:
        plan_dry(setup.source)
        return
    setup.source.lay_out([member.name for member in setup.source.members], setup.prepared)
    _make(setup, cores, workflow.PROFILES / "default", ["prepare"], ["--nolock"], changed)


def prepare_step(spec: RunSpec, step: StepCopies, setup: Setup, changed: Changed) -> None:
    """Run the workflow up to a step, on all cores, and keep what it makes on the way. Raises StudyRunError."""
    everyone = [member.name for member in setup.source.members]
    setup.source.lay_out(everyone if PIPELINES[spec.pipeline].of_cohort else spec.samples, setup.prepared)
    profile = workflow.read_profile(workflow.PROFILES / "default" / "config.yaml") | {
        "set-threads": share(1, spec.cores)
    }
    options = ["--nolock", "--notemp", "--omit-from", *step.rules]
    _make(setup, spec.cores, write_profile(profile, setup.prepared), step.targets, options, changed)


def _make(
    setup: Setup, cores: int, profile: Path, targets: Sequence[str], options: Sequence[str], changed: Changed
) -> None:
    """Run Snakemake in the folder that all runs share. Raises StudyRunError where it does not end well."""
    folder, earlier = setup.prepared, len(read_ledger(setup.prepared / LEDGER))
    finished = snakemake(setup, folder, cores, profile, targets, options, {}, lambda state: changed("", state))
    refuse_failed(finished, read_ledger(folder / LEDGER)[earlier:], folder)


def plan_dry(
    source: Source,
    samples: Collection[str] | None = None,
    threads: Mapping[str, int] | None = None,
    cores: int = 1,
    mem_mb: int | None = None,
    **settings: Any,
) -> list[str]:
    """Have the workflow check a pool and plan; nothing is run. What Snakemake says.

    Of a throughput study all samples are planned. Raises StudyRunError with what it says.
    """
    with tempfile.TemporaryDirectory(prefix="gpd-") as scratch:
        folder = Path(scratch)
        source.lay_out(samples or [member.name for member in source.members], folder, **settings)
        profile = workflow.read_profile(workflow.PROFILES / "default" / "config.yaml")
        written = write_profile(profile | ({"set-threads": dict(threads)} if threads else {}), folder)
        quiet = [] if threads else ["--quiet", "all"]
        options = [*source.options, "--dry-run", "--nolock", *quiet, "--", *source.targets]
        arguments = workflow.command(
            folder, cores, mem_mb, written, [], options, snakefile=source.snakefile, python=source.python
        )
        finished = workflow.run(arguments, folder / workflow.LOG, lambda state: None)
        if finished.exit_code:
            raise StudyRunError(finished.reason)
        return list(finished.output)
