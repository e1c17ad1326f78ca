"""Checks of the plan: is every run there, was none chosen, are there enough repeats, and are runs long enough?"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpd.lab import study_runs
from gpd.lab.study_runs import StudyError
from gpd.packages.check_verdicts import FAILS, NO_PLAN, UNKNOWN, Found, at, verdict
from gpd.packages.evidence import Recomputed
from gpd.records.run_spec import CurveKey, RunSpec
from gpd.records.study import AUTO, Start, StudyRecord
from gpd.tables import repeats, rows, search
from gpd.tables.columns import ConfigurationRow, RunRow, StreamRow
from gpd.tables.repeats import LEAST, error_in_words, is_precise
from gpd.text.formats import counted, listed, number, percent

EDGE_S = 1.0  # what the edges of a run are known to: tools start, Snakemake looks for jobs that have ended
NO_STARTS = "starts.jsonl is not in it, as in studies of earlier versions: how often a run was run is not known"


def precision(found: Recomputed) -> Found:
    if found.plan is None:
        return UNKNOWN, [NO_PLAN]
    claimed = found.plan.study.precision
    wrong, well = [], []
    every: list[ConfigurationRow | StreamRow] = [*found.tables.configurations, *found.tables.streams]
    for row in every:
        daily, (of, enough) = row.genomes_per_day, _basis(row)
        line = f"{at(row.curve_key, row.n)}: {of}, {error_in_words(daily)}"
        if not enough:
            wrong.append(f"{line}; at least {LEAST} repeats are needed")
        elif not is_precise(daily, claimed):
            wrong.append(f"{line}; {percent(claimed)} is claimed")
        else:
            well.append(line)
    return verdict(wrong, well, [] if well else ["no configuration has a figure"])


def _basis(row: ConfigurationRow | StreamRow) -> tuple[str, bool]:
    """Of how many repeats genomes a day are, or of how many batches of a stream's window; whether these are enough."""
    if isinstance(row, ConfigurationRow):
        made = f"{counted(row.repeats, 'repeat')} ({counted(row.nodes, 'node')}, {counted(row.sessions, 'session')})"
        return made, row.repeats >= LEAST
    return f"{row.batches} batches of its window", True


def duration(found: Recomputed) -> Found:
    """Runs are so long that what their edges are known to is within the precision that is claimed."""
    if found.plan is None:
        return UNKNOWN, [NO_PLAN]
    claimed = found.plan.study.precision
    least = EDGE_S / claimed
    runs = [run for run in found.tables.runs if run.counted]
    took = {run.run: run.makespan_s for run in runs if run.makespan_s is not None}
    took |= {stream.run: stream.window_s for stream in found.tables.streams}
    why = f"{number(least)} s are needed for a precision of {percent(claimed)}, where edges are known to {EDGE_S:g} s"
    wrong = [f"{run}: {number(makespan_s)} s; {why}" for run, makespan_s in took.items() if makespan_s < least]
    shortest = f"the shortest run took {number(min(took.values(), default=None))} s, {number(least)} s are needed"
    silent = [f"{run.run}: its makespan is not known" for run in runs if run.run not in took]
    return verdict(wrong, [shortest], silent or ([] if took else ["no run has ended"]))


def complete(found: Recomputed) -> Found:
    """Every run that follows from the plan is there, with the samples that the seed draws."""
    plan = found.plan
    if plan is None:
        return UNKNOWN, [NO_PLAN]
    ended = {record.spec.name: record.spec for record in found.tables.records}
    try:
        planned = list(_planned(plan, found))
    except StudyError as error:
        return FAILS, str(error).splitlines()
    except (LookupError, ValueError) as error:
        return FAILS, [f"its plan contradicts itself: {error}"]
    left = [spec for spec in planned if spec.name not in ended]
    by_budget = bool(left) and _ended_by_budget(plan, found, planned, left)
    missing = [] if by_budget else [spec.name for spec in left]
    wrong = [f"{name}: it is planned, and did not end" for name in missing]
    wrong += _not_copies(plan)
    wrong += [f"{name}: it did not end" for name in found.tables.unfinished if name not in missing]
    for spec in planned:
        if spec.name in ended and replace(ended[spec.name], name=spec.name) != spec:
            wrong.append(f"{spec.name}: {listed(_unlike(ended[spec.name], spec))} are not those of the plan")
    besides = len(ended) - len(planned) + len(left)
    more = f", and {counted(besides, 'run')} besides" if besides > 0 else ""
    whole = f"all {counted(len(planned), 'run')} of the plan ended"
    part = (
        f"{len(planned) - len(left)} of {counted(len(planned), 'run')} ended within the budget of {plan.study.budget}"
    )
    return verdict(wrong, [f"{part if by_budget else whole}{more}"])


def _not_copies(plan: StudyRecord) -> Iterator[str]:
    """Name the pools that are no copies of genomes, as many of each as the plan says."""
    for pipeline, pool in plan.pools.items():
        names = {sample.name for sample in pool}
        genomes = [sample for sample in pool if study_runs.copied(sample.name, 2) in names]
        copies = plan.study.copies
        if copies > 1 and {sample.name for sample in study_runs.with_copies(genomes, copies)} != names:
            yield f"pool of {pipeline}: not each genome is there as {copies} samples"


def _planned(plan: StudyRecord, found: Recomputed) -> Iterator[RunSpec]:
    """The runs that a study is to have, by its plan and by what came of the first of them. Raises StudyError."""
    settings, seen = plan.study, {(row.curve_key, row.n): row for row in found.tables.configurations}
    if settings.concurrent_samples:
        yield from study_runs.planned(settings, plan.pools, plan.cores, seen)
        for pipeline in settings.pipelines:
            yield from study_runs.streams(settings, pipeline, plan.pools.get(pipeline, ()), plan.cores)
        return
    observed = search.observations(found.tables)
    for pipeline in settings.pipelines:
        yield from study_runs.search(settings, pipeline, plan.pools[pipeline], plan.cores, observed, seen)


def _ended_by_budget(plan: StudyRecord, found: Recomputed, planned: Sequence[RunSpec], left: Sequence[RunSpec]) -> bool:
    """Whether the budget was spent before what is left: of each pipeline the last runs, in the order of the plan."""
    if plan.study.budget_s is None:
        return False
    spent_s = sum(record.wall_s for record in found.tables.records)
    for pipeline in plan.study.pipelines:
        own, missing = ([spec for spec in specs if spec.pipeline == pipeline] for specs in (planned, left))
        if own[len(own) - len(missing) :] != missing:
            return False
    return spent_s >= plan.study.budget_s


def _unlike(one: RunSpec, other: RunSpec) -> list[str]:
    return [name for name in vars(one) if getattr(one, name) != getattr(other, name)]


def chosen(found: Recomputed) -> Found:
    """Every start of a run is recorded, and each run was run to its end once."""
    if found.starts is None:
        return UNKNOWN, [NO_STARTS]
    runs = {record.spec.name: record.run for record in found.tables.records}
    wrong, doubts = [], []
    of_runs: dict[str, list[Start]] = {}
    for start in found.starts:
        of_runs.setdefault(start.name, []).append(start)
    for name, starts in of_runs.items():
        ended = [start for start in starts if start.ended is not None or start.run == runs.get(name)]
        if len(ended) > 1:
            wrong.append(f"{name}: was run to its end {len(ended)} times, and one of them is here")
        elif name not in runs and name not in found.tables.unfinished:
            wrong.append(f"{name}: was begun, and is not here")
        elif ended and ended[0].run != runs.get(name):
            wrong.append(f"{name}: the run that is here is not the one that ended")
        elif len(starts) > len(ended):
            broken_off = counted(len(starts) - len(ended), "run")
            doubts.append(f"{name}: {broken_off} of it did not end, and what would have come of that is not known")
    doubts += [f"{name}: that it was begun is not recorded" for name in runs if name not in of_runs]
    wrong += _went_on(found)
    return verdict(wrong, [f"{counted(len(runs), 'run')}, each begun once, and every run counts"], doubts)


def _went_on(found: Recomputed) -> Iterator[str]:
    """Name the configurations of `repeats: auto` that went on after they were precise enough."""
    if found.plan is None or found.plan.study.repeats != AUTO:
        return
    rule = repeats.rule(found.plan.study)
    of_configurations: dict[tuple[CurveKey, int], list[RunRow]] = {}
    for run in found.tables.runs:
        if run.counted:
            of_configurations.setdefault((run.curve_key, run.n), []).append(run)
    for (curve_key, n), own in of_configurations.items():
        own.sort(key=lambda run: run.repeat)
        for ended in range(1, len(own)):
            if rule.wanted(rows.configuration(own[:ended])) == ended:
                yield f"{at(curve_key, n)}: had enough repeats with {ended}, and went on to {len(own)}"
                break
