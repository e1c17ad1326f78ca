"""A Snakemake process of a run: its folder laid out, run to its end, and what it left."""

import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import yaml

from gpd.errors import GpdError
from gpd.execution import workflow
from gpd.files import write_text
from gpd.lab import digests, disk_room
from gpd.lab.any_workflow import AnyWorkflow
from gpd.lab.pool import REFERENCE as REFERENCE
from gpd.lab.pool import Source
from gpd.pipelines import PIPELINES
from gpd.records.ledger import Attempt, failed_jobs, read_ledger
from gpd.records.run import InputRecord, OutputRecord, Passage, Settings
from gpd.records.run_spec import INDEPENDENT, RunSpec
from gpd.tables.summary import summarize

LEDGER = "ledger.jsonl"
RESULTS = Path("results")
# independent pipelines are those of the published studies: gatk starts its JVMs as they come, with both compilers; the
# variable has the last word, after the options of rules
AS_THEY_COME = "-XX:+TieredCompilation -XX:TieredStopAtLevel=4"
ENVIRONMENT = {INDEPENDENT: {"GATK_CLASS_ARCHIVE": "", "_JAVA_OPTIONS": AS_THEY_COME}}

Changed = Callable[[str, workflow.Progress], None]


class StudyRunError(GpdError):
    """A run, or what it needs, could not be run at all; the message says why."""


@dataclass(frozen=True)
class Setup:
    """What is the same for every run of a pipeline in a study.

    `settings` is that part of a run's record; `lock` a descriptor that everything started here inherits; `options`
    are Snakemake's. `mem_mb` is what all of its jobs may take together; None: no limit.
    """

    folder: Path
    source: Source
    settings: Settings
    mem_mb: int | None
    keep_results: bool
    lock: int
    options: tuple[str, ...] = ()

    @property
    def pipeline(self) -> str:
        return self.source.config["pipeline"]

    @property
    def prepared(self) -> Path:
        """The folder of what all runs share: indexes, dictionaries, the annotation."""
        return self.folder / "reference" / self.pipeline


@dataclass(frozen=True)
class Share:
    """What each process of a run has of the machine, and what it is to make; `options` are Snakemake's."""

    cores: int
    mem_mb: int | None
    targets: Sequence[str] = ("results",)
    options: Sequence[str] = ()


@dataclass(frozen=True)
class PlannedProcess:
    """A Snakemake process of a run: its folder, and the samples that it takes through the pipeline."""

    folder: Path
    samples: tuple[str, ...]


@dataclass(frozen=True)
class EndedProcess(PlannedProcess):
    """One that has ended, with the attempts at its jobs; in a stream with its way through that. `idle`: no job ran."""

    finished: workflow.Finished
    attempts: tuple[Attempt, ...]
    idle: bool
    passage: Passage | None = None


@dataclass(frozen=True)
class Left:
    """What a process left: what was read of its samples, digests of what they came to, and the size of its results."""

    inputs: Mapping[str, InputRecord]
    outputs: tuple[OutputRecord, ...]
    mib: float | None


Start = Callable[[PlannedProcess], EndedProcess]


class Workload(Protocol):
    """The processes of a run: what each is, when it starts, and what all of them left."""

    @property
    def share(self) -> Share: ...

    def lay_out(self) -> None:
        """Lay out what starts with the run."""
        ...

    def find_room(self, scratch: Path) -> None:
        """Raise GpdError where the disks have no room for its samples."""
        ...

    def run(self, start: Start) -> list[EndedProcess]:
        """Run all of them to their ends."""
        ...

    def left(self, ended: Sequence[EndedProcess]) -> list[Left]:
        """What each of them left."""
        ...


def set_up(process: PlannedProcess, spec: RunSpec, setup: Setup) -> None:
    """Lay out one run: configuration, tables, profile, and links to what is made already.

    That is the reference; of a step all that rules before it have made. A rule's name is its output folder, so that
    all folders but those of the step's rules are its inputs, or of no use.
    """
    settings: dict[str, Any] = {}
    made = [REFERENCE.name] if setup.source.ours else []
    if spec.step:
        settings = of_step(setup.source, spec.samples, spec.step.scatter)
        made = [path.name for path in (setup.prepared / RESULTS).iterdir() if path.name not in spec.step.rules]
    setup.source.lay_out(process.samples, process.folder, **settings)
    for name in made:
        (process.folder / RESULTS).mkdir(exist_ok=True)
        (process.folder / RESULTS / name).symlink_to((setup.prepared / RESULTS / name).resolve())
    profile = workflow.read_profile(workflow.find_profile(spec.profile) / "config.yaml")
    if threads := {**(profile.get("set-threads") or {}), **spec.threads}:
        profile["set-threads"] = threads  # which Snakemake does not take empty
    write_profile(setup.source.profile(profile), process.folder)


def of_step(source: Source, samples: Collection[str], scatter: str) -> dict[str, Any]:
    """What the configuration of a step's run sets: how many shards it scatters into, and where single samples end."""
    ends = {"stop_after": "quantify"} if source.needs_conditions and len(samples) == 1 else {}
    return {"scatter": int(scatter) if scatter.isdecimal() else scatter, **ends}


def write_profile(profile: Mapping[str, Any], folder: Path) -> Path:
    """Write a run's own profile into its folder; the folder of the profile."""
    target = folder / "profile"
    target.mkdir(exist_ok=True)
    write_text(target / "config.yaml", yaml.safe_dump(dict(profile), sort_keys=False))
    return target


def inputs_of(spec: RunSpec, source: Source) -> dict[str, InputRecord]:
    """What a run reads of each of its samples."""
    return {sample: _input(source, sample) for sample in spec.samples}


def _input(source: Source, sample: str) -> InputRecord:
    sizes = [path.stat().st_size for path in source.reads(sample)]
    return InputRecord(digest=source.input_digest(sample), mib=round(sum(sizes) / 1024**2, 3) if sizes else None)


def starter(
    spec: RunSpec,
    setup: Setup,
    share: Share,
    environment: Mapping[str, str],
    cpus: frozenset[int] | None,
    changed: Changed,
) -> Start:
    """What runs one of a run's Snakemake processes to its end."""
    own = replace(setup, mem_mb=share.mem_mb)
    # the study's own lock counts, which no killed run leaves; what was cut off is done again, whatever the profile says
    options = ["--printshellcmds", "--nolock", "--rerun-incomplete", *share.options]

    def attempts_in(folder: Path) -> tuple[Attempt, ...]:
        return tuple(one for one in read_ledger(folder / LEDGER) if one.run == environment["GPD_RUN"])

    def start(process: PlannedProcess) -> EndedProcess:
        folder, name = process.folder, process.folder.name if process.folder.name != spec.name else ""
        report, profile, before = partial(changed, name), process.folder / "profile", len(attempts_in(folder))
        finished = snakemake(own, folder, share.cores, profile, share.targets, options, environment, report, cpus)
        attempts = attempts_in(folder)
        return EndedProcess(folder, process.samples, finished, attempts, idle=len(attempts) == before)

    return start


def snakemake(
    setup: Setup,
    folder: Path,
    cores: int,
    profile: Path,
    targets: Sequence[str],
    options: Sequence[str],
    environment: Mapping[str, str],
    changed: Callable[[workflow.Progress], None],
    cpus: frozenset[int] | None = None,
) -> workflow.Finished:
    every = [*setup.options, *options, "--", *targets]
    return workflow.run(
        workflow.command(
            *(folder.resolve(), cores, setup.mem_mb, profile.resolve(), [], every),
            snakefile=setup.source.snakefile,
            python=setup.source.python,
        ),
        folder / workflow.LOG,
        changed,
        environment=environment,
        locks=[setup.lock],
        cpus=cpus,
    )


def left(process: EndedProcess, setup: Setup, inputs: Mapping[str, InputRecord]) -> Left:
    """What a process left; without `inputs` no more than the size of its results is looked at.

    Of a workflow that is not ours no more is known than what it read. Raises StudyRunError where that is of others.
    """
    if isinstance(setup.source, AnyWorkflow):
        setup.source.refuse_strangers(process.samples, process.attempts, process.folder)
        return Left(inputs, (), None)
    read = dict(_inputs(process, setup, inputs)) if inputs else {}
    made = tuple(_outputs(process, setup.pipeline)) if inputs else ()
    return Left(read, made, disk_room.used_mib(process.folder / RESULTS))


def refuse_failed(finished: workflow.Finished, attempts: Iterable[Attempt], folder: Path) -> None:
    """Raise StudyRunError where a run in a folder did not end well: the jobs of it that failed, with their logs."""
    if finished.exit_code:
        lines = [f"{each.rule}: {each.message} (log: {folder / each.log})" for each in failed_jobs(attempts)]
        raise StudyRunError("\n".join(lines) or finished.reason)


def _inputs(
    process: PlannedProcess, setup: Setup, inputs: Mapping[str, InputRecord]
) -> Iterator[tuple[str, InputRecord]]:
    """What was read of each sample, with reads and bases, and how they mapped, as far as it went."""
    for sample in process.samples:
        yield sample, replace(inputs[sample], **digests.read_counts(setup.pipeline, process.folder / RESULTS, sample))


def _outputs(process: EndedProcess, pipeline: str) -> list[OutputRecord]:
    """Digests of what the samples that succeeded came to."""
    summary = summarize(process.attempts, PIPELINES[pipeline].steps, exit_code=process.finished.exit_code)
    return digests.outputs(pipeline, process.folder / RESULTS, summary.succeeded)


def remove_results(process: EndedProcess, source: Source) -> None:
    if isinstance(source, AnyWorkflow):
        source.clean(process.folder, process.attempts)
        return
    shutil.rmtree(process.folder / RESULTS, ignore_errors=True)
    shutil.rmtree(process.folder / ".snakemake", ignore_errors=True)
