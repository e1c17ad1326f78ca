"""Plan a study that its file describes: read it with its pools, and refuse what shows without running anything."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from gpd.execution import workflow
from gpd.lab import any_workflow, earlier_runs, study_runs
from gpd.lab.pool import Source, longest_name, read_pool
from gpd.lab.study_file import read_study
from gpd.lab.study_runs import Sample, StudyError
from gpd.lab.study_state import StudyPlan, StudyState
from gpd.machines import launcher
from gpd.records.binding import Binding
from gpd.records.run_spec import INDEPENDENT, SHARED, STREAM, PipelineName
from gpd.records.study import SECONDS, Study
from gpd.statistics.stream_rate import LEAST_BATCHES, LEAST_ENDS
from gpd.text.formats import number


def read(path: Path) -> tuple[Study, dict[PipelineName, Source]]:
    """Read a study and its pools, whatever machine it is for.

    Raises StudyError with a line for each fault that shows without running anything.
    """
    settings = read_study(path)
    _refuse(path, _faults_of_workflows(settings))
    sources: dict[PipelineName, Source] = {
        name: any_workflow.read(name, pool) if pool.workflow else read_pool(name, pool)
        for name, pool in settings.pipelines.items()
    }
    for profile in (*settings.profiles.values(), *(pool.profile for pool in settings.pipelines.values())):
        workflow.find_profile(profile)
    _refuse(path, _faults(settings, sources))
    return settings, sources


def make_plan(path: Path) -> StudyPlan:
    """Read a study that is to run here. Raises StudyError as read() does."""
    settings, sources = read(path)
    usable = launcher.usable_cores(smt=False)
    plan = StudyPlan(_with_threads(settings, usable), sources, settings.cores or usable, usable=usable)
    state = StudyState(plan)
    earlier_runs.refuse_changed(state)
    _refuse(path, _faults_of_windows(state))
    return plan


def short_windows(state: StudyState) -> Iterator[str]:
    """Lines about windows that tell a rate without an interval, by what runs that have ended tell."""
    settings = state.plan.study
    for pipeline, a_second in state.rates.items() if settings.streams else ():
        ends = (settings.window_s or 0.0) * a_second
        if small := [n for n in settings.concurrent_samples if ends < LEAST_BATCHES * n]:
            yield (
                f"window: {settings.window} holds about {number(ends)} samples of {pipeline} at the rate of the runs "
                f"that have ended: for an interval with {max(small)} at once set "
                f"{number(LEAST_BATCHES * max(small) / a_second / SECONDS['m'])}m or more"
            )


def _refuse(path: Path, faults: Iterator[str]) -> None:
    if lines := [f"{path}: {fault}" for fault in faults]:
        raise StudyError("\n".join(lines))


def _with_threads(settings: Study, usable: int) -> Study:
    """A study whose SMT is on or off, with the threads of a core. Raises StudyError where there is one alone."""
    if True not in settings.smt or settings.threads_per_core:
        return settings
    threads = launcher.usable_cores(smt=True)
    if threads <= usable:
        raise StudyError("smt: on: no core has a second thread that may be used here: leave it out, or set it to [off]")
    return replace(settings, threads_per_core=threads / usable)


# ---- settings that do not go together, or not with the pools ---------------------------------------------


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
    yield from _faults_of_bindings(settings)
    yield from _faults_of_threads(settings, sources)
    yield from _faults_of_streams(settings)
    for pipeline, source in sources.items():
        pool = study_runs.with_copies(source.members, settings.copies)
        yield from _faults_of_numbers(settings, pipeline, pool)
        yield from _faults_of_copies(pipeline, source, [sample.name for sample in pool])
        yield from _faults_of_conditions(settings, pipeline, source)
        yield from _faults_of_names(settings, pipeline, source)


def _faults_of_bindings(settings: Study) -> Iterator[str]:
    """Lines about bindings that say what the study says, or the same: of two such a curve would be run twice."""
    if settings.smt and any(Binding.parse(name).smt is not None for name in settings.bindings):
        yield "bindings: smt is a key of the study: name it there"
    bindings: dict[tuple, str] = {}
    for name in settings.bindings:
        same = bindings.setdefault(tuple(Binding.parse(name).variables.items()), name)
        if same != name:
            yield f"bindings: {same} and {name} are the same: name one"


def _faults_of_threads(settings: Study, sources: Mapping[PipelineName, Source]) -> Iterator[str]:
    """Lines about threads of rules that there are not: Snakemake passes over them."""
    known = frozenset[str]().union(*(source.rules_of(name) for name, source in sources.items()))
    for name in settings.threads.keys() - known:
        close = get_close_matches(name, known, n=1)
        hint = f"; did you mean {close[0]}?" if close else f"; known are {', '.join(sorted(known))}"
        yield f"threads: {name}: no rule of {' and '.join(settings.pipelines)}{hint}"


def _faults_of_streams(settings: Study) -> Iterator[str]:
    """Lines about keys that mode stream needs, or that go with it alone."""
    if settings.streams and settings.window is None:
        yield "window: mode stream needs one, such as 30m"
    if settings.streams and not settings.concurrent_samples:
        yield "concurrent_samples: mode stream needs a list, such as [4]: no stream is sought"
    unused = [name for name in ("window", "window_warm_up") if getattr(settings, name) is not None]
    if unused and not settings.streams:
        yield f"{unused[0]}: it goes with mode stream: name that among the modes, or leave it out"


def _faults_of_numbers(settings: Study, pipeline: PipelineName, pool: Sequence[Sample]) -> Iterator[str]:
    """Lines about more samples at once than a batch can draw; a stream draws each as often as it takes."""
    batches = set(settings.modes) - {STREAM}
    if batches and (most := max(settings.concurrent_samples, default=1)) > len(pool):
        yield f"concurrent_samples: {most} is more than the {len(pool)} samples in the pool of {pipeline}"


def _faults_of_copies(pipeline: PipelineName, source: Source, names: Sequence[str]) -> Iterator[str]:
    """Lines about copies of samples that can't be: whose names there are already, or stand in their files."""
    if twice := sorted(name for name, count in Counter(names).items() if count > 1):
        yield f"copies: {twice[0]} is a sample in the pool of {pipeline}, and a copy's name: rename that sample"
    kept = source.config.get("bam_input") == "keep"
    if len(names) > len(source.members) and kept and any(row.get("bam") for row in source.units):
        yield f"copies: alignments of {pipeline} that are kept name their samples: set bam_input: remap, or copies: 1"


def _faults_of_conditions(settings: Study, pipeline: PipelineName, source: Source) -> Iterator[str]:
    """Lines about single samples of a pipeline that compares conditions."""
    if not source.needs_conditions:
        return
    remedy = "set stop_after: quantify in its configuration" if source.ours else "leave condition out"
    if INDEPENDENT in settings.modes or settings.streams:
        which = "independent runs" if INDEPENDENT in settings.modes else "the pipelines of a stream"
        yield f"modes: {which} take one sample each, and {pipeline} compares conditions: {remedy}"
    if not settings.concurrent_samples or min(settings.concurrent_samples) < 2:
        yield f"concurrent_samples: {pipeline} compares conditions, so list numbers from 2, or {remedy}"


def _faults_of_names(settings: Study, pipeline: PipelineName, source: Source) -> Iterator[str]:
    """Lines about names that have no room for the number that mode stream adds."""
    longest = longest_name() - len(study_runs.copy_name("", 10**study_runs.MOST_DIGITS - 1))
    if settings.streams and (long := [member.name for member in source.members if len(member.name) > longest]):
        yield (
            f"pipelines.{pipeline}: {long[0]}: a name of {len(long[0])} characters: mode stream adds a number to "
            f"names, so that {longest} are the most"
        )


def _faults_of_windows(state: StudyState) -> Iterator[str]:
    """Lines about streams that would tell nothing, by the cores and by what runs that have ended tell."""
    settings = state.plan.study
    if not settings.streams or settings.window_s is None:
        return
    if (most := max(settings.concurrent_samples)) > state.plan.cores:
        yield f"concurrent_samples: mode stream: {most} samples at once are more than the {state.plan.cores} cores"
    for pipeline, a_second in state.rates.items():
        if settings.window_s * a_second < LEAST_ENDS:
            yield (
                f"window: {settings.window} is shorter than {LEAST_ENDS} samples of {pipeline}, "
                f"which take {number(LEAST_ENDS / a_second)} s at the rate of the runs that have ended"
            )
