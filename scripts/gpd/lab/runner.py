"""Run a study: its runs one after the other, each once, whatever interrupted it before."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from gpd.errors import Interrupted
from gpd.execution import cpu_waits, interruption, run_lock
from gpd.lab import earlier_runs, failed_samples, pool_files, preparation, provenance, single_run
from gpd.lab.pool import Source
from gpd.lab.snakemake_process import REFERENCE, Changed, Setup, StudyRunError
from gpd.lab.study_state import StudyPlan, StudyState
from gpd.machines import launcher, tool_checks
from gpd.records.run import Settings
from gpd.records.run_spec import PipelineName, RunSpec
from gpd.records.study import FILE, StudyRecord

LOCK = ".lock"


@dataclass(frozen=True)
class StudyCallbacks:
    """What is called while a study runs: before and after each run, at each change within, and when jobs wait.

    `end` has the lines that say why a run could not be run to its end.
    """

    begin: Callable[[RunSpec | None, str, StudyState], None]
    changed: Changed
    end: Callable[[RunSpec, Sequence[str]], None]


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
        record = StudyRecord(study=plan.study, pools=pools, cores=plan.cores)
        single_run.write_record(folder / FILE, record)
        for pipeline, source in plan.sources.items():
            failed += _run_pipeline(plan, pipeline, _setup(plan, source, lock), callbacks)
    return failed


def _run_pipeline(plan: StudyPlan, pipeline: PipelineName, setup: Setup, callbacks: StudyCallbacks) -> list[str]:
    """Make what a pipeline's runs share, and run what is left of them; the names of those that failed."""
    for title, prepare in _preparations(plan, setup):
        callbacks.begin(None, title, StudyState(plan))
        with _at_work(title):
            prepare(callbacks.changed)
    failed: list[str] = []
    known = False
    while (spec := next_run(state := StudyState(plan), pipeline, failed)) is not None:
        if not known:
            dictionary = setup.prepared / REFERENCE / "genome.dict"
            setup, known = replace(setup, settings=provenance.settings(plan.sources[pipeline], dictionary)), True
            earlier_runs.refuse_other(state, pipeline, setup.settings)
        callbacks.begin(spec, spec.name, state)
        with _at_work(spec.name):
            lines = _try(spec, setup, callbacks)
        failed += [spec.name] if lines else []
        callbacks.end(spec, lines)
    return failed


def next_run(state: StudyState, pipeline: PipelineName, passed_over: Collection[str] = ()) -> RunSpec | None:
    """The next run: what failed samples ask for comes before what is planned; None where nothing is left.

    It follows from the records alone, so that a study that was interrupted goes on as if it had not been. Raises
    BadDataError where a sample has bad data.
    """
    failed_samples.refuse_bad_data(state)
    if state.is_over:
        return None
    planned = (spec for spec in state.specs if spec.pipeline == pipeline)
    wanted = chain(failed_samples.alone(state, pipeline), planned)
    return next((spec for spec in wanted if spec.name not in state.finished and spec.name not in passed_over), None)


def _preparations(plan: StudyPlan, setup: Setup) -> Iterator[tuple[str, Callable[[Changed], None]]]:
    """What is made before a pipeline's runs, by its title: what all of them share, or what each step starts from."""
    given = next(source for source in plan.sources.values() if source.config["pipeline"] == setup.pipeline)
    if pool_files.missing(reads := pool_files.made_files(plan.study, given)):
        yield f"{setup.pipeline}: reads of the pool", lambda _: pool_files.make(setup.folder, reads)
    if not plan.steps:
        what = "indexes and dictionaries" if setup.source.ours else "its plan"
        yield f"{setup.pipeline}: {what}", partial(preparation.prepare, setup, plan.cores)
    left = [spec for spec in plan.steps if not single_run.is_finished(plan.study.folder, spec)]
    for name, (spec, step) in {spec.step.name: (spec, spec.step) for spec in left if spec.step}.items():
        yield f"{name}: its inputs", partial(preparation.prepare_step, spec, step, setup)


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
        preparation.plan_dry(source)


def _setup(plan: StudyPlan, source: Source, lock: int) -> Setup:
    folder = plan.study.folder.resolve()
    from_conda = tool_checks.conda_options(source.config["pipeline"]) if source.ours else []
    prefix = ("--conda-prefix", str(folder / "conda")) if from_conda or not source.ours else ()
    return Setup(
        folder=folder,
        source=pool_files.drawn_from(plan.study, source),
        settings=Settings(),
        mem_mb=plan.mem_mb or int(launcher.limits().memory_available_mib),
        keep_results=plan.study.keep_results,
        lock=lock,
        options=(*source.options, *from_conda, *prefix),
    )
