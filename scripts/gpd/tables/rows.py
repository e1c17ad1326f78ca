"""Rows of a study's tables, from its records: jobs, samples, steps and run of a run, configurations over runs. Pure.

Here is every value of a study computed. A sum leaves out what is not known: an attempt that was killed
together with its launcher.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cached_property
from itertools import groupby
from math import fsum, inf
from typing import Any, TypeVar

from msgspec import Struct, structs

from gpd.outcomes import Outcome, Process, Run, owner
from gpd.pipelines import ALTERNATIVES, human_30x_per_day, scaling_error
from gpd.records.binding import Binding, is_unbound
from gpd.records.host import Host
from gpd.records.ledger import Attempt, Clock, last_attempts, one_clock
from gpd.records.machine_use import MachineUse
from gpd.records.run import RunRecord
from gpd.statistics.estimates import Estimate, estimate
from gpd.statistics.known import mean, most, most_at_once, whole_sum
from gpd.tables import columns, streams
from gpd.tables.columns import CONFIGURATION, ConfigurationRow, JobRow, OfRun, RunRow, SampleRow, StepRow, StreamRow
from gpd.tables.disturbances import disturbances
from gpd.tables.scaling_rows import OfJobs
from gpd.text.cpu_lists import count_cpus
from gpd.text.formats import SECONDS_PER_DAY

Key = Mapping[str, Any]  # what each row of a run begins with
Job = tuple[Process, Attempt]
Row = TypeVar("Row", bound=Struct)
Pooled = TypeVar("Pooled", bound=Struct)

SECONDS_PER_HOUR = 3600
BASES_PER_GIGABASE = 1e9
HOSTS = ", "  # between names of hosts that ran one run together
COPIED = {field.name for field in fields(Attempt)} & set(JobRow.__struct_fields__) - {"run", "start", "end", "log"}
KEYS = [name for name in OfRun.__struct_fields__ if name not in ("run", "counted")]
SUMMED = ("cpu_s", "read_mib", "write_mib", "shared_inputs_mib", "shared_outputs_mib")  # of a run: over its timed jobs
OF_RECORD = ("wall_s", "cached", "genome_mb", "peak_disk_mib", "kept_disk_mib")
OF_MACHINE = ("cpu_contention", "throttled_s", "thermal_throttles", "mhz_mean")


class Timeline:
    """When jobs of a run began and ended, s, since the first of its `timed` ones."""

    def __init__(self, every: Iterable[Job], timed: Iterable[Job]) -> None:
        self._clock = Clock(attempt for _, attempt in every)
        self._zero = self._clock.first(attempt for _, attempt in timed)

    def start_s(self, attempts: Iterable[Attempt]) -> float | None:
        return _between(self._zero, self._clock.first(attempts))

    def end_s(self, attempts: Iterable[Attempt]) -> float | None:
        return _between(self._zero, self._clock.last(attempts))


@dataclass(frozen=True)
class RowsOfRun:
    """The rows of one run; `faults` has for each sample why it failed, `machine` and `session` are their numbers."""

    ran: Run
    outcomes: Sequence[Outcome]
    faults: Mapping[str, str | None]
    counted: bool
    machine: int | None
    session: int | None = None

    @cached_property
    def _key(self) -> Key:
        spec = self.ran.spec
        return {"run": spec.name, **{name: getattr(spec, name) for name in KEYS}, "counted": self.counted}

    @cached_property
    def _every(self) -> list[Job]:
        """All attempts, as they began."""
        every = [(process, attempt) for process in self.ran.processes for attempt in process.attempts]
        return sorted(every, key=lambda job: job[1].start.timestamp() if job[1].start else inf)

    @cached_property
    def _timed(self) -> list[Job]:
        """Those at jobs of named steps."""
        return [(process, attempt) for process, attempt in self._every if attempt.step in self.ran.steps]

    @cached_property
    def _timeline(self) -> Timeline | None:
        return Timeline(self._every, self._timed) if self.ran.one_clock else None

    @cached_property
    def stream(self) -> StreamRow | None:
        if not self.ran.spec.stream:
            return None
        amounts = {outcome.sample: gigabases(self.ran, outcome.sample) for outcome in self.outcomes}
        return streams.row(self._key, self.ran, self.outcomes, amounts)

    # ---- jobs, samples, steps ----------------------------------------------------------------------------

    @cached_property
    def jobs(self) -> list[JobRow]:
        return [self._job(process, attempt) for process, attempt in self._every]

    def _job(self, process: Process, attempt: Attempt) -> JobRow:
        timed, timeline = attempt.step in self.ran.steps, self._timeline
        return JobRow(
            **self._key,
            sample=owner(attempt) if timed else attempt.owner,
            unit=attempt.wildcards.get("unit"),
            start=_utc(attempt.start),
            end=_utc(attempt.end),
            start_s=timeline.start_s([attempt]) if timeline else None,
            end_s=timeline.end_s([attempt]) if timeline else None,
            timed=timed,
            log=process.path(attempt.log),
            **{name: getattr(attempt, name) for name in COPIED},
        )

    @cached_property
    def samples(self) -> list[SampleRow]:
        own: dict[str, list[Attempt]] = {}
        for _, attempt in self._timed:
            own.setdefault(owner(attempt), []).append(attempt)
        return [self._sample(outcome, own.get(outcome.sample, [])) for outcome in self.outcomes]

    def _sample(self, outcome: Outcome, attempts: Sequence[Attempt]) -> SampleRow:
        given, timeline = self.ran.record.input(outcome.sample), self._timeline
        return SampleRow(
            **self._key,
            sample=outcome.sample,
            input_digest=given.digest,
            gigabases=gigabases(self.ran, outcome.sample),
            mapped=given.mapped,
            mismatches=given.mismatches,
            succeeded=outcome.succeeded,
            failed_step=outcome.step,
            cause=outcome.cause,
            fault=self.faults[outcome.sample],
            message=outcome.message,
            log=outcome.log,
            start_s=timeline.start_s(attempts) if timeline else None,
            end_s=timeline.end_s(attempts) if timeline else None,
            summed_s=_over_known(fsum, attempts, "own_s"),
            cpu_s=_over_known(fsum, attempts, "cpu_s"),
            peak_rss_mib=_over_known(max, attempts, "peak_rss_mib"),
        )

    @cached_property
    def steps(self) -> list[StepRow]:
        """A row for each named step, also where it did not run; an alternative to a step, and a step of a workflow that
        is not ours, only where it did."""
        of_step: dict[str, list[Job]] = {step: [] for step in self.ran.steps}
        for job in self._timed:
            of_step[job[1].step].append(job)
        only_where_they_ran = ALTERNATIVES if self.ran.ours else of_step.keys()
        return [self._step(step, jobs) for step, jobs in of_step.items() if jobs or step not in only_where_they_ran]

    def _step(self, step: str, jobs: Sequence[Job]) -> StepRow:
        attempts = [attempt for _, attempt in jobs]
        final = [last for process in self.ran.processes for last in last_attempts(a for p, a in jobs if p is process)]
        return StepRow(
            **self._key,
            step=step,
            jobs=len(final),
            failed_jobs=sum(not attempt.succeeded for attempt in final),
            elapsed_h=_over(span_s(attempts) if self.ran.one_clock else None, SECONDS_PER_HOUR),
            summed_h=_over(_over_known(fsum, attempts, "own_s"), SECONDS_PER_HOUR),
            cpu_s=_over_known(fsum, attempts, "cpu_s"),
            peak_rss_mib=_over_known(max, attempts, "peak_rss_mib"),
        )

    # ---- the run -----------------------------------------------------------------------------------------

    @cached_property
    def makespan_s(self) -> float | None:
        """None of a stream, whose start and end are in no mean."""
        if self.ran.spec.stream:
            return None
        return span_s([attempt for _, attempt in self._timed]) if self.ran.one_clock else self.ran.record.wall_s

    @cached_property
    def run(self) -> RunRow:
        ran, record, makespan_s = self.ran, self.ran.record, self.makespan_s
        every, attempts = ([attempt for _, attempt in jobs] for jobs in (self._every, self._timed))
        use, threads = record.machine_use or MachineUse(), usable_threads(record, every)
        sums = {name: _over_known(fsum, attempts, name) for name in SUMMED}
        daily = _daily(ran, self.outcomes, makespan_s)
        return RunRow(
            **self._key,
            **sums,
            **daily,
            **_of_machine(record, use),
            **{name: getattr(record, name) for name in OF_RECORD},
            machine=self.machine,
            session=self.session,
            cores=ran.spec.cores,
            cache=ran.spec.cache,
            fraction=ran.spec.fraction,
            samples_per_genome=ran.spec.samples_per_genome,
            failures="; ".join(_describe(outcome) for outcome in self.outcomes if not outcome.succeeded) or None,
            makespan_s=makespan_s,
            usable_threads=threads,
            smt=_smt(record),
            cpu_utilisation=_over(sums["cpu_s"], threads * makespan_s if makespan_s else None),
            os_cpu_s=record.cpu_s,
            ledger_cpu_s=_over_known(fsum, every, "cpu_s"),
            cpu_s_per_gigabase=_over(sums["cpu_s"], daily["gigabases"]),
            peak_memory_mib=peak_memory_mib(every) if ran.one_clock else None,
            disk_per_sample_mib=_over(record.peak_disk_mib, len(self.outcomes)),
            disk_per_input=_over(record.peak_disk_mib, daily["input_mib"]),
            jobs=_of_jobs(attempts, record.memory_applied),
            paused_s=most([use.paused_s, *(attempt.paused_s for attempt in every)]),
            disturbances=disturbances(record, every, attempts, makespan_s or record.wall_s, threads),
        )


# ---- figures of a run --------------------------------------------------------------------------------


def gigabases(run: Run, sample: str) -> float | None:
    """Bases that were sequenced of a sample, Gb."""
    bases = run.record.input(sample).bases
    return None if bases is None else bases / BASES_PER_GIGABASE


def _daily(run: Run, outcomes: Sequence[Outcome], makespan_s: float | None) -> dict[str, Any]:
    """What a run did to its samples, and what it came to a day."""
    whole = [outcome.sample for outcome in outcomes if outcome.succeeded]
    total = whole_sum([gigabases(run, sample) for sample in whole])
    gigabases_per_day = a_day(total, makespan_s)
    inputs = [run.record.input(outcome.sample).mib for outcome in outcomes]
    return {
        "samples": len(outcomes),
        "succeeded": len(whole),
        "failed": len(outcomes) - len(whole),
        "gigabases": total,
        "input_mib": whole_sum(inputs) if inputs else None,
        "genomes_per_day": a_day(len(whole), makespan_s),
        "gigabases_per_day": gigabases_per_day,
        "human_30x_per_day": human_30x_per_day(gigabases_per_day, _over(total, len(whole)), run.spec.fraction),
    }


def _of_jobs(attempts: Sequence[Attempt], memory_applied: str | None) -> OfJobs:
    return OfJobs(
        wait_s=_over_known(fsum, attempts, "wait_s"),
        binding_ok=_over_known(all, attempts, "binding_ok"),
        split_jobs=_over_known(sum, attempts, "split"),
        memory_applied=memory_applied,
        jobs_with_contention=_over_known(sum, attempts, "cpu_contention"),
        other_cpu_s=_over_known(fsum, attempts, "other_cpu_s"),
        steal_s=_over_known(fsum, attempts, "steal_s"),
    )


def _of_machine(record: RunRecord, use: MachineUse) -> dict[str, Any]:
    """What a run was on, and what that did meanwhile."""
    return {
        "host": HOSTS.join(filter(None, (machine.hostname for machine in record.machines))) or None,
        "sku": record.host.sku if record.host else None,
        "machine_other_cpu_s": use.other_cpu_s,
        "machine_steal_s": use.steal_s,
        **{name: getattr(use, name) for name in OF_MACHINE},
    }


def usable_threads(record: RunRecord, attempts: Iterable[Attempt]) -> float:
    """How many threads jobs might keep busy at once.

    Where CPUs are allocated, Snakemake starts jobs for as many threads as it has cores, and each has a CPU; a job that
    asks for more than there are is granted all. Elsewhere jobs may use what the run may, as far as a quota lets them.
    """
    spec, host = record.spec, record.host or Host()
    if not is_unbound(spec.binding):
        return max([spec.cores, *(count_cpus(attempt.cpus) for attempt in attempts if attempt.cpus)])
    cpus = count_cpus(record.cpus) if record.cpus else host.usable_threads or spec.cores
    return min(cpus, host.cpu_quota_cpus or cpus)


def _smt(record: RunRecord) -> bool | None:
    """Whether jobs might use all threads of a core."""
    host, binding = record.host or Host(), Binding.parse(record.spec.binding)
    if host.smt is not True:
        return host.smt
    if binding.smt is not None or binding.unbound:
        return binding.smt is not False
    smt = (record.binding or {}).get("smt")
    return smt if isinstance(smt, bool) else None


def _describe(outcome: Outcome) -> str:
    return ": ".join(filter(None, (outcome.sample, outcome.step, outcome.cause)))


def a_day(amount: float | None, makespan_s: float | None) -> float | None:
    """How much of it 24 hours would give. Where nothing was done it is none, however long that took."""
    return 0.0 if amount == 0 else _over(None if amount is None else SECONDS_PER_DAY * amount, makespan_s)


def peak_memory_mib(attempts: Iterable[Attempt]) -> float | None:
    """The largest sum of peak memory over jobs that ran on a host at one time: at least what was ever in use, MiB."""
    by_host: dict[str | None, list[Attempt]] = {}
    for attempt in attempts:
        if attempt.start and attempt.end and attempt.peak_rss_mib is not None:
            by_host.setdefault(attempt.host, []).append(attempt)
    return max(map(_peak_mib, by_host.values()), default=None)


def _peak_mib(attempts: Sequence[Attempt]) -> float:
    """That of attempts on one host, all of which came to an end."""
    clock = Clock(attempts)
    spans = ((clock.start_s(one), clock.end_s(one), one.peak_rss_mib) for one in attempts)
    return most_at_once(
        (start, end, peak) for start, end, peak in spans if start is not None and end is not None and peak is not None
    )


# ---- configurations ------------------------------------------------------------------------------------------


def configurations(runs: Iterable[RunRow]) -> list[ConfigurationRow]:
    """The statistics over the repeats of each configuration that count; different machines are not pooled."""
    return [configuration(own) for own in alike((run for run in runs if run.counted), CONFIGURATION)]


def configuration(runs: Sequence[RunRow]) -> ConfigurationRow:
    """What these runs came to together. The error of 30x equivalents has a part of scaling, too."""
    of = pooled(
        ConfigurationRow,
        runs,
        failed=sum(run.failed for run in runs),
        nodes=len({name for run in runs for name in (run.host or "").split(HOSTS)}),
        sessions=len({run.session for run in runs}),
    )
    size = mean(_over(run.gigabases, run.succeeded) for run in runs)
    if size is None:
        return of
    return structs.replace(of, human_30x_per_day=of.human_30x_per_day.with_error(scaling_error(size)))


def alike(runs: Iterable[Row], names: Sequence[str]) -> list[list[Row]]:
    """Runs in groups of those that have the same in the columns of these names, and in the order of these."""

    def place(row: Row) -> tuple:
        values = (getattr(row, name) for name in names)
        return tuple((value is None, "" if value is None else value) for value in values)

    return [list(own) for _, own in groupby(sorted(runs, key=place), key=place)]


def averaged(kind: type[Struct]) -> list[str]:
    """The columns of a row over repeats that are means."""
    return [name for name, hint in columns.kinds(kind).items() if hint is Estimate]


def pooled(kind: type[Pooled], runs: Sequence[Struct], **others: Any) -> Pooled:
    """The row of runs of one configuration: means over them, what all of them share, and `others`."""
    means = {name: estimate(getattr(run, name) for run in runs) for name in averaged(kind)}
    known = {"repeats": len(runs), **means, **others}
    return kind(**{name: getattr(runs[0], name) for name in kind.__struct_fields__ if name not in known}, **known)


# ---- what is not known -------------------------------------------------------------------------------


def _utc(moment: datetime | None) -> str | None:
    return None if moment is None else f"{moment.isoformat(timespec='microseconds')[:26]}Z"


def _between(start_s: float | None, end_s: float | None) -> float | None:
    """Seconds to what the clocks of records tell: microseconds."""
    return None if start_s is None or end_s is None else round(end_s - start_s, 6)


def span_s(attempts: Sequence[Attempt]) -> float | None:
    """From the first start to the last end, s: of a run's named steps its makespan. None across two clocks."""
    clock = Clock(attempts)
    return _between(clock.first(attempts), clock.last(attempts)) if one_clock(attempts) else None


def _over_known(function: Callable, attempts: Iterable[Attempt], name: str) -> Any:
    """A sum or such over those attempts of which something is known; None where that is none."""
    known = [value for attempt in attempts if (value := getattr(attempt, name)) is not None]
    return function(known) if known else None


def _over(amount: float | None, divisor: float | None) -> float | None:
    return amount / divisor if amount is not None and divisor else None
