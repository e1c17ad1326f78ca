"""What a result has to be for strangers to trust it: each check a function of the study, all in one table.

A check holds, fails, or it is not known whether it holds, and says why in each case. They are what MLPerf's checks of
submissions and SPEC's run rules are for: a figure is measured and not chosen, long enough, often enough, on a machine
that is disclosed, and what it took for one sample stands beside it.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from itertools import islice, pairwise
from statistics import fmean

from gpd.comparison import agreement
from gpd.lab import study
from gpd.lab.study import StudyError
from gpd.packages import clocks
from gpd.packages.evidence import Evidence, Recomputed
from gpd.pipelines import ALIKE, HUMAN_30X_GIGABASES, PIPELINES
from gpd.records import old_names
from gpd.records.binding import is_unbound
from gpd.records.host import TRAITS, machine_differences
from gpd.records.ledger import Attempt
from gpd.records.ledger_check import Place, duplicates, overlaps
from gpd.records.run import RunRecord
from gpd.records.run_spec import CLUSTER, INDEPENDENT, CurveKey, RunSpec
from gpd.records.study import AUTO, DESIGN, Start, StudyRecord
from gpd.statistics.estimates import estimate
from gpd.statistics.saturation import next_n
from gpd.tables import repeats, search
from gpd.tables.columns import RunRow, SampleRow
from gpd.tables.faults import DATA
from gpd.tables.repeats import LEAST, RepeatStats, relative
from gpd.text.cpu_lists import parse_cpus
from gpd.text.formats import counted, listed, number, percent, some

HOLDS, FAILS, UNKNOWN = "holds", "fails", "not known"
EDGE_S = 1.0  # what the edges of a run are known to: tools start, Snakemake looks for jobs that have ended
OUT_OF_ORDER = timedelta(seconds=1)  # by which a clock that is being set may go back
CACHE_TOLERANCE = 0.01  # of the share of files that is in the page cache
MOST_RUNS = 10_000  # of a plan
TOO_MANY_RUNS = f"its plan has more than {MOST_RUNS:,} runs"
MOST_DRAWN = 20_000_000  # names of pools, each as often as a run draws from them
MOST_SHOWN = 5
DISTURBED = 0.05  # of the CPU time of a run's jobs; as a node is busy before its start
NO_PLAN = "study.json is not in it, as in studies of earlier versions: what was planned nobody can say"
OLDER_DESIGN = "an earlier version stopped its repeats by another rule: whether all are here nobody can say"
NO_STARTS = "starts.jsonl is not in it, as in studies of earlier versions: how often a run was run nobody can say"

# what a record has to disclose of a machine, and of the software that was run on it
DISCLOSED = (
    *("hostname", "cpu_model", "sockets", "cores", "threads", "numa_nodes", "memory_mib", "kernel", "os"),
    *("virtual_machine", "container", "file_systems"),
)
DISCLOSED_BY_SLURM = ("hostname", "cores", "memory_mib")  # of nodes that nobody looked at
DISCLOSED_SOFTWARE = ("workflow_digest", "environments_digest", "config_digest", "reference_digest", "tools")


Found = tuple[str, Sequence[str]]  # a state, and why


@dataclass(frozen=True)
class Verdict:
    """Whether a check holds, and why: where it fails, or what shows that it holds."""

    check: str
    says: str
    state: str
    why: tuple[str, ...]


@dataclass(frozen=True)
class Check:
    """A check of a package's study; that of the digests is of the package alone, and looks at no study."""

    name: str
    says: str
    judge: Callable[[Recomputed], Found]

    def verdict(self, found: Found) -> Verdict:
        state, why = found
        more = [f"and {len(why) - MOST_SHOWN:,} more"] if len(why) > MOST_SHOWN else []
        return Verdict(self.name, self.says, state, (*why[:MOST_SHOWN], *more))


def judge(evidence: Evidence) -> list[Verdict]:
    """Hold a package against every check, in the order of the table."""
    digests = DIGESTS.verdict(_found(evidence.altered, ["all of them are"]))
    if evidence.study is not None:
        return [digests, *(check.verdict(check.judge(evidence.study)) for check in CHECKS[1:])]
    figures = FIGURES.verdict((FAILS, evidence.broken.splitlines()))
    unknown = UNKNOWN, ["nothing follows from these records"]
    return [digests, figures, *(check.verdict(unknown) for check in CHECKS[2:])]


def _found(faults: Iterable[str], otherwise: Sequence[str], doubts: Iterable[str] = ()) -> Found:
    """Fails for any fault, is not known for any doubt, and else holds for another reason."""
    if wrong := list(faults):
        return FAILS, wrong
    unknown = list(doubts)
    return (UNKNOWN, unknown) if unknown else (HOLDS, otherwise)


def _at(key: CurveKey, n: int) -> str:
    nodes = f", {counted(key.nodes, 'node')}" if key.mode == CLUSTER else ""
    return f"{key.pipeline} N = {n} ({key.mode}, {key.binding}{nodes})"


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


# ---- figures and ledgers -------------------------------------------------------------------------------


def figures(found: Recomputed) -> Found:
    rows = sum(len(getattr(found.tables, table)) for table in ("jobs", "samples", "steps", "runs", "configurations"))
    alike = "the same to a millionth" if found.versions else "the same to the last digit"
    same = f"{counted(rows, 'row')} of tables, computed anew, are {alike}"
    return _found(found.differing, [*filter(None, [found.versions]), same, *found.not_held])


def ledgers(found: Recomputed) -> Found:
    every = found.lines.values()
    wrong = [fault for lines in every for fault in (*duplicates(lines), *overlaps(lines), *_reordered(lines))]
    attempts = counted(sum(map(len, every)), "attempt")
    return _found(wrong, [f"{attempts}, each recorded once, and no CPU was two jobs' at one time"])


def times(found: Recomputed) -> Found:
    wrong: list[str] = []
    strange: list[str] = []
    for record in found.tables.records:
        lines = found.lines_of(record)
        wrong += clocks.contradictions(record, lines, found.starts or ())
        strange += clocks.doubts(record, lines)
    own = counted(len(found.tables.records), "run")
    return _found(wrong, [f"start, end, uptime, wall time and CPU seconds of {own} and of their jobs agree"], strange)


def _reordered(lines: Sequence[tuple[Place, Attempt]]) -> Iterator[str]:
    """Lines that stand before others that were written earlier into the same file."""
    written = [(place, line.recorded) for place, line in lines if line.recorded]
    for (before, earlier), (place, later) in pairwise(written):
        if before.file == place.file and earlier - later > OUT_OF_ORDER:
            yield f"{place}: was recorded before the line above it"


# ---- precision, and what was measured ------------------------------------------------------------------


def precision(found: Recomputed) -> Found:
    if found.plan is None:
        return UNKNOWN, [NO_PLAN]
    claimed = found.plan.study.precision
    wrong, well = [], []
    for row in found.tables.configurations:
        stats = repeats.stats(row)
        share = relative(stats.mean, stats.half_width)
        error = "no interval" if share is None else f"95% interval \u00b1 {percent(share)}"
        line = f"{_at(row.curve_key, row.n)}: {counted(stats.ended, 'repeat')}, {error}"
        if stats.ended < LEAST:
            wrong.append(f"{line}; at least {LEAST} repeats are needed")
        elif not stats.within(claimed):
            wrong.append(f"{line}; {percent(claimed)} is claimed")
        else:
            well.append(line)
    return _found(wrong, well, [] if well else ["no configuration has a figure"])


def duration(found: Recomputed) -> Found:
    if found.plan is None:
        return UNKNOWN, [NO_PLAN]
    claimed = found.plan.study.precision
    least = EDGE_S / claimed
    runs = [run for run in found.tables.runs if run.counted]
    took = {run.run: run.makespan_s for run in runs if run.makespan_s is not None}
    why = f"{number(least)} s are needed for a precision of {percent(claimed)}, where edges are known to {EDGE_S:g} s"
    wrong = [f"{run}: {number(makespan_s)} s; {why}" for run, makespan_s in took.items() if makespan_s < least]
    shortest = f"the shortest run took {number(min(took.values(), default=None))} s, {number(least)} s are needed"
    silent = [f"{run.run}: its makespan is not known" for run in runs if run.run not in took]
    return _found(wrong, [shortest], silent or ([] if took else ["no run has ended"]))


def measured(found: Recomputed) -> Found:
    wrong, doubts = [], []
    samples = found.tables.samples
    for row in found.tables.configurations:
        if not PIPELINES[row.pipeline].genomes or row.human_30x_per_day.mean is None:
            continue
        where = _at(row.curve_key, row.n)
        own = [one for one in samples if (one.pipeline, one.n, one.counted) == (row.pipeline, row.n, True)]
        size = _mean(one.gigabases for one in own)
        if size is None:
            doubts.append(f"{where}: how much was sequenced of its samples is not recorded")
        elif size < ALIKE * HUMAN_30X_GIGABASES:
            share = percent(size / HUMAN_30X_GIGABASES)
            wrong.append(f"{where}: 30x human genomes a day are extrapolated from samples with {share} of their bases")
    runs = counted(len(found.counted), "run")
    return _found(wrong, [f"every figure is of {runs} with samples of about its size"], doubts)


def at_once(found: Recomputed) -> Found:
    wrong = []
    for record in found.counted:
        spec, rows = record.spec, [sample for sample in found.tables.samples if sample.run == record.spec.name]
        says = f"{spec.name}: says {counted(spec.n, 'sample')} at once"
        ran = {name for process in record.processes for name in process.samples}
        if len(rows) != spec.n or ran != set(spec.samples):
            wrong.append(f"{says}, and {len(ran)} were run")
        if record.waited_for_disk:
            wrong.append(f"{says}, and the disk had no room for {some(record.waited_for_disk, MOST_SHOWN)}")
        elif spec.mode == INDEPENDENT and (late := _after_others(rows)):
            wrong.append(f"{says}, and {some(late, MOST_SHOWN)} began when others had ended")
    return _found(wrong, [f"{counted(len(found.counted), 'run')}, each with as many samples at once as it says"])


def _after_others(rows: Sequence[SampleRow]) -> list[str]:
    """The samples that began when another, which did not fail, had ended."""
    ended = [row.end_s for row in rows if row.succeeded and row.end_s is not None]
    return [row.sample for row in rows if row.start_s is not None and row.start_s > min(ended, default=math.inf)]


def failures(found: Recomputed) -> Found:
    samples = [sample for sample in found.tables.samples if sample.counted]
    failed = [one for one in samples if not one.succeeded]
    wrong = [
        f"{one.run}: {one.sample} failed: {one.failed_step or 'no step'}: {one.cause or 'no cause'}" for one in failed
    ]
    return _found(wrong, [f"none of {counted(len(samples), 'sample')} failed in a run that counts"])


# ---- what else was at work -----------------------------------------------------------------------------


def quiet(found: Recomputed) -> Found:
    """Nothing else was at work before a run, and on the CPUs of its jobs, as far as somebody looked."""
    wrong, doubts, watched = [], [], 0
    for record in found.counted:
        name, load = record.spec.name, record.host.load if record.host else None
        jobs = [line for _, line in found.lines_of(record) if line.other_cpu_s is not None or line.cpu_contention]
        watched += len(jobs)
        if load is not None and load.busy:
            wrong.append(f"{name}: {number(load.busy_cpus)} CPUs were at work before its start")
        if met := sum(line.cpu_contention is True for line in jobs):
            wrong.append(f"{name}: others were at work on the CPUs of {met} of {counted(len(jobs), 'job')}")
        wrong += [f"{name}: {fault}" for fault in _taken(jobs)]
        if not jobs and (load is None or load.busy is None):
            doubts.append(f"{name}: what else was at work nobody looked")
    well = f"before {counted(len(found.counted), 'run')} and on the CPUs of {counted(watched, 'job')} nobody else was"
    return _found(wrong, [well], doubts)


def _taken(jobs: Sequence[Attempt]) -> Iterator[str]:
    """Say what others took of the CPU time that jobs were allocated, where that is much over all of them."""
    had_s = sum((clocks.width(line) or 0) * (line.wall_s or 0) for line in jobs)
    taken = {
        "other processes": sum(line.other_cpu_s or 0 for line in jobs),
        "the hypervisor": sum(line.steal_s or 0 for line in jobs),
    }
    for whose, taken_s in taken.items():
        if taken_s > DISTURBED * had_s:
            yield f"{whose} took {number(taken_s)} s of the {number(had_s)} CPU seconds of its jobs"


def warm_up(found: Recomputed) -> Found:
    if found.plan is None:
        return UNKNOWN, [NO_PLAN]
    wrong, well = [], []
    settings = found.plan.study
    for pipeline in settings.pipelines:
        own = [record for record in found.tables.records if record.spec.pipeline == pipeline]
        first = min((record.start for record in found.counted if record.spec.pipeline == pipeline), default=None)
        before = [record for record in own if record.spec.warm_up and (first is None or record.end <= first)]
        if len(before) < settings.warm_up:
            wrong.append(f"{pipeline}: {len(before)} of {counted(settings.warm_up, 'warm-up')} before the first run")
        warm = counted(len(before), "warm-up") if before else "no warm-up"
        well.append(f"{pipeline}: {warm} before the first measured run; page cache {settings.cache.replace('_', ' ')}")
    wrong += [f"{record.spec.name}: {fault}" for record in found.counted if (fault := _cache_fault(record))]
    others = sorted({record.spec.name for record in found.tables.records if record.spec.cache != settings.cache})
    wrong += [f"{name}: its page cache was not {settings.cache}, as the study says" for name in others]
    return _found(wrong, well)


def _cache_fault(record: RunRecord) -> str:
    """What the page cache held that it was not to, as it was looked at; nothing where that is not known."""
    wanted = {"cold": 0.0, "warm": 1.0}.get(record.spec.cache)
    if wanted is None or record.cached is None or abs(record.cached - wanted) <= CACHE_TOLERANCE:
        return ""
    return f"says {record.spec.cache}, and {percent(record.cached)} of reads and reference were in memory"


def outputs_agree(found: Recomputed) -> Found:
    wrong = [
        f"{one.kind} of {some(one.samples, MOST_SHOWN)} ({one.pipeline}): {len(one.digests)} different results"
        for one in agreement.disagreements(found.tables.records)
    ]
    outputs = agreement.compared(found.tables.records)
    doubts = [] if outputs else ["no output is recorded of a sample that ran in several runs"]
    return _found(wrong, [f"{counted(outputs, 'output')} of several runs, the same in all of them"], doubts)


# ---- CPUs and machines ---------------------------------------------------------------------------------


def pinning(found: Recomputed) -> Found:
    wrong, doubts, proved = [], [], 0
    for record in found.counted:
        if is_unbound(record.spec.binding):
            continue
        for place, line in found.lines[record.spec.name]:
            if line.step not in PIPELINES[record.spec.pipeline].steps or not line.start or line.taken_from:
                continue
            allocated, observed = line.cpus, [line.cpus_allowed, line.cpus_seen]
            if allocated is None:
                wrong.append(f"{place}: {line.rule}: no CPUs were allocated")
            elif line.binding_ok is False or any(parse_cpus(cpus) - parse_cpus(allocated) for cpus in observed if cpus):
                wrong.append(f"{place}: {line.rule}: had CPUs {allocated}, and was seen on others")
            elif not any(observed):
                doubts.append(f"{place}: {line.rule}: on which CPUs it was nobody saw")
            else:
                proved += 1
    well = f"{counted(proved, 'job')} of the steps were seen on the CPUs allocated to them, and on no others"
    nothing = "no run is allocated CPUs (binding none), so there is nothing to prove"
    return _found(wrong, [well if proved else nothing], doubts)


def machine(found: Recomputed) -> Found:
    wrong = []
    for record in found.counted:
        silent = [name for name in DISCLOSED_SOFTWARE if not getattr(record.settings, name)]
        if not record.machines:
            silent.append("machine")
        for host in record.machines:
            names = DISCLOSED if record.host else DISCLOSED_BY_SLURM
            silent += [name for name in names if getattr(host, name) in (None, {}, ())]
        if silent:
            wrong.append(f"{record.spec.name}: does not tell {listed(dict.fromkeys(silent))}")
    models = sorted({host.cpu_model or "a CPU not named" for record in found.counted for host in record.machines})
    why = f"{listed(models)}, with memory, kernel, file systems, versions of tools and digests of settings"
    return _found(wrong, [why], [] if found.counted else ["no run has ended"])


def one_machine(found: Recomputed) -> Found:
    """Records of a study are of one machine, and ledgers say the same one."""
    wrong = []
    if several := machine_differences(record.host for record in found.counted if record.host):
        wrong.append(several)
    for trait in (trait for trait in TRAITS if trait.pooled):
        values = {tuple(sorted(str(trait.of(host)) for host in record.machines)) for record in found.counted}
        if len(values) > 1 and not any(record.spec.mode == CLUSTER for record in found.counted):
            wrong.append(f"{trait.name}: {listed(sorted(some(each, MOST_SHOWN) for each in values))}")
    for record in found.tables.records:
        known = {name for host in record.machines for name in (host.hostname, host.node)}
        others = sorted(map(str, {line.host for _, line in found.lines[record.spec.name]} - known))
        if record.host is not None and others:
            wrong.append(f"{record.spec.name}: run.json says {record.host.hostname}, its ledger {listed(others)}")
    names = {host.hostname for record in found.tables.records for host in record.machines}
    node = found.tables.node.host.hostname if found.tables.node else None
    if node and node not in names:
        wrong.append(f"node.json is of {node}, and no run ran there")
    runs = counted(len(found.tables.records), "run")
    return _found(wrong, [f"{runs} and their ledgers name {listed(sorted(filter(None, names))) or 'none'}"])


# ---- the whole grid ------------------------------------------------------------------------------------


def complete(found: Recomputed) -> Found:
    """Every run that follows from the plan is there, with the samples that the seed draws."""
    plan = found.plan
    if plan is None:
        return UNKNOWN, [NO_PLAN]
    ended = {old_names.run_name(record.spec.name): record.spec for record in found.tables.records}
    try:
        planned = list(_planned(plan, found))
    except StudyError as error:
        return FAILS, str(error).splitlines()
    except (LookupError, ValueError) as error:
        return FAILS, [f"its plan contradicts itself: {error}"]
    left = [spec for spec in planned if spec.name not in ended]
    by_budget = bool(left) and _ended_by_budget(plan, found, left)
    missing = [] if by_budget else [spec.name for spec in left]
    wrong = [f"{name}: it is planned, and did not end" for name in missing]
    wrong += [f"{name}: it did not end" for name in found.tables.unfinished if name not in missing]
    for spec in planned:
        if spec.name in ended and replace(ended[spec.name], name=spec.name) != spec:
            wrong.append(f"{spec.name}: {listed(_unlike(ended[spec.name], spec))} are not those of the plan")
    wrong += _searches(plan, found)
    besides = len(ended) - len(planned) + len(left)
    more = f", and {counted(besides, 'run')} besides" if besides > 0 else ""
    older = plan.design < DESIGN and plan.study.repeats == AUTO
    doubts = [OLDER_DESIGN] if older else []
    whole = f"all {counted(len(planned), 'run')} of the plan ended"
    part = (
        f"{len(planned) - len(left)} of {counted(len(planned), 'run')} ended within the budget of {plan.study.budget}"
    )
    return _found(wrong, [f"{part if by_budget else whole}{more}"], doubts)


def _planned(plan: StudyRecord, found: Recomputed) -> Iterator[RunSpec]:
    """The runs that a study is to have, by its plan and by what came of the first of them. Raises StudyError."""
    seen = {(row.curve_key, row.n): repeats.stats(row) for row in found.tables.configurations}
    if plan.study.concurrent_samples or plan.design < DESIGN:
        yield from _of_grid(plan, found, seen)
        return
    observed, total, drawn = search.observations(found.tables), 0, 0
    for pipeline in plan.study.pipelines:
        pool, bad = plan.pools.get(pipeline, ()), _bad_samples(found, pipeline)
        # whether a budget was too short to seek any further, nobody can say afterwards
        goes_on = partial(_unlimited, plan)
        for spec in study.search(plan.study, pipeline, pool, plan.cores, bad, observed, seen, goes_on):
            total, drawn = total + 1, drawn + len(pool)
            _check_bounds(total, drawn)
            yield spec


def _unlimited(plan: StudyRecord, _: Sequence[RunSpec]) -> bool:
    return plan.study.budget_s is None


def _ended_by_budget(plan: StudyRecord, found: Recomputed, missing: Sequence[RunSpec]) -> bool:
    """Whether the first of the runs that are missing would have ended beyond the budget, and none is left out alone.

    Repeats are run in rounds, so that no configuration has two more than another.
    """
    if plan.study.budget_s is None or any(spec.seeking or spec.warm_up for spec in missing):
        return False
    spent_s = sum(record.wall_s for record in found.tables.records)
    ended = Counter((record.spec.curve_key, record.spec.n) for record in found.counted)
    of_plan = {(spec.curve_key, spec.n): ended[spec.curve_key, spec.n] for spec in missing}
    longest = max((record.wall_s for record in found.counted), default=0.0)
    rounds = [*of_plan.values(), *(ended.values() if plan.study.repeats != AUTO else ())]
    return spent_s + longest > plan.study.budget_s and max(rounds) - min(rounds) <= 1


def _check_bounds(runs: int, drawn: int) -> None:
    """Refuse a plan that would take hours to draw again. Raises StudyError."""
    if runs > MOST_RUNS:
        raise StudyError(TOO_MANY_RUNS)
    if drawn > MOST_DRAWN:
        raise StudyError(f"its runs draw from more than {MOST_DRAWN:,} names in all: they are not drawn again")


def _of_grid(
    plan: StudyRecord, found: Recomputed, seen: Mapping[tuple[CurveKey, int], RepeatStats]
) -> Iterator[RunSpec]:
    """The runs of a list of N, or of those that an earlier version's search came to. Raises StudyError."""
    settings, total, drawn = plan.study, 0, 0
    for pipeline in settings.pipelines:
        pool, bad = plan.pools.get(pipeline, ()), _bad_samples(found, pipeline)
        curves = list(islice(study.curves(settings, pipeline), MOST_RUNS + 1))
        if len(curves) * len(settings.concurrent_samples) > MOST_RUNS:
            raise StudyError(TOO_MANY_RUNS)
        wanted = {
            (key, n): _wanted(plan, seen.get((key, n), RepeatStats()))
            for key in curves
            for n in settings.concurrent_samples or [n for at, n in seen if at == key]
        }
        of_pipeline = settings.warm_up + sum(wanted.values())
        total, drawn = total + of_pipeline, drawn + of_pipeline * len(pool)
        _check_bounds(total, drawn)
        for warm in range(1, settings.warm_up + 1):
            n = next(iter(settings.concurrent_samples), 1)
            yield study.spec(settings, curves[0], n, 0, pool, plan.cores, bad, warm_up=warm)
        for (key, n), times in wanted.items():
            for repeat in range(1, times + 1):
                yield study.spec(settings, key, n, repeat, pool, plan.cores, bad)


def _wanted(plan: StudyRecord, stats: RepeatStats) -> int:
    """How many repeats there are to be; by the rule of an earlier version nobody can say, so those that there are."""
    older = plan.design < DESIGN and plan.study.repeats == AUTO
    return stats.ended if older else repeats.rule(plan.study).wanted(stats)


def _bad_samples(found: Recomputed, pipeline: str) -> set[str]:
    """The samples that have bad data, which others were drawn for."""
    return {one.sample for one in found.tables.samples if (one.pipeline, one.fault) == (pipeline, DATA)}


def _unlike(one: RunSpec, other: RunSpec) -> list[str]:
    return [name for name in vars(one) if getattr(one, name) != getattr(other, name)]


def _searches(plan: StudyRecord, found: Recomputed) -> Iterator[str]:
    """Name the searches for a saturation point that were broken off, in studies of an earlier version."""
    if plan.design >= DESIGN or plan.study.repeats == AUTO:
        return
    for pipeline in () if plan.study.concurrent_samples else plan.study.pipelines:
        limit = len(plan.pools.get(pipeline, ())) - len(_bad_samples(found, pipeline))
        for key in study.curves(plan.study, pipeline):
            own = [row for row in found.tables.configurations if row.curve_key == key]
            tried = repeats.curve(own, repeats.rule(plan.study))
            if len({one.n for one in tried}) < len(tried):
                yield f"{_at(key, tried[0].n)}: its runs ran on different machines"
            elif limit > 0 and (n := next_n(tried, limit)) is not None:
                yield f"{_at(key, n)}: the search for the saturation point would go on with it"


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
            doubts.append(f"{name}: {broken_off} of it did not end, and what would have come of that nobody knows")
    doubts += [f"{name}: that it was begun is not recorded" for name in runs if name not in of_runs]
    wrong += _went_on(found)
    return _found(wrong, [f"{counted(len(runs), 'run')}, each begun once, and every run counts"], doubts)


def _went_on(found: Recomputed) -> Iterator[str]:
    """Name the configurations of `repeats: auto` that went on after they were precise enough."""
    if found.plan is None or found.plan.study.repeats != AUTO:
        return
    rule = repeats.rule(found.plan.study)
    drawn_anew = {record.spec.name for record in found.tables.records if record.spec.left_out}
    of_configurations: dict[tuple[CurveKey, int], list[RunRow]] = {}
    for run in found.tables.runs:
        if run.counted:
            of_configurations.setdefault((run.curve_key, run.n), []).append(run)
    for (curve_key, n), own in of_configurations.items():
        if any(run.run in drawn_anew for run in own):
            continue  # what the first draws came to is in no figure
        daily = [run.genomes_per_day for run in sorted(own, key=lambda run: run.repeat)]
        for ended in range(1, len(daily)):
            if rule.wanted(RepeatStats.of(ended, estimate(daily[:ended]))) == ended:
                yield f"{_at(curve_key, n)}: had enough repeats with {ended}, and went on to {len(daily)}"
                break


# ---- time of one sample --------------------------------------------------------------------------------


def latency(found: Recomputed) -> Found:
    """What one sample takes stands beside how many a day there are."""
    counting = [sample for sample in found.tables.samples if sample.counted and sample.succeeded]
    well, doubts = [], []
    for row in found.tables.configurations:
        if not row.genomes_per_day.mean:
            continue
        own = [one for one in counting if (one.n, one.curve_key) == (row.n, row.curve_key)]
        took = _mean(one.end_s - one.start_s for one in own if one.end_s is not None and one.start_s is not None)
        daily = f"{_at(row.curve_key, row.n)}: {number(row.genomes_per_day.mean)} {PIPELINES[row.pipeline].daily}"
        if took is None or not math.isfinite(took):
            doubts.append(f"{daily}, and what one sample takes is not known")
        else:
            well.append(f"{daily}; one sample takes {number(took)} s")
    return _found([], well, doubts or ([] if well else ["no configuration has a figure"]))


DIGESTS = Check("digests", "every file is what the manifest says", lambda _: (UNKNOWN, []))
FIGURES = Check("figures", "every figure follows from the ledgers", figures)
CHECKS = (
    DIGESTS,
    FIGURES,
    Check("ledgers", "every attempt is recorded once, and no two jobs shared a CPU", ledgers),
    Check("clocks", "start, end, uptime, wall time and CPU seconds agree with each other", times),
    Check("precision", "there are enough repeats for the precision that is claimed", precision),
    Check("duration", "runs are long enough for it", duration),
    Check("measured", "nothing is extrapolated", measured),
    Check("at once", "as many samples ran at once as it says", at_once),
    Check("failures", "no sample failed in a run that counts", failures),
    Check("quiet", "nothing else was at work before runs, and on the CPUs of their jobs", quiet),
    Check("warm-up", "warm-up and cache state are recorded", warm_up),
    Check("outputs", "samples gave the same results wherever they ran", outputs_agree),
    Check("pinning", "jobs were seen on the CPUs allocated to them, and on no others", pinning),
    Check("machine", "the machine and the software are disclosed", machine),
    Check("one machine", "records and ledgers are of one machine", one_machine),
    Check("complete", "no run of the plan is missing, and its samples are those drawn", complete),
    Check("every run", "no run is chosen among several runs of it", chosen),
    Check("latency", "the time of one sample stands beside samples a day", latency),
)
