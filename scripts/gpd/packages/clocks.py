"""Whether the times that a run's records tell can all be true: each was taken apart from the others. Pure.

A job has its start and end by a clock that can be set, its wall time and the time since the boot by one that can't, and
CPU seconds that the kernel counted. The run has its own of all of them. So a time that was changed contradicts others.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from gpd.records.ledger import Attempt
from gpd.records.ledger_check import Place
from gpd.records.run import RunRecord
from gpd.records.study import Start
from gpd.statistics.known import covered_s
from gpd.text.cpu_lists import parse_cpus
from gpd.text.formats import number

TOLERANCE_S = 1.0  # by which two clocks may differ over a run, as where one is set
ROUNDING, ROUNDING_S = 0.01, 0.1  # of CPU seconds, which old kernels count in ticks
LATE_S = 10.0  # from a job's end until it is recorded: its outputs are looked at meanwhile
IDLE, IDLE_S = 0.1, 60.0  # of a run, without any job: Snakemake's start and end

Lines = Sequence[tuple[Place, Attempt]]


def contradictions(record: RunRecord, lines: Lines, starts: Iterable[Start]) -> Iterator[str]:
    """Say which times of a run can't both be true."""
    yield from _of_run(record, lines)
    for start in starts:
        if start.run == record.run and start.began and seconds(start.began, record.start) < -TOLERANCE_S:
            yield f"{record.spec.name}: began before starts.jsonl says so"
        if start.run == record.run and start.ended and seconds(record.end, start.ended) < -TOLERANCE_S:
            yield f"{record.spec.name}: ended after starts.jsonl says so"
    here = {record.host.hostname, None} if record.host else set()  # whose clock is the run's
    for place, line in lines:
        yield from (f"{place}: {line.rule}: {fault}" for fault in _of_job(record, line, line.host in here))
    yield from _clock_was_set(lines)


def doubts(record: RunRecord, lines: Lines) -> Iterator[str]:
    """Say what times of a run are strange."""
    for place, line in lines:
        if line.end and line.recorded and (late_s := seconds(line.end, line.recorded)) > LATE_S:
            yield f"{place}: {line.rule}: was recorded {number(late_s)} s after its end"
    spans = ((line.start.timestamp(), line.end.timestamp()) for _, line in lines if line.start and line.end)
    idle_s = record.wall_s - covered_s(spans)
    if idle_s > max(IDLE_S, IDLE * record.wall_s):
        yield f"{record.spec.name}: no job ran for {number(idle_s)} of its {number(record.wall_s)} s"


def width(line: Attempt) -> int | None:
    """The CPUs that a job could run on; None: not known."""
    lists = [cpus for cpus in (line.cpus, line.cpus_allowed, line.cpus_seen) if cpus]
    return len(frozenset(chain.from_iterable(map(parse_cpus, lists)))) or None


def seconds(earlier, later) -> float:
    return (later - earlier).total_seconds()


def _of_run(record: RunRecord, lines: Lines) -> Iterator[str]:
    name, wall_s = record.spec.name, record.wall_s
    if abs((between_s := seconds(record.start, record.end)) - wall_s) > TOLERANCE_S:
        yield f"{name}: {number(between_s)} s from start to end, and a wall time of {number(wall_s)} s"
    counted_s, threads = record.cpu_s, record.host and (record.host.usable_threads or record.host.threads)
    if counted_s is None or not threads:
        return
    if counted_s > _most(threads * wall_s):
        yield f"{name}: {number(counted_s)} CPU seconds in {number(wall_s)} s on {threads} CPUs"
    jobs_s = sum(line.cpu_s for _, line in lines if line.cpu_s)
    if jobs_s > _most(counted_s) + TOLERANCE_S:
        yield f"{name}: its jobs say {number(jobs_s)} CPU seconds, the operating system {number(counted_s)}"


def _of_job(record: RunRecord, line: Attempt, by_clock_of_run: bool) -> Iterator[str]:
    if line.start and line.end:
        between_s = seconds(line.start, line.end)
        if line.wall_s is not None and abs(between_s - line.wall_s) > TOLERANCE_S:
            yield f"{number(between_s)} s from start to end, and a wall time of {number(line.wall_s)} s"
        if line.recorded and seconds(line.end, line.recorded) < -TOLERANCE_S:
            yield "was recorded before its end"
        if by_clock_of_run and max(seconds(line.start, record.start), seconds(record.end, line.end)) > TOLERANCE_S:
            yield "was at work when its run was not"
    cpus = width(line)
    if cpus and line.cpu_s is not None and line.wall_s is not None and line.cpu_s > _most(cpus * line.wall_s):
        yield f"{number(line.cpu_s)} CPU seconds in {number(line.wall_s)} s on {cpus} CPUs"


def _clock_was_set(lines: Lines) -> Iterator[str]:
    """Within a boot the time of day goes on as the time since the boot does."""
    first: dict[str, tuple[Place, float]] = {}
    for place, line in lines:
        if line.boot and line.start and line.uptime_s is not None:
            booted = line.start.timestamp() - line.uptime_s
            known, at = first.setdefault(line.boot, (place, booted))
            if abs(booted - at) > TOLERANCE_S:
                set_s = number(abs(booted - at))
                yield f"{place}: {line.rule}: its start is {set_s} s off the time since the boot, by that of {known}"


def _most(cpu_s: float) -> float:
    return cpu_s * (1 + ROUNDING) + ROUNDING_S
