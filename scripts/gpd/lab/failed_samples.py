"""What samples that failed in a study ask for: a run of each alone, or an end to the study where its data are bad."""

from collections.abc import Iterator

from gpd.lab import pool_files, study_runs
from gpd.lab.study_runs import StudyError
from gpd.lab.study_state import StudyPlan, StudyState
from gpd.outcomes import NO_JOB_RAN, NOT_FINISHED
from gpd.records.run_spec import PipelineName, RunSpec
from gpd.tables import repeats
from gpd.tables.columns import SampleRow
from gpd.tables.faults import DATA, LOAD
from gpd.text.formats import listed

UNREACHED = (NO_JOB_RAN, NOT_FINISHED)  # causes of samples of which no job failed


class BadDataError(StudyError):
    """Samples of a pool that fail alone, too, a line each; the runs that have ended are kept."""


def refuse_bad_data(state: StudyState) -> None:
    """Raise BadDataError with a line for each sample that fails for its data: no figure may be of runs with it."""
    bad = {(row.pipeline, row.sample): row for row in state.failed if row.fault == DATA}
    if lines := [_about(state, row) for row in bad.values() if row.pipeline in state.plan.sources]:
        raise BadDataError("\n".join(lines))


def _about(state: StudyState, row: SampleRow) -> str:
    """Say which sample it is, what it came to, which files it has, and what to do."""
    source = pool_files.drawn_from(state.plan.study, state.plan.sources[row.pipeline])
    reads = listed([str(path) for path in source.reads(row.sample)])
    places = f"log: {state.folder / row.run / (row.log or '')}{reads and f'; reads: {reads}'}"
    return (
        f"{row.pipeline}: {row.sample} fails alone, too: {row.failed_step}: {row.message} ({places}): drop it from the "
        "pool, and give the study another name; or mend what else is at fault, and remove the runs in which it failed"
    )


def alone(state: StudyState, pipeline: PipelineName) -> Iterator[RunSpec]:
    """The runs that tell whether samples that failed beside others fail alone, too.

    One sample that failed for the load tells enough of a run. What compares conditions can't run a sample alone.
    """
    plan, failed = state.plan, [row for row in state.failed if row.pipeline == pipeline]
    if plan.sources[pipeline].needs_conditions:
        return
    ran_alone = {row.sample for row in failed if row.n == 1}
    of_runs: dict[str, list[SampleRow]] = {}
    for row in failed:
        of_runs.setdefault(row.run, []).append(row)
    for name, rows in of_runs.items():
        before = state.finished[name].spec
        if before.alone or not _is_wanted(plan, before) or any(row.fault == LOAD for row in rows):
            continue
        suspects = [row.sample for row in rows if row.fault is None and row.cause not in UNREACHED]
        for sample in suspects:
            if sample not in ran_alone:
                yield study_runs.alone(plan.study, before.curve_key, sample, plan.cores)


def _is_wanted(plan: StudyPlan, before: RunSpec) -> bool:
    """Whether a finished run is one of those that the settings of now ask for."""
    settings, line = plan.study, before.curve_key
    counts = settings.concurrent_samples or (before.n,)
    return (
        line in study_runs.curves(settings, line.pipeline)
        and before.n in counts
        and not (before.seeking and settings.concurrent_samples)
        and (before.warm_up or before.repeat <= repeats.rule(settings).limit)
    )
