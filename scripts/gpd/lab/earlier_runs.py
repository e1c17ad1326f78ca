"""Refuse a study whose finished runs would be others by its settings of now: no table may hold both."""

import re
from dataclasses import fields

from gpd.lab import single_run, study_runs
from gpd.lab.study_runs import StudyError
from gpd.lab.study_state import StudyPlan, StudyState
from gpd.records.run import RunRecord, Settings
from gpd.records.run_spec import RunSpec

WARM_UP = re.compile(r"-warmup(\d+)")  # in the name of a run

# of a record's settings, with the words for them: those that must be the same in all runs of a study
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


def refuse_changed(state: StudyState) -> None:
    """Raise StudyError where a finished run was run with other settings than the study has now."""
    finished = state.finished.values()
    if state.plan.searches and not any(record.spec.seeking for record in finished):
        for record in finished:
            if record.spec.repeat:
                raise StudyError(
                    f"{state.folder / record.spec.name}: no search asked for it: its N was listed; "
                    "give the study another name, or remove that folder"
                )
    for record in finished:
        before, spec = record.spec, _run_now(state.plan, record.spec)
        names = [field.name for field in fields(RunSpec)] if spec else []
        if changed := [name for name in names if getattr(before, name) != getattr(spec, name)]:
            raise StudyError(
                f"{state.folder / before.name}: was run with another {' and '.join(changed)}: "
                "give the study another name (of steps: another --folder), or remove that folder"
            )


def refuse_other(state: StudyState, pipeline: str, settings: Settings) -> None:
    """Raise StudyError where a finished run was made with what is another now, or does not say with what."""
    for record in state.finished.values():
        if record.spec.pipeline != pipeline:
            continue
        if differing := _differing(state.plan, record, settings):
            raise StudyError(
                f"{state.folder / record.spec.name}: was made with {' and '.join(differing)}: "
                "give the study another name, or remove that folder"
            )


def _differing(plan: StudyPlan, record: RunRecord, settings: Settings) -> list[str]:
    """What a run was made with that is another now, or unknown."""
    spec = _run_now(plan, record.spec)
    own = single_run.made_with(spec, plan.sources[spec.pipeline]) if spec else {}
    pairs = [
        *((name, getattr(record.settings, key), getattr(settings, key)) for key, name in MADE_WITH.items()),
        *((MADE_WITH_BY_RUN[key], getattr(record, key), now) for key, now in own.items()),
    ]
    return [f"{'an unknown' if before is None else 'another'} {name}" for name, before, now in pairs if before != now]


def _run_now(plan: StudyPlan, before: RunSpec) -> RunSpec | None:
    """What a finished run would be by the settings of now; None: there is no such run."""
    if plan.steps:
        return next((spec for spec in plan.steps if spec.name == before.name), None)
    source = plan.sources.get(before.pipeline)
    pool = plan.pools.get(before.pipeline, [])
    if source is None or (before.n > len(pool) and before.stream is None):
        return None
    if before.stream:
        return study_runs.stream(plan.study, before.curve_key, before.n, pool, plan.cores)
    if before.alone:
        return study_runs.alone(plan.study, before.curve_key, before.samples[0], plan.cores)
    if before.seeking:
        return study_runs.seek(plan.study, before.curve_key, before.n, pool, plan.cores)
    numbered = WARM_UP.search(before.name)
    warm_up = int(numbered[1]) if numbered else 0
    return study_runs.spec(plan.study, before.curve_key, before.n, before.repeat, pool, plan.cores, warm_up)
