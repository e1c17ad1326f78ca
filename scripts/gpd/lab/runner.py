"""Run a study: its runs one after the other, each once, whatever interrupted it before."""

import re
import statistics
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from functools import partial
from itertools import accumulate, chain
from pathlib import Path

from gpd.errors import Interrupted
from gpd.execution import cpu_waits, interruption, run_lock, workflow
from gpd.lab import any_workflow, placement, pool_files, provenance, single_run, study
from gpd.lab.placement import Placement
from gpd.lab.pool import Source, longest_name, read_pool
from gpd.lab.pool_files import MadeFile
from gpd.lab.snakemake_process import REFERENCE, Changed, Setup, StudyRunError
from gpd.lab.study import Sample, Study, StudyError
from gpd.machines import launcher, tools
from gpd.outcomes import NO_JOB_RAN, NOT_FINISHED
from gpd.records.binding import Binding
from gpd.records.host import machine_differences
from gpd.records.run import SPEC, RunRecord, Settings, read_run, read_spec
from gpd.records.run_spec import CLUSTER, INDEPENDENT, SHARED, STREAM, CurveKey, PipelineName, RunSpec
from gpd.records.study import AUTO, DESIGN, FILE, SECONDS, StudyRecord
from gpd.statistics.saturation import Observation
from gpd.statistics.stream import LEAST_BATCHES, LEAST_ENDS
from gpd.tables import collect, repeats, search, streams
from gpd.tables.collect import Tables
from gpd.tables.columns import ConfigurationRow, SampleRow
from gpd.tables.faults import DATA, LOAD
from gpd.tables.repeats import RepeatStats
from gpd.text.formats import SECONDS_PER_DAY, number

LOCK = ".lock"
MOST_ARRIVALS = 10_000  # of samples in a window
WARM_UP = re.compile(r"-warmup(\d+)")  # in the name of a run
UNREACHED = (NO_JOB_RAN, NOT_FINISHED)  # causes of samples of which no job failed

# of a record's settings, with the words for them: what has to be the same in all runs of a study
MADE_WITH = {
    "config_digest": "configuration",
    "reference_digest": "reference",
    "workflow_digest": "workflow",
    "environments_digest": "set of conda environments",
    "tools": "version of a tool",
    "environment": "set of environment variables",
}
# of the record itself, what each run has of its own
MADE_WITH_BY_RUN = {
    "profile_digest": "content of the profile",
    "binding": "binding",
    "job_names": "list of steps, or wildcard",
}


@dataclass(frozen=True)
class StudyPlan:
    """A study with the samples of its pools: what can be said before anything runs.

    `cores` are those of one node; which nodes Slurm places jobs on, `placement` says. `usable` are the cores of this
    machine, where it is to run the study. `steps` are runs of single steps, in place of those that follow from the
    settings, and `mem_mb` is what all of their jobs may take together.
    """

    study: Study
    sources: Mapping[PipelineName, Source]
    cores: int
    placement: Placement | None = None
    usable: int | None = None
    steps: tuple[RunSpec, ...] = ()
    mem_mb: int | None = None

    @property
    def too_many(self) -> str | None:
        """Why this machine can't run the study, if so; its plan is one for another machine."""
        if self.usable is None or self.cores <= self.usable:
            return None
        return f"cores: {self.cores} are more than the {self.usable} that may be used here"

    @property
    def specs(self) -> list[RunSpec]:
        """The runs whose N is known; of a search those that have ended, and those that follow from them."""
        return self.without(_bad_samples(_failed(self)))

    def without(self, bad: Mapping[str, Collection[str]]) -> list[RunSpec]:
        """The runs whose N is known, where these samples of each pipeline have bad data."""
        if self.steps:
            return list(self.steps)
        seen = _repeats_so_far(self) if self.study.repeats == AUTO else {}
        if self.study.concurrent_samples:
            return [*study.grid(self.study, self.pools, self.cores, bad, seen), *_streams(self, bad)]
        observed, left = _sought(self.study.folder), budget_of(self)
        return [
            spec
            for name, pool in self.pools.items()
            for spec in study.search(self.study, name, pool, self.cores, bad.get(name, ()), observed, seen, left.seeks)
        ]

    @property
    def pools(self) -> dict[PipelineName, list[Sample]]:
        """The samples that runs draw from, copies among them."""
        return {name: study.with_copies(source.members, self.study.copies) for name, source in self.sources.items()}

    @property
    def made_files(self) -> list[MadeFile]:
        """The read files that the study makes of its pools'."""
        return [file for source in self.sources.values() for file in pool_files.made_files(self.study, source)]


@dataclass(frozen=True)
class StudyCallbacks:
    """What is called while a study runs: before and after each run, at each change within, and when jobs wait.

    `end` has the lines that say why a run could not be run to its end.
    """

    begin: Callable[[RunSpec | None, str, StudyPlan], None]
    changed: Changed
    end: Callable[[RunSpec, Sequence[str]], None]


def read(path: Path) -> tuple[Study, dict[PipelineName, Source]]:
    """Read a study and its pools, whatever machine it is for.

    Raises StudyError with a line for each fault that shows without running anything.
    """
    settings = study.read_study(path)
    if faults := [f"{path}: {fault}" for fault in _faults_of_workflows(settings)]:
        raise StudyError("\n".join(faults))
    sources: dict[PipelineName, Source] = {
        name: any_workflow.read(name, pool) if pool.workflow else read_pool(name, pool)
        for name, pool in settings.pipelines.items()
    }
    for profile in (*settings.profiles.values(), *(pool.profile for pool in settings.pipelines.values())):
        workflow.find_profile(profile)
    if faults := [f"{path}: {fault}" for fault in _faults(settings, sources)]:
        raise StudyError("\n".join(faults))
    return settings, sources


def make_plan(path: Path) -> StudyPlan:
    """Read a study that is to run here, or on nodes that Slurm tells of. Raises StudyError as read() does."""
    settings, sources = read(path)
    if settings.on_nodes:
        profile = workflow.read_profile(workflow.find_profile(settings.profiles[CLUSTER]) / "config.yaml")
        placed = placement.find(profile, max(settings.nodes))
        plan = StudyPlan(settings, sources, settings.cores or placed.cores, placed)
    else:
        usable = launcher.usable_cores(smt=False)
        plan = StudyPlan(_with_threads(settings, usable), sources, settings.cores or usable, usable=usable)
    refuse_changed(plan)
    if faults := [f"{path}: {fault}" for fault in _faults_of_streams(plan)]:
        raise StudyError("\n".join(faults))
    return plan


def _with_threads(settings: Study, usable: int) -> Study:
    """A study whose SMT is on or off, with the threads of a core. Raises StudyError where there is one alone."""
    if True not in settings.smt or settings.threads_per_core:
        return settings
    threads = launcher.usable_cores(smt=True)
    if threads <= usable:
        raise StudyError("smt: on: no core has a second thread that may be used here: leave it out, or set it to [off]")
    return replace(settings, threads_per_core=threads / usable)


def _faults_of_workflows(settings: Study) -> Iterator[str]:
    """Lines about what goes with our pipelines alone."""
    if not (others := [name for name, pool in settings.pipelines.items() if pool.workflow]):
        return
    if unfit := [mode for mode in settings.modes if mode not in (SHARED, INDEPENDENT)]:
        yield f"modes: {unfit[0]}: {others[0]} is a workflow of yours: shared and independent go with it"
    if settings.subsample or settings.copies > 1:
        key = "subsample" if settings.subsample else "copies"
        yield f"{key}: which files of {others[0]} are reads is not known: leave it out"


def _faults(settings: Study, sources: Mapping[PipelineName, Source]) -> Iterator[str]:
    """Lines about settings that do not go together, or not with the pools."""
    if settings.on_nodes and len(settings.modes) > 1:
        yield "modes: cluster stands alone in a study: this machine is none of its nodes"
    if settings.on_nodes and settings.cache != "as_is":
        yield f"cache: the page cache of other machines can't be made {settings.cache}: as_is goes with mode cluster"
    if settings.on_nodes and settings.smt:
        yield "smt: in mode cluster Slurm grants threads: leave it out"
    if settings.smt and any(Binding.parse(name).smt is not None for name in settings.bindings):
        yield "bindings: smt is a key of the study: name it there"
    bindings: dict[tuple, str] = {}
    for name in settings.bindings:  # of two that are the same a curve would be run twice
        same = bindings.setdefault(tuple(Binding.parse(name).variables.items()), name)
        if same != name:
            yield f"bindings: {same} and {name} are the same: name one"
    known = frozenset[str]().union(*(source.rules_of(name) for name, source in sources.items()))
    for name in settings.threads.keys() - known:  # Snakemake passes over them
        close = get_close_matches(name, known, n=1)
        hint = f"; did you mean {close[0]}?" if close else f"; known are {', '.join(sorted(known))}"
        yield f"threads: {name}: no rule of {' and '.join(settings.pipelines)}{hint}"
    if settings.streams and settings.window is None:
        yield "window: mode stream needs one, such as 30m"
    if settings.streams and not settings.concurrent_samples:
        yield "concurrent_samples: mode stream needs a list, such as [4]: no stream is sought"
    unused = [name for name in ("window", "window_warm_up", "arrivals") if getattr(settings, name) is not None]
    if unused and not settings.streams:
        yield f"{unused[0]}: it goes with mode stream: name that among the modes, or leave it out"
    batches = set(settings.modes) - {STREAM}
    for pipeline, source in sources.items():
        pool = study.with_copies(source.members, settings.copies)
        if batches and (most := max(settings.concurrent_samples, default=1)) > len(pool):
            yield f"concurrent_samples: {most} is more than the {len(pool)} samples in the pool of {pipeline}"
        yield from _faults_of_copies(pipeline, source, [sample.name for sample in pool])
        if source.needs_conditions:
            remedy = "set stop_after: quantify in its configuration" if source.ours else "leave condition out"
            if INDEPENDENT in settings.modes or settings.streams:
                which = "independent runs" if INDEPENDENT in settings.modes else "the pipelines of a stream"
                yield f"modes: {which} take one sample each, and {pipeline} compares conditions: {remedy}"
            if not settings.concurrent_samples or min(settings.concurrent_samples) < 2:
                yield f"concurrent_samples: {pipeline} compares conditions, so list numbers from 2, or {remedy}"
        longest = longest_name() - len(study.copy_name("", 10**study.MOST_DIGITS - 1))
        if settings.streams and (long := [member.name for member in source.members if len(member.name) > longest]):
            yield (
                f"pipelines.{pipeline}: {long[0]}: a name of {len(long[0])} characters: mode stream adds a number to "
                f"names, so that {longest} are the most"
            )


def _faults_of_copies(pipeline: PipelineName, source: Source, names: Sequence[str]) -> Iterator[str]:
    """Lines about copies of samples that can't be: whose names there are already, or stand in their files."""
    if twice := sorted(name for name, count in Counter(names).items() if count > 1):
        yield f"copies: {twice[0]} is a sample in the pool of {pipeline}, and a copy's name: rename that sample"
    kept = source.config.get("bam_input") == "keep"
    if len(names) > len(source.members) and kept and any(row.get("bam") for row in source.units):
        yield f"copies: alignments of {pipeline} that are kept name their samples: set bam_input: remap, or copies: 1"


def _faults_of_streams(plan: StudyPlan) -> Iterator[str]:
    """Lines about streams that would tell nothing, by the cores and by what runs that have ended tell."""
    settings = plan.study
    if not settings.streams or settings.window_s is None:
        return
    if (most := max(settings.concurrent_samples)) > plan.cores:
        yield f"concurrent_samples: mode stream: {most} samples at once are more than the {plan.cores} cores"
    for pipeline, a_second in _rates(plan).items():
        if settings.window_s * a_second < LEAST_ENDS:
            yield (
                f"window: {settings.window} is shorter than {LEAST_ENDS} samples of {pipeline}, "
                f"which take {number(LEAST_ENDS / a_second)} s at the rate of the runs that have ended"
            )
    for spec in plan.specs:
        if spec.stream and spec.stream.per_day:
            expected = spec.stream.per_day * spec.stream.window_s / SECONDS_PER_DAY
            if not LEAST_ENDS <= expected <= MOST_ARRIVALS:
                yield (
                    f"arrivals: {number(spec.stream.per_day)} a day are {number(expected)} samples in a window of "
                    f"{settings.window}: from {LEAST_ENDS} to {MOST_ARRIVALS:,} tell something"
                )


def short_windows(plan: StudyPlan) -> Iterator[str]:
    """Lines about windows that tell a rate without an interval, by what runs that have ended tell."""
    settings = plan.study
    rates = _rates(plan) if settings.streams else {}
    for pipeline, a_second in rates.items():
        ends = (settings.window_s or 0.0) * a_second
        if small := [n for n in settings.concurrent_samples if ends < LEAST_BATCHES * n]:
            yield (
                f"window: {settings.window} holds about {number(ends)} samples of {pipeline} at the rate of the runs "
                f"that have ended: for an interval with {max(small)} at once set "
                f"{number(LEAST_BATCHES * max(small) / a_second / SECONDS['m'])}m or more"
            )


def _rates(plan: StudyPlan) -> dict[PipelineName, float]:
    """Samples a second of each pipeline: the most that any batch that has ended gave."""
    rates: dict[PipelineName, float] = {}
    for _, record in _finished(plan):
        spec = record.spec
        if not spec.step and not spec.stream and record.wall_s:
            rates[spec.pipeline] = max(rates.get(spec.pipeline, 0.0), spec.n / record.wall_s)
    return rates


def _streams(plan: StudyPlan, bad: Mapping[str, Collection[str]]) -> Iterator[RunSpec]:
    """The streams of a study, as far as they can be known. Raises StudyError as _tables() does."""
    settings, folder = plan.study, plan.study.folder
    wants_shares = settings.streams and settings.arrivals and settings.arrivals.rate
    measured = streams.measured(_tables(folder).streams) if wants_shares and folder.is_dir() else {}
    for name, pool in plan.pools.items():
        yield from study.streams(settings, name, pool, plan.cores, bad.get(name, ()), measured)


def streams_to_follow(plan: StudyPlan) -> int:
    """How many streams follow from full ones that have not ended: their arrivals are shares of what these give."""
    full = [spec for spec in plan.specs if spec.stream and spec.stream.per_day is None]
    known = [spec for spec in plan.specs if spec.stream and spec.stream.share is not None]
    return len(full) * len(plan.study.arrivals.rate if plan.study.arrivals else ()) - len(known)


def refuse_changed(plan: StudyPlan) -> None:
    """Raise StudyError where a finished run was run with other settings than the study has now."""
    finished = list(_finished(plan))
    if not plan.steps and not plan.study.concurrent_samples and not any(run.spec.seeking for _, run in finished):
        for folder, record in finished:
            if record.spec.repeat:
                raise StudyError(
                    f"{folder}: no search asked for it: its N was listed, or sought by an earlier version; "
                    "give the study another name, or remove that folder"
                )
    for folder, record in finished:
        before = record.spec
        spec = _run_now(plan, before, before.left_out)
        names = [field.name for field in fields(RunSpec)] if spec else []
        if changed := [name for name in names if getattr(before, name) != getattr(spec, name)]:
            raise StudyError(
                f"{folder}: was run with another {' and '.join(changed)}: "
                "give the study another name (of steps: another --folder), or remove that folder"
            )


def _run_now(plan: StudyPlan, before: RunSpec, bad: Collection[str]) -> RunSpec | None:
    """What a finished run would be by the settings of now, were these samples `bad`; None: there is no such run."""
    if plan.steps:
        return next((spec for spec in plan.steps if spec.name == before.name), None)
    source = plan.sources.get(before.pipeline)
    pool = plan.pools.get(before.pipeline, [])
    if source is None or (before.n > len(pool) and before.stream is None):
        return None
    if before.stream:
        per_day = before.stream.share, before.stream.per_day
        return study.stream(plan.study, before.curve_key, before.n, pool, plan.cores, bad, *per_day)
    if before.alone:
        return study.alone(plan.study, before.curve_key, before.samples[0], plan.cores)
    if before.seeking:
        return study.seek(plan.study, before.curve_key, before.n, pool, plan.cores, bad)
    numbered = WARM_UP.search(before.name)
    warm_up = int(numbered[1]) if numbered else 0
    return study.spec(plan.study, before.curve_key, before.n, before.repeat, pool, plan.cores, bad, warm_up)


def _refuse_other(plan: StudyPlan, pipeline: str, settings: Settings) -> None:
    """Raise StudyError where a finished run was made with what is another now, or does not say with what.

    No table may hold both.
    """
    for folder, record in _finished(plan):
        if record.spec.pipeline != pipeline:
            continue
        spec = _run_now(plan, record.spec, record.spec.left_out)
        own = single_run.made_with(spec, plan.sources[spec.pipeline]) if spec else {}
        pairs = [
            *((name, getattr(record.settings, key), getattr(settings, key)) for key, name in MADE_WITH.items()),
            *((MADE_WITH_BY_RUN[key], getattr(record, key), now) for key, now in own.items()),
        ]
        differing = [
            f"{'an unknown' if before is None else 'another'} {name}" for name, before, now in pairs if before != now
        ]
        if differing:
            raise StudyError(
                f"{folder}: was made with {' and '.join(differing)}: give the study another name, or remove that folder"
            )


def _finished(plan: StudyPlan) -> Iterator[tuple[Path, RunRecord]]:
    """The folder and the record of each run that has one. Raises RecordError."""
    for path in sorted(plan.study.folder.glob(f"*/{single_run.RECORD}")):
        yield path.parent, read_run(path)


def run(plan: StudyPlan, callbacks: StudyCallbacks) -> list[str]:
    """Run what is left of a study. Raises GpdError, or Interrupted for a signal, with all finished runs kept.

    Of runs of single steps that fail the names are returned, and the others are run.
    """
    folder = plan.study.folder
    failed: list[str] = []
    with (
        interruption.catching(),
        run_lock.hold(folder / LOCK, folder, f"gpd {'scaling' if plan.steps else 'throughput'} run") as lock,
    ):
        cpu_waits.await_former(folder)
        pools = {name: tuple(members) for name, members in plan.pools.items()}
        record = StudyRecord(study=plan.study, pools=pools, cores=plan.cores, design=DESIGN)
        single_run.write_record(folder / FILE, record)
        for pipeline, source in plan.sources.items():
            setup = _setup(plan, source, lock)
            for title, prepare in _preparations(plan, setup):
                callbacks.begin(None, title, plan)
                with _at_work(title):
                    prepare(callbacks.changed)
            known = False
            while (spec := _next(plan, pipeline, failed)) is not None:
                if not known:
                    dictionary = setup.prepared / REFERENCE / "genome.dict"
                    setup, known = replace(setup, settings=provenance.settings(source, dictionary)), True
                    _refuse_other(plan, pipeline, setup.settings)
                callbacks.begin(spec, spec.name, plan)
                with _at_work(spec.name):
                    lines = _try(spec, setup, callbacks)
                failed += [spec.name] if lines else []
                callbacks.end(spec, lines)
    return failed


def _preparations(plan: StudyPlan, setup: Setup) -> Iterator[tuple[str, Callable[[Changed], None]]]:
    """What is made before a pipeline's runs, by its title: what all of them share, or what each step starts from."""
    given = next(source for source in plan.sources.values() if source.config["pipeline"] == setup.pipeline)
    if pool_files.missing(reads := pool_files.made_files(plan.study, given)):
        yield f"{setup.pipeline}: reads of the pool", lambda _: pool_files.make(setup.folder, reads)
    if not plan.steps:
        what = "indexes and dictionaries" if setup.source.ours else "its plan"
        yield f"{setup.pipeline}: {what}", partial(single_run.prepare, setup, plan.cores)
    left = [spec for spec in plan.steps if not single_run.is_finished(plan.study.folder, spec)]
    for name, (spec, step) in {spec.step.name: (spec, spec.step) for spec in left if spec.step}.items():
        yield f"{name}: its inputs", partial(single_run.prepare_step, spec, step, setup)


def _try(spec: RunSpec, setup: Setup, callbacks: StudyCallbacks) -> list[str]:
    """Run a run; of a single step the lines that say why it failed. Raises StudyRunError where it is no step's."""
    try:
        single_run.run(spec, setup, callbacks.changed)
    except StudyRunError as error:
        if spec.step is None:
            raise
        return str(error).splitlines()
    return []


@contextmanager
def _at_work(name: str) -> Iterator[None]:
    """Where a signal ends what is within, say what that was."""
    try:
        yield
    except Interrupted as interrupted:
        raise Interrupted(interrupted.signum, [name]) from interrupted


def check(sources: Iterable[Source]) -> None:
    """Have the workflow check each pool and plan its jobs; nothing runs. Raises StudyRunError with what it says."""
    for source in sources:
        single_run.plan_dry(source)


def _setup(plan: StudyPlan, source: Source, lock: int) -> Setup:
    folder = plan.study.folder.resolve()
    here = plan.placement is None
    from_conda = tools.conda_options(source.config["pipeline"]) if here and source.ours else []
    prefix = ("--conda-prefix", str(folder / "conda")) if from_conda or not source.ours else ()
    return Setup(
        folder=folder,
        source=pool_files.drawn_from(plan.study, source),
        settings=Settings(),
        mem_mb=plan.mem_mb or (int(launcher.limits().memory_available_mib) if here else None),
        placement=plan.placement,
        keep_results=plan.study.keep_results,
        continue_runs=plan.study.continue_runs,
        lock=lock,
        options=(*source.options, *from_conda, *prefix),
    )


def _next(plan: StudyPlan, pipeline: PipelineName, passed_over: Collection[str] = ()) -> RunSpec | None:
    """The next run: what failed samples ask for comes before what is planned; None where nothing is left.

    It follows from the records alone, so that a study that was interrupted goes on as if it had not been.
    """
    failed = _failed(plan)
    bad = _bad_samples(failed)
    own = bad.get(pipeline, frozenset())
    planned = [spec for spec in plan.without(bad) if spec.pipeline == pipeline]
    after = _after_failures(plan, [row for row in failed if row.pipeline == pipeline], own)
    left = (spec for spec in chain(after, planned) if not single_run.is_finished(plan.study.folder, spec))
    spec = next((spec for spec in left if spec.name not in passed_over), None)
    return spec if spec is not None and budget_of(plan).begins(spec) else None


# ---- samples that failed -----------------------------------------------------------------------------


def _bad_samples(failed: Iterable[SampleRow]) -> dict[str, frozenset[str]]:
    """The samples of each pipeline that have bad data, as far as runs that have ended tell."""
    bad: dict[str, set[str]] = {}
    for row in failed:
        if row.fault == DATA:
            bad.setdefault(row.pipeline, set()).add(row.sample)
    return {pipeline: frozenset(samples) for pipeline, samples in bad.items()}


def _after_failures(plan: StudyPlan, failed: Sequence[SampleRow], bad: Collection[str]) -> Iterator[RunSpec]:
    """What runs with failed samples ask for: to run a sample alone, and to draw others for those with bad data.

    One sample that failed for the load tells enough of a run. What compares conditions can't run a sample alone.
    """
    ran_alone = {row.sample for row in failed if row.n == 1}
    of_runs: dict[str, list[SampleRow]] = {}
    for row in failed:
        of_runs.setdefault(row.run, []).append(row)
    for name, rows in of_runs.items():
        before = read_spec(plan.study.folder / name / SPEC)
        if before.alone or not _is_wanted(plan, before):
            continue
        line = before.curve_key
        if not plan.sources[line.pipeline].needs_conditions and not any(row.fault == LOAD for row in rows):
            suspects = [row.sample for row in rows if row.fault is None and row.cause not in UNREACHED]
            yield from (study.alone(plan.study, line, each, plan.cores) for each in suspects if each not in ran_alone)
        if spec := _run_now(plan, before, bad):
            yield spec


def _is_wanted(plan: StudyPlan, before: RunSpec) -> bool:
    """Whether a finished run is one of those that the settings of now ask for."""
    settings, line = plan.study, before.curve_key
    counts = settings.concurrent_samples or (before.n,)
    return (
        line in study.curves(settings, line.pipeline)
        and before.n in counts
        and not (before.seeking and settings.concurrent_samples)
        and (before.warm_up or before.repeat <= repeats.rule(settings).limit)
    )


def _failed(plan: StudyPlan) -> Sequence[SampleRow]:
    """The rows of the study's samples that failed. Where no run ended with an error, there are none to look for."""
    codes = [process.exit_code for _, record in _finished(plan) for process in record.processes]
    return [] if all(code == 0 for code in codes) else collect.failures(plan.study.folder)


# ---- what finished runs tell ------------------------------------------------------------------------


def _sought(folder: Path) -> dict[CurveKey, dict[int, Observation]]:
    """What the runs that sought the saturation point came to. Raises StudyError as _configurations() does."""
    return search.observations(_tables(folder)) if folder.is_dir() else {}


def _repeats_so_far(plan: StudyPlan) -> dict[tuple[CurveKey, int], RepeatStats]:
    """What the repeats of each configuration came to that have ended. Raises StudyError as _configurations() does."""
    folder = plan.study.folder
    return (
        {
            (configuration.curve_key, configuration.n): repeats.stats(configuration)
            for configuration in _configurations(folder)
        }
        if folder.is_dir()
        else {}
    )


def _configurations(folder: Path) -> Sequence[ConfigurationRow]:
    """The configurations of a study. Raises StudyError where its runs ran on several machines."""
    return _tables(folder).configurations


def _tables(folder: Path) -> Tables:
    """The tables of a study. Raises StudyError where its runs ran on several machines."""
    tables = collect.collect(folder)
    if found := machine_differences(record.host for record in tables.records if record.host):
        raise StudyError(f"{folder}: its runs ran on different machines: {found}: give the study another name")
    return tables


@dataclass(frozen=True)
class Budget:
    """What the runs of a study may take together, None: any time; and what those that ended took. In seconds."""

    plan: StudyPlan
    limit_s: float | None
    spent_s: float
    ended: tuple[RunSpec, ...]

    def begins(self, spec: RunSpec) -> bool:
        """Whether a run begins: within it, and where one like it tells how long it takes, so as to end within it."""
        known = any((_alike(spec), spec.n) == (_alike(one), one.n) for one in self.ended)
        return self._holds(spec.pipeline, [spec] if known else [])

    def affords(self, specs: Sequence[RunSpec]) -> bool:
        """Whether these runs end within it, as far as runs that have ended tell how long they take."""
        return self._holds(specs[0].pipeline, specs)

    def _holds(self, pipeline: PipelineName, specs: Sequence[RunSpec]) -> bool:
        """Pipelines are run one after the other, each within its share, so that the first leaves time for the last."""
        if self.limit_s is None:
            return True
        names = list(self.plan.sources)
        until_s = self.limit_s * (names.index(pipeline) + 1) / len(names)
        expected_s = sum(seconds or 0.0 for seconds in estimates_s(self.plan, specs))
        return self.spent_s < until_s and self.spent_s + expected_s <= until_s

    def seeks(self, specs: Sequence[RunSpec]) -> bool:
        """Whether a search goes on with the first of these, and the others can still be run; not once these began."""
        measuring = any(spec.repeat and spec.pipeline == specs[0].pipeline for spec in self.ended)
        return self.limit_s is None or (not measuring and self.affords(specs))

    def buys(self, specs: Sequence[RunSpec]) -> int | None:
        """How many of these runs, in their order, it has time for; None: how long they take is not known."""
        if self.limit_s is None:
            return len(specs)
        times = estimates_s(self.plan, specs)
        if None in times:
            return None
        return sum(self.spent_s + total <= self.limit_s for total in accumulate(filter(None, times)))


def budget_of(plan: StudyPlan) -> Budget:
    """What is left of a study's time."""
    finished = [record for _, record in _finished(plan)] if plan.study.budget_s is not None else []
    spent_s = sum(record.wall_s for record in finished)
    return Budget(plan, plan.study.budget_s, spent_s, tuple(record.spec for record in finished))


def expected(plan: StudyPlan) -> list[RunSpec]:
    """All runs of a study: of a search as it goes on if throughput rises no further than it has been seen to.

    Where nothing has ended, that is no more than what is known.
    """
    if plan.steps or plan.study.concurrent_samples:
        return plan.specs
    bad = _bad_samples(_failed(plan))
    observed, left, specs = _sought(plan.study.folder), budget_of(plan), []
    seen = _repeats_so_far(plan) if plan.study.repeats == AUTO else {}
    for name, pool in plan.pools.items():
        while True:
            found = list(
                study.search(plan.study, name, pool, plan.cores, bad.get(name, ()), observed, seen, left.seeks)
            )
            last = found[-1] if found else None
            (seconds,) = estimates_s(plan, [last]) if last is not None and last.seeking else [None]
            if last is None or seconds is None or last.n in observed.get(last.curve_key, {}):
                break
            guess = Observation(last.n, last.n * SECONDS_PER_DAY / seconds)
            observed.setdefault(last.curve_key, {})[last.n] = guess
        specs += found
    return specs


def disk_mib(plan: StudyPlan, specs: Sequence[RunSpec]) -> float | None:
    """The most that one of these runs takes of the disk, by what a sample of a run took; None: none has ended."""
    known = [(record.peak_disk_mib, record.spec.n) for _, record in _finished(plan) if not record.spec.alone]
    a_sample = max((peak / n for peak, n in known if peak is not None), default=None)
    return None if a_sample is None or not specs else a_sample * max(spec.n for spec in specs)


def estimates_s(plan: StudyPlan, wanted: Sequence[RunSpec]) -> list[float | None]:
    """Seconds that each of these runs will take: the median of its configuration, else of the nearest N in proportion.

    None: no run of its curve has ended.
    """
    walls: dict[tuple, dict[int, list[float]]] = {}
    for _, record in _finished(plan):
        # which may have failed early, and is no configuration of the grid; or of which nobody saw a part
        if not record.spec.alone and not record.spec.stream and not record.continued:
            walls.setdefault(_alike(record.spec), {}).setdefault(record.spec.n, []).append(record.wall_s)
    return [_estimate_s(spec, walls.get(_alike(spec), {})) for spec in wanted]


def _alike(spec: RunSpec) -> tuple:
    return spec.pipeline, spec.mode, spec.nodes, spec.step and spec.step.setting


def _estimate_s(spec: RunSpec, walls: Mapping[int, Sequence[float]]) -> float | None:
    if spec.stream:  # and until what is then in flight has ended
        return spec.stream.end_s
    if not walls:
        return None
    nearest = min(walls, key=lambda n: abs(n - spec.n))
    return statistics.median(walls[nearest]) * max(1.0, spec.n / nearest)
