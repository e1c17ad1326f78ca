"""What disturbed a run: what counts, from which threshold on, and its sentence. Pure.

The row of a run has these sentences; terminal, reports, comparisons and the check of packages print them as they are.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from gpd.records.host import Host
from gpd.records.ledger import Attempt
from gpd.records.machine_use import MachineUse
from gpd.records.run import RunRecord
from gpd.records.run_spec import STREAM
from gpd.statistics.known import covered_s
from gpd.tables.columns import RunRow
from gpd.tables.scaling_rows import ScalingRun
from gpd.text.cpu_lists import count_cpus, parse_cpus
from gpd.text.formats import counted, listed, number

WAIT = 0.02  # of the makespan: jobs that waited longer for CPUs make it too long
LEAST_WAIT_S = 1.0
OF_JOBS = 0.05  # of the time of the CPUs of all jobs of a run together: what others took beyond it
OF_CLOCK = 0.05  # of the base frequency: busy CPUs that ran so much slower were held back
MOST_NAMED = 5  # runs
SEPARATOR = "; "

Span = tuple[float, float]
Held = tuple[float, float, frozenset[int]]


def disturbances(
    record: RunRecord, every: Iterable[Attempt], timed: Sequence[Attempt], makespan_s: float, cpus: float
) -> str | None:
    """What kept a run from the machine's full speed, as sentences with amounts; None: nothing that is known.

    `timed` are the attempts at its named steps; `makespan_s` of a stream is its wall time; a run
    has so many `cpus`.
    """
    use = record.machine_use or MachineUse()
    found = (
        _load(record.host),
        _others(use, timed),
        waited(timed, makespan_s, cpus),
        f"a CPU quota held processes for {number(use.throttled_s)} s" if use.throttled_s else "",
        f"heat slowed its CPUs {counted(use.thermal_throttles, 'time')}" if use.thermal_throttles else "",
        _clocks(record, timed, makespan_s * cpus),
        _paused(use, every),
    )
    return SEPARATOR.join(filter(None, found)) or None


def _load(host: Host | None) -> str:
    load = host.load if host else None
    if load is None or not load.busy:
        return ""
    return f"{number(load.busy_cpus) or 'some'} CPUs were at work before its start"


def _others(use: MachineUse, attempts: Sequence[Attempt]) -> str:
    """Say what others took of its CPUs: during the run, or while its jobs held them."""
    of_jobs = [_known_sum(one.other_cpu_s for one in attempts), _known_sum(one.steal_s for one in attempts)]
    of_run = [use.other_cpu_s or 0.0, use.steal_s or 0.0]
    had_s = sum(_cpus(one) * (one.own_s or 0.0) for one in attempts)
    met = sum(one.cpu_contention is True for one in attempts)
    if not (use.cpu_contention or met or (had_s and max(of_jobs) > OF_JOBS * had_s)):
        return ""
    taken = zip(("other processes", "the hypervisor"), of_run if use.cpu_contention else of_jobs, strict=True)
    took = [f"{whose} took {number(taken_s)} s of its CPUs' time" for whose, taken_s in taken if taken_s]
    return listed(took) or f"other processes were at work on the CPUs of {counted(met, 'job') if met else 'the run'}"


def _cpus(attempt: Attempt) -> int:
    """The CPUs that a job could run on; 0: not known."""
    return count_cpus(attempt.cpus or attempt.cpus_allowed or attempt.cpus_seen or "")


def _clocks(record: RunRecord, attempts: Sequence[Attempt], had_s: float) -> str:
    """Say that busy CPUs ran below their base frequency; the recorded mean is over idle ones, too."""
    mhz = record.machine_use.mhz_mean if record.machine_use else None
    base_mhz = record.host.base_mhz if record.host else None
    if mhz is None or base_mhz is None or not had_s:
        return ""
    busy = min(1.0, _known_sum(one.cpu_s for one in attempts) / had_s)
    if mhz >= (1 - OF_CLOCK) * busy * base_mhz:
        return ""
    return f"its CPUs ran at {number(mhz)} MHz on average, below their base frequency of {number(base_mhz)} MHz"


def _known_sum(values: Iterable[float | None]) -> float:
    return sum(value for value in values if value is not None)


def waited(attempts: Sequence[Attempt], makespan_s: float | None, cpus: float | None = None) -> str:
    """Say how long jobs waited for CPUs of others, where that is a share of the makespan that matters.

    A run has so many `cpus`; where its own jobs hold them, as independent instances do, a wait is no disturbance. None:
    they never do.
    """
    least_s = max(LEAST_WAIT_S, WAIT * (makespan_s or 0.0))
    if not makespan_s or waited_for_cpus_s(attempts) <= least_s:
        return ""
    waited_s = waited_for_cpus_s(attempts, cpus)
    if waited_s <= least_s:
        return ""
    return f"jobs waited {number(waited_s)} of its {number(makespan_s)} s for CPUs that other runs held"


def waited_for_cpus_s(attempts: Sequence[Attempt], cpus: float | None = None) -> float:
    """For how many seconds at least one job waited for CPUs, but where the run's own jobs held its `cpus`.

    Where jobs ran on several hosts, whose clocks differ: on the host where it was longest.
    """
    held = list(_held(attempts)) if cpus is not None else []
    waits: dict[str | None, list[Span]] = {}
    for each in attempts:
        if each.start is not None and each.wait_s:
            start = each.start.timestamp()
            wait = (start - each.wait_s, start)
            found = [wait] if cpus is None else _with_room(wait, held, cpus - _cpus(each))
            waits.setdefault(each.host, []).extend(found)
    return max(map(covered_s, waits.values()), default=0.0)


def _held(attempts: Iterable[Attempt]) -> Iterator[Held]:
    """From when until when each job held which CPUs."""
    for one in attempts:
        if one.start and one.end and one.cpus:
            yield one.start.timestamp(), one.end.timestamp(), parse_cpus(one.cpus)


def _with_room(wait: Span, held: Iterable[Held], most: float) -> Iterator[Span]:
    """The parts of a wait in which the run's own jobs held so many CPUs at the most."""
    first, last = wait
    meanwhile = [(start, end, cpus) for start, end, cpus in held if start < last and end > first]
    moments = {at for start, end, _ in meanwhile for at in (start, end) if first < at < last}
    for begin, until in pairwise(sorted({first, last, *moments})):
        own: frozenset[int] = frozenset().union(*(cpus for start, end, cpus in meanwhile if start <= begin < end))
        if len(own) <= most:
            yield begin, until


def _paused(use: MachineUse, attempts: Iterable[Attempt]) -> str:
    paused_s = max([use.paused_s or 0.0, *(one.paused_s or 0.0 for one in attempts)])
    return f"suspended for {number(paused_s)} s" if paused_s else ""


def in_means(runs: Iterable[RunRow]) -> list[RunRow]:
    """The runs that means are of: warm-ups, the search and samples alone are not."""
    return [run for run in runs if run.counted or run.mode == STREAM]


def lines(runs: Iterable[RunRow | ScalingRun]) -> Iterator[str]:
    """What a reader has to know of these runs, a line each; how many more there are in the last."""
    every = list(runs)
    disturbed = [f"{run.run} was disturbed: {run.disturbances}" for run in every if run.disturbances]
    yield from disturbed[:MOST_NAMED]
    if (more := len(disturbed) - MOST_NAMED) > 0:
        yield f"{counted(more, 'more run')} of {len(every):,} disturbed: column disturbances of tables/runs.tsv"
