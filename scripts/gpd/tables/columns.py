"""Every column of every table of a study, as the types of their rows: name, type, unit, what it means.

A row is a record of its type; pandas and pyarrow see it only where tables are written (collect.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, get_args, get_type_hints

from msgspec import Meta, Struct

from gpd.records.run_spec import CurveKey
from gpd.statistics.estimates import Estimate
from gpd.statistics.saturation import Observation

TEXT, COUNT, NUMBER, TRUTH = "string", "Int64", "Float64", "boolean"
Real = float | None
Text = str | None
Count = int | None
DTYPES = {str: TEXT, int: COUNT, float: NUMBER, bool: TRUTH}


@dataclass(frozen=True)
class Column:
    """A column; `type` is a pandas dtype that knows a missing value, `unit` is empty where there is none."""

    name: str
    type: str
    unit: str
    description: str


def means(description: str, unit: str = "") -> Meta:
    """What a column means, and what it is measured in."""
    return Meta(description=description, extra={"unit": unit})


def _curve_key(row: Any) -> CurveKey:
    return CurveKey(row.pipeline, row.mode, row.binding)


# ---- rows --------------------------------------------------------------------------------------------

StudyName = Annotated[str, means("The study.")]
PipelineName = Annotated[str, means("germline, tuxedo, or the name of a workflow that is not ours.")]
ModeName = Annotated[
    str,
    means(
        "shared: one workflow for all samples; independent: one a sample; stream: one a sample, started when another "
        "ends."
    ),
]
BindingName = Annotated[
    str,
    means("How jobs got their CPUs: none, compact or scatter, then boundary and memory policy (compact-numa-local)."),
]
FAULT = means(
    "data: it fails wherever it is drawn, alone too; data_of_cohort: another of its cohort does; load: it does not; "
    "empty: it succeeded, or is not told apart."
)
SamplesAtOnce = Annotated[int, means("Samples at once.", "samples")]
StepName = Annotated[str, means("The pipeline's step.")]
SkuName = Annotated[Text, means("The processor's short name.")]
MachineNumber = Annotated[
    Count, means("Which of the study's machines, from 1 in the order of their first runs; empty: of several, or none.")
]

RunName = Annotated[str, means("The run: one configuration of the study, one repeat of it, one folder.")]
Repeat = Annotated[
    int, means("Which repeat, from 1; 0: a warm-up, one of a search, or a sample alone to be looked at.")
]
WarmUp = Annotated[bool, means("Whether it only warmed the machine up; such a run is in no statistics.")]
PeakMemory = Annotated[Real, means("Largest sum of peak memory of concurrent jobs: an upper bound.", "MiB")]
Waited = Annotated[Real, means("Time that jobs of the named steps waited for CPUs.", "s")]
BindingHeld = Annotated[bool | None, means("Whether all jobs kept to their CPUs; empty: none had an allocation.")]
SplitJobs = Annotated[Count, means("Attempts whose CPUs crossed a boundary needlessly; empty: unbound.", "jobs")]
MemoryApplied = Annotated[Text, means("Memory policies that jobs on allocated CPUs really had; empty: not known.")]
JobsWithContention = Annotated[Count, means("Attempts on whose CPUs other processes were at work.", "jobs")]
OtherCpu = Annotated[Real, means("CPU time that other processes took on allocated CPUs.", "s")]
Steal = Annotated[Real, means("CPU time that the hypervisor gave to others on allocated CPUs.", "s")]

Disturbed = Annotated[
    Text,
    means(
        "What kept it from the machine's full speed: load before its start, other processes, the hypervisor, waits for "
        "CPUs of other runs, quota, heat, pauses; empty: nothing that is known."
    ),
]

Fraction = Annotated[float, means("Share of the reads of each sample that was measured; 1: all.")]
SamplesPerGenome = Annotated[int, means("Samples that each genome of the pool stands for, as copies of its files.")]


class OfRun(Struct, frozen=True, kw_only=True):
    """What every row of a run begins with."""

    study: StudyName
    run: RunName
    pipeline: PipelineName
    mode: ModeName
    binding: BindingName
    n: SamplesAtOnce
    repeat: Repeat
    warm_up: WarmUp
    seeking: Annotated[bool, means("Whether it sought the N to measure, with one run each; such runs are in no mean.")]
    counted: Annotated[bool, means("In statistics: no warm-up, search, sample alone, stream.")]

    curve_key = property(_curve_key)


class JobRow(OfRun, frozen=True, kw_only=True):
    """An attempt at a job."""

    sample: Annotated[Text, means("The sample; cohort: all samples of the run; empty: no sample's own work.")]
    rule: Annotated[str, means("The rule of the workflow.")]
    step: Annotated[str, means("The pipeline's step, or reference, qc and such, which are outside every timing.")]
    unit: Annotated[Text, means("The sequencing unit (lane), where the job has one.")]
    shard: Annotated[Text, means("Which shard of a scattered step; empty: it was not scattered.")]
    attempt: Annotated[Count, means("Which attempt at the job, from 1.")]
    threads: Annotated[int, means("Threads that the rule asked for.", "threads")]
    mem_mb: Annotated[Real, means("Memory that the rule asked for; empty: not known.", "MB")]
    cpus: Annotated[Text, means("CPUs that were allocated; empty: none.")]
    node: Annotated[Text, means("The node that it ran on; empty: not known.")]
    slurm_job_id: Annotated[Text, means("The Slurm job that it was part of; empty: none.")]
    start: Annotated[Text, means("When the job began, after its wait.", "UTC")]
    end: Annotated[Text, means("When its last process ended; empty: not seen.", "UTC")]
    start_s: Annotated[Real, means("Start, since the run's first job of a step; empty on several hosts.", "s")]
    end_s: Annotated[Real, means("End, likewise.", "s")]
    wait_s: Annotated[Real, means("Time waited for CPUs.", "s")]
    wall_s: Annotated[Real, means("Wall time.", "s")]
    cpu_s: Annotated[Real, means("CPU time of all its processes.", "s")]
    peak_rss_mib: Annotated[Real, means("Peak resident memory of all its processes together.", "MiB")]
    read_mib: Annotated[Real, means("Read from storage.", "MiB")]
    write_mib: Annotated[Real, means("Written towards storage.", "MiB")]
    shared_inputs_mib: Annotated[Real, means("Size of its inputs on network file systems; empty: not known.", "MiB")]
    shared_outputs_mib: Annotated[Real, means("Size of its outputs on network file systems; empty: not known.", "MiB")]
    exit_code: Annotated[Count, means("Exit code; empty: not seen.")]
    cause: Annotated[Text, means("Why it failed, by its job record; empty: it did not.")]
    message: Annotated[Text, means("The error message of the tool or the launcher.")]
    binding_ok: Annotated[bool | None, means("Whether it kept to its CPUs; empty: no allocation, or nothing was seen.")]
    memory_applied: Annotated[Text, means("The memory policy that it really had; empty: not known.")]
    cpu_contention: Annotated[bool | None, means("Whether other processes kept its CPUs busy; empty: not known.")]
    other_cpu_s: Annotated[Real, means("CPU time that other processes took on its CPUs.", "s")]
    steal_s: Annotated[Real, means("CPU time that the hypervisor gave to others on its CPUs.", "s")]
    paused_s: Annotated[Real, means("How long it was suspended; empty: not known.", "s")]
    timed: Annotated[bool, means("Whether it belongs to one of the pipeline's named steps.")]
    log: Annotated[str, means("Log of the job, relative to the run's folder.")]


class SampleRow(OfRun, frozen=True, kw_only=True):
    """A sample of a run."""

    sample: Annotated[str, means("The sample.")]
    input_digest: Annotated[Text, means("Digest of the sample's reads, and of what its sheets say.")]
    gigabases: Annotated[Real, means("Bases sequenced.", "Gb")]
    mapped: Annotated[Real, means("Share of its reads that mapped; empty: not known.")]
    mismatches: Annotated[Real, means("Share of its aligned bases that differ from the reference; empty: not known.")]
    succeeded: Annotated[bool, means("Whether it went through every step, and so did what it shares with its cohort.")]
    failed_step: Annotated[Text, means("The step that failed, or was never reached; empty: none, or no job ran.")]
    cause: Annotated[Text, means("Why: the job record's cause, no_job_ran, or not_finished; empty: it succeeded.")]
    fault: Annotated[Text, FAULT]
    message: Annotated[Text, means("The error message of the tool or the launcher.")]
    log: Annotated[Text, means("Log of the job, relative to the run's folder.")]
    start_s: Annotated[Real, means("Start of its own first job, since the run's first job of a step.", "s")]
    end_s: Annotated[Real, means("End of its own last job, since the run's first job of a step.", "s")]
    summed_s: Annotated[Real, means("Sum of its own jobs' wall times, failed attempts included.", "s")]
    cpu_s: Annotated[Real, means("CPU time of its own jobs, failed attempts included.", "s")]
    peak_rss_mib: Annotated[Real, means("The largest peak memory of its own jobs.", "MiB")]


class StepRow(OfRun, frozen=True, kw_only=True):
    """A step of a run."""

    step: StepName
    jobs: Annotated[int, means("Jobs of the step; attempts at one job count once.", "jobs")]
    failed_jobs: Annotated[int, means("Jobs whose last attempt failed.", "jobs")]
    elapsed_h: Annotated[Real, means("From its first job's start to its last job's end, over all samples.", "h")]
    summed_h: Annotated[Real, means("Sum of its jobs' wall times, failed attempts included.", "h")]
    cpu_s: Annotated[Real, means("CPU time, failed attempts included.", "s")]
    peak_rss_mib: Annotated[Real, means("The largest peak memory of its jobs.", "MiB")]

    @property
    def job_s(self) -> float | None:
        """Wall time of one of its jobs, on average, s."""
        return None if self.summed_h is None or not self.jobs else 3600 * self.summed_h / self.jobs


CLOCKS = {"elapsed_h": "Elapsed step time", "summed_h": "Summed step time"}  # of a step, by column

GENOMES = means("24 x samples that succeeded / makespan in hours.", "1/d")
GIGABASES = means("24 x gigabases of those samples / makespan in hours.", "Gb/d")
HUMAN = means(
    "Gigabases a day / 93: as many human genomes at 30 x 3.1 Gb; empty: samples are less than a tenth of one.", "1/d"
)
MAKESPAN = means(
    "First start of a step's job to the last end, reference and QC outside; over hosts wall_s; "
    "empty: a stream, whose row is in streams.",
    "s",
)
CPU_UTILISATION = means("CPU time of the tools / (usable threads x makespan).")
USABLE_THREADS = means(
    "Threads that its jobs might keep busy at once: those to be allocated, or where none are, all that it may use.",
    "threads",
)
SMT = means("Whether its jobs might use all threads of a core; empty: not known.")
CPU_A_GIGABASE = means("CPU time of the tools / gigabases that succeeded.", "s/Gb")
DISK_A_SAMPLE = means("peak_disk_mib / samples; one alone takes more, for peaks fall at different moments.", "MiB")


CPU_CONTENTION = means(
    "Whether others kept more of its CPUs busy than threshold_cpus in run.json, bound or not; empty: not known."
)


class RunRow(OfRun, frozen=True, kw_only=True):
    """A run that ended."""

    host: Annotated[Text, means("The node's name.")]
    sku: SkuName
    machine: MachineNumber
    cores: Annotated[int, means("Cores that the run was given.", "cores")]
    cache: Annotated[str, means("State of the page cache at the start: as_is, warm or cold.")]
    fraction: Fraction
    samples_per_genome: SamplesPerGenome
    cached: Annotated[Real, means("Share of reads and reference in the page cache at the start; empty: not known.")]
    samples: Annotated[int, means("Samples that the run was given.", "samples")]
    succeeded: Annotated[int, means("Samples that succeeded.", "samples")]
    failed: Annotated[int, means("Samples that failed.", "samples")]
    failures: Annotated[Text, means("Each failed sample with its step and cause.")]
    makespan_s: Annotated[Real, MAKESPAN]
    wall_s: Annotated[Real, means("By a clock outside of the workflow, its start and end included.", "s")]
    genomes_per_day: Annotated[Real, GENOMES]
    gigabases: Annotated[Real, means("Bases of the samples that succeeded.", "Gb")]
    input_mib: Annotated[Real, means("Size of all samples' read files; empty: that of one is not known.", "MiB")]
    genome_mb: Annotated[Real, means("Length of the reference, million bases.", "Mb")]
    gigabases_per_day: Annotated[Real, GIGABASES]
    human_30x_per_day: Annotated[Real, HUMAN]
    usable_threads: Annotated[Real, USABLE_THREADS]
    smt: Annotated[bool | None, SMT]
    cpu_utilisation: Annotated[Real, CPU_UTILISATION]
    cpu_s: Annotated[Real, means("CPU time of the tools in the named steps, failed attempts included.", "s")]
    os_cpu_s: Annotated[Real, means("CPU time as the operating system counted it, the workflow manager included.", "s")]
    ledger_cpu_s: Annotated[Real, means("CPU time of every job record, reference and QC included.", "s")]
    cpu_s_per_gigabase: Annotated[Real, CPU_A_GIGABASE]
    peak_memory_mib: PeakMemory
    peak_disk_mib: Annotated[Real, means("Largest size of the run's folder that was seen.", "MiB")]
    kept_disk_mib: Annotated[Real, means("Size of the results when the run had ended, without what runs share.", "MiB")]
    disk_per_sample_mib: Annotated[Real, DISK_A_SAMPLE]
    disk_per_input: Annotated[Real, means("peak_disk_mib / the size of the samples' read files.")]
    read_mib: Annotated[Real, means("Read from storage by the named steps.", "MiB")]
    write_mib: Annotated[Real, means("Written towards storage by the named steps.", "MiB")]
    shared_inputs_mib: Annotated[Real, means("Inputs of the named steps on network file systems, once a job.", "MiB")]
    shared_outputs_mib: Annotated[Real, means("Outputs of the named steps there, shards included.", "MiB")]
    wait_s: Waited
    binding_ok: BindingHeld
    split_jobs: SplitJobs
    memory_applied: MemoryApplied
    jobs_with_contention: JobsWithContention
    other_cpu_s: OtherCpu
    steal_s: Steal
    cpu_contention: Annotated[bool | None, CPU_CONTENTION]
    machine_other_cpu_s: Annotated[Real, means("CPU time that processes outside of the run took on its CPUs.", "s")]
    machine_steal_s: Annotated[Real, means("CPU time that the hypervisor gave to others on its CPUs.", "s")]
    throttled_s: Annotated[Real, means("How long a CPU quota held processes, over all CPUs; empty: not known.", "s")]
    thermal_throttles: Annotated[Count, means("How often heat slowed its cores and packages; empty: not known.")]
    mhz_mean: Annotated[Real, means("What its CPUs ran at on average; empty: not known.", "MHz")]
    paused_s: Annotated[Real, means("How long it was suspended, or one of its jobs; empty: not known.", "s")]
    disturbances: Disturbed


class StreamRow(OfRun, frozen=True, kw_only=True):
    """A stream: what came of its samples in its window."""

    fraction: Fraction
    samples_per_genome: SamplesPerGenome
    warm_up_s: Annotated[float, means("How long it ran before its window.", "s")]
    window_s: Annotated[float, means("How long it was measured.", "s")]
    started: Annotated[int, means("Samples that were started, before and after the window, too.", "samples")]
    completed: Annotated[int, means("Samples that succeeded and ended in the window.", "samples")]
    failed: Annotated[int, means("Samples that failed and ended in the window; samples says why.", "samples")]
    genomes_per_day: Annotated[Real, means("24 h x completed / window.", "1/d")]
    genomes_per_day_low: Annotated[
        Real, means("Its 95% interval begins here, by batch means; empty: fewer than two batches.", "1/d")
    ]
    genomes_per_day_high: Annotated[Real, means("It ends here.", "1/d")]
    batches: Annotated[int, means("Equal parts of the window, with about N completions each or more; at most 20.")]
    gigabases_per_day: Annotated[Real, means("24 h x gigabases of those completed / window.", "Gb/d")]
    human_30x_per_day: Annotated[Real, HUMAN]
    result_median_s: Annotated[Real, means("From start to end, median over those that succeeded.", "s")]
    result_p95_s: Annotated[Real, means("The same, 95th percentile.", "s")]
    busy_share: Annotated[float, means("Share of the window in which all N were at work.")]


class ConfigurationRow(Struct, frozen=True, kw_only=True):
    """What the repeats of a configuration came to; each Estimate is three columns: mean, sd and se."""

    study: StudyName
    pipeline: PipelineName
    mode: ModeName
    binding: BindingName
    n: SamplesAtOnce
    sku: SkuName
    machine: MachineNumber
    fraction: Fraction
    samples_per_genome: SamplesPerGenome
    repeats: Annotated[int, means("Repeats that ended and count.", "runs")]
    failed: Annotated[int, means("Samples that failed, over all repeats.", "samples")]
    genomes_per_day: Annotated[Estimate, GENOMES]
    gigabases_per_day: Annotated[Estimate, GIGABASES]
    human_30x_per_day: Annotated[Estimate, HUMAN]
    makespan_s: Annotated[Estimate, MAKESPAN]
    cpu_utilisation: Annotated[Estimate, CPU_UTILISATION]
    cpu_s_per_gigabase: Annotated[Estimate, CPU_A_GIGABASE]
    disk_per_sample_mib: Annotated[Estimate, DISK_A_SAMPLE]

    curve_key = property(_curve_key)

    @property
    def observation(self) -> Observation:
        """What the search for the saturation point sees of it."""
        daily = self.genomes_per_day
        return Observation(self.n, daily.mean, daily.se, self.failed)


CONFIGURATION = (  # what repeats that are pooled share
    *("study", "pipeline", "mode", "binding", "n", "sku", "machine", "fraction", "samples_per_genome"),
)


class SummaryRow(Struct, frozen=True, kw_only=True):
    """A quantity of a configuration over its repeats: of one step, or of all together."""

    study: StudyName
    pipeline: PipelineName
    mode: ModeName
    binding: BindingName
    n: SamplesAtOnce
    sku: SkuName
    machine: MachineNumber
    fraction: Fraction
    samples_per_genome: SamplesPerGenome
    step: Annotated[Text, means("The pipeline's step; empty: all of the run.")]
    metric: Annotated[
        str,
        means("The column of steps, or of runs, that it is of; summed_h of a run: over its steps; job_s: of one job."),
    ]
    unit: Annotated[Text, means("Its unit; empty: a share, or none.")]
    repeats: Annotated[int, means("Repeats in which it is known.", "runs")]
    mean: Annotated[Real, means("Mean over repeats.")]
    sd: Annotated[Real, means("Sample standard deviation (n - 1); empty: one repeat.")]
    se: Annotated[Real, means("Standard error, sd / sqrt(n); empty: one repeat.")]
    low: Annotated[Real, means("The mean's 95% confidence interval begins here, by Student's t; empty: one repeat.")]
    high: Annotated[Real, means("It ends here.")]

    curve_key = property(_curve_key)

    @property
    def estimate(self) -> Estimate:
        """The mean with its errors."""
        return Estimate(self.repeats, self.mean, self.sd, self.se)


# ---- of a scaling study: one step at a time, over its threads ------------------------------------------

Scatter = Annotated[str, means("Into how many shards the step is scattered: none, auto or a number.")]
OccupancyName = Annotated[str, means("alone: nothing else runs; full: copies of it side by side load the node fully.")]
Threads = Annotated[int, means("Threads of the step's jobs.", "threads")]
Copies = Annotated[int, means("Copies of the step side by side.")]
STEP_S = means("Wall time of the step's jobs, one after the other; mean over copies.", "s")
MAKESPAN_OF_COPIES = means("First start of a job to the last end, over all copies.", "s")
STEPS_PER_HOUR = means("3600 x copies / makespan: what the node gives.", "1/h")
CPU_OF_STEP = means("CPU time of the step's jobs; of several copies the mean over them.", "s")


class ScalingCurve(Struct, frozen=True, kw_only=True):
    """What is the same along a curve over threads."""

    pipeline: PipelineName
    step: StepName
    scatter: Scatter
    binding: BindingName
    occupancy: OccupancyName


class ScalingRun(Struct, frozen=True, kw_only=True):
    """A run of one step that ended."""

    run: RunName
    pipeline: PipelineName
    step: StepName
    scatter: Scatter
    binding: BindingName
    occupancy: OccupancyName
    threads: Threads
    copies: Copies
    repeat: Repeat
    warm_up: WarmUp
    sku: SkuName
    machine: MachineNumber
    step_s: Annotated[Real, STEP_S]
    makespan_s: Annotated[Real, MAKESPAN_OF_COPIES]
    steps_per_hour: Annotated[Real, STEPS_PER_HOUR]
    cpu_s: Annotated[Real, CPU_OF_STEP]
    peak_rss_mib: Annotated[Real, means("The largest peak memory of a job of the step.", "MiB")]
    peak_memory_mib: PeakMemory
    wait_s: Waited
    binding_ok: BindingHeld
    split_jobs: SplitJobs
    memory_applied: MemoryApplied
    jobs_with_contention: JobsWithContention
    other_cpu_s: OtherCpu
    steal_s: Steal
    disturbances: Disturbed


class ScalingConfiguration(ScalingCurve, frozen=True, kw_only=True):
    """What the repeats of a step came to, at one number of threads."""

    threads: Threads
    copies: Copies
    sku: SkuName
    machine: MachineNumber
    repeats: Annotated[int, means("Repeats that ended; warm-ups are in no statistics.", "runs")]
    step_s: Annotated[Estimate, STEP_S]
    makespan_s: Annotated[Estimate, MAKESPAN_OF_COPIES]
    steps_per_hour: Annotated[Estimate, STEPS_PER_HOUR]
    cpu_s: Annotated[Estimate, CPU_OF_STEP]
    efficiency: Annotated[Real, means("T(1) / (n x T(n)), T the mean of step_s; empty: one thread was not measured.")]
    efficiency_low: Annotated[Real, means("Its 95% confidence interval begins here; empty: fewer than two repeats.")]
    efficiency_high: Annotated[Real, means("Its 95% confidence interval ends here.")]
    peak_rss_mib: Annotated[Real, means("The largest peak memory of a job of the step, over repeats.", "MiB")]
    peak_memory_mib: Annotated[
        Real, means("Largest sum of peak memory over jobs that ran at once, over repeats.", "MiB")
    ]


class ScalingFit(ScalingCurve, frozen=True, kw_only=True):
    """Amdahl's law for a curve."""

    thread_counts: Annotated[int, means("Thread counts that were measured; two meet the law exactly, without errors.")]
    times: Annotated[int, means("Runs that it was fitted to.", "runs")]
    t1_s: Annotated[Real, means("Time of one thread by Amdahl's law, fitted to step_s of all repeats.", "s")]
    t1_se: Annotated[Real, means("Its standard error; empty: fewer than three thread counts.", "s")]
    serial_fraction: Annotated[Real, means("The part of one thread's time that no further thread shortens.")]
    serial_fraction_se: Annotated[Real, means("Its standard error; empty: fewer than three thread counts.")]


# ---- columns -----------------------------------------------------------------------------------------


def _over_repeats(column: Column) -> tuple[Column, ...]:
    return (
        Column(f"{column.name}_mean", NUMBER, column.unit, f"Mean over repeats. {column.description}"),
        Column(f"{column.name}_sd", NUMBER, column.unit, "Sample standard deviation (n - 1); empty: one repeat."),
        Column(f"{column.name}_se", NUMBER, column.unit, "Standard error, sd / sqrt(n); empty: one repeat."),
    )


def columns_of(row: type[Struct]) -> tuple[Column, ...]:
    """The columns of a table, from the type of its rows."""
    found: list[Column] = []
    for name, hint in get_type_hints(row, include_extras=True).items():
        kind, meant = get_args(hint)
        spelled = partial(Column, name, unit=meant.extra["unit"], description=meant.description)
        if kind is Estimate:
            found += _over_repeats(spelled(type=NUMBER))
        else:
            found.append(spelled(type=DTYPES[(get_args(kind) or (kind,))[0]]))
    return tuple(found)


ROWS: Mapping[str, type[Struct]] = {
    "jobs": JobRow,
    "samples": SampleRow,
    "steps": StepRow,
    "runs": RunRow,
    "configurations": ConfigurationRow,
    "streams": StreamRow,
}
# made from the tables above, so that no results package needs to hold it
DERIVED: Mapping[str, tuple[Column, ...]] = {"summary": columns_of(SummaryRow)}
SCALING_ROWS: Mapping[str, type[Struct]] = {
    "runs": ScalingRun,
    "configurations": ScalingConfiguration,
    "fits": ScalingFit,
}
TABLES: Mapping[str, tuple[Column, ...]] = {table: columns_of(row) for table, row in ROWS.items()}
SCALING: Mapping[str, tuple[Column, ...]] = {table: columns_of(row) for table, row in SCALING_ROWS.items()}


def names(table: str) -> list[str]:
    return [column.name for column in TABLES[table]]
