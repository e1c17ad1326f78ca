"""Every column of every table of a study: name, type, unit, what it means. The one place that spells them."""

from collections.abc import Mapping
from dataclasses import dataclass

TEXT, COUNT, NUMBER, TRUTH = "string", "Int64", "Float64", "boolean"


@dataclass(frozen=True)
class Column:
    """A column; `type` is a pandas dtype that knows a missing value, `unit` is empty where there is none."""

    name: str
    type: str
    unit: str
    description: str


STUDY = Column("study", TEXT, "", "The study.")
CELL = Column("cell", TEXT, "", "The cell: one point of the study's grid, one repeat of it, one folder.")
PIPELINE = Column("pipeline", TEXT, "", "germline or tuxedo.")
MODE = Column(
    "mode",
    TEXT,
    "",
    "scheduled: one workflow for all samples; independent: one a sample, side by side; cluster: one whose jobs Slurm "
    "places on nodes.",
)
BINDING = Column(
    "binding",
    TEXT,
    "",
    "How jobs got their CPUs: none, compact or scatter, and where the study sets them boundary and memory policy "
    "(compact-numa-local).",
)
NODES = Column("nodes", COUNT, "nodes", "Nodes that its jobs were placed on; 1 but for mode cluster.")
N = Column("n", COUNT, "samples", "Samples at once.")
REPEAT = Column("repeat", COUNT, "", "Which repeat, from 1; 0: a warm-up, or a sample alone to be looked at.")
WARM_UP = Column("warm_up", TRUTH, "", "Whether it only warmed the machine up; such a cell is in no statistics.")
COUNTED = Column(
    "counted",
    TRUTH,
    "",
    "Whether it is in statistics: no warm-up, no sample alone to be looked at, not drawn anew.",
)
SKU = Column("sku", TEXT, "", "The processor's short name.")

SERIES = (PIPELINE, MODE, BINDING, NODES)  # what is the same along a curve
KEYS = (STUDY, CELL, *SERIES, N, REPEAT, WARM_UP, COUNTED)
POINT_KEYS = (STUDY, *SERIES, N)

SAMPLE = Column("sample", TEXT, "", "The sample.")
STEP = Column("step", TEXT, "", "The pipeline's step.")
LOG = Column("log", TEXT, "", "Log of the job, relative to the cell's folder.")
FAULT = Column(
    "fault",
    TEXT,
    "",
    "data: it fails wherever it is drawn, alone too; data_of_cohort: another of its cohort does; load: it does not; "
    "empty: it succeeded, or is not told apart.",
)
FAILED_DATA = Column("failed_data", COUNT, "samples", "Of these, those that failed for bad data.")
CAUSE = Column("cause", TEXT, "", "Why it failed, as the ledger says it; empty: it did not.")
MESSAGE = Column("message", TEXT, "", "What the tool, or the launcher, said about the failure.")

JOBS = (
    *KEYS,
    Column("sample", TEXT, "", "The sample; cohort: all samples of the run; empty: work that no sample needs alone."),
    Column("rule", TEXT, "", "The rule of the workflow."),
    Column("step", TEXT, "", "The pipeline's step, or reference, qc and such, which are outside every timing."),
    Column("unit", TEXT, "", "The sequencing unit (lane), where the job has one."),
    Column("shard", TEXT, "", "Which part of a step that was split, where it was."),
    Column("attempt", COUNT, "", "Which attempt at the job, from 1."),
    Column("threads", COUNT, "threads", "Threads that the rule asked for."),
    Column("cpus", TEXT, "", "CPUs that were leased; empty: none."),
    Column("node", TEXT, "", "The node that it ran on; empty: not known."),
    Column("slurm_job_id", TEXT, "", "The Slurm job that it was part of; empty: none."),
    Column("start", TEXT, "UTC", "When the job began, after its wait."),
    Column("end", TEXT, "UTC", "When its last process ended; empty: nobody saw it."),
    Column(
        "start_s",
        NUMBER,
        "s",
        "Start, since the first job of a step began in the cell; empty too where jobs ran on several hosts.",
    ),
    Column("end_s", NUMBER, "s", "End, likewise."),
    Column("wait_s", NUMBER, "s", "Time waited for CPUs."),
    Column("wall_s", NUMBER, "s", "Wall time."),
    Column("cpu_s", NUMBER, "s", "CPU time of all its processes."),
    Column("peak_rss_mib", NUMBER, "MiB", "Peak resident memory of all its processes together."),
    Column("read_mib", NUMBER, "MiB", "Read from storage."),
    Column("write_mib", NUMBER, "MiB", "Written towards storage."),
    Column("shared_inputs_mib", NUMBER, "MiB", "Size of its inputs on network file systems; empty: not known."),
    Column("shared_outputs_mib", NUMBER, "MiB", "Size of its outputs on network file systems; empty: not known."),
    Column("exit_code", COUNT, "", "Exit code; empty: nobody saw one."),
    CAUSE,
    MESSAGE,
    Column("binding_ok", TRUTH, "", "Whether it kept to its CPUs; empty: it had no lease, or nothing was seen."),
    Column("memory_applied", TEXT, "", "The memory policy that it really had; empty: not known."),
    Column("contended", TRUTH, "", "Whether processes that are no job of ours kept its CPUs busy; empty: not known."),
    Column("foreign_cpu_s", NUMBER, "s", "CPU time that these processes took on its CPUs."),
    Column("steal_s", NUMBER, "s", "CPU time that the hypervisor gave to others on its CPUs."),
    Column("timed", TRUTH, "", "Whether it belongs to one of the pipeline's named steps."),
    LOG,
)

SAMPLES = (
    *KEYS,
    SAMPLE,
    Column("input_digest", TEXT, "", "Digest of the sample's reads."),
    Column("gigabases", NUMBER, "Gb", "Bases sequenced."),
    Column("mapped", NUMBER, "", "Share of its reads that mapped; empty: not known."),
    Column("mismatches", NUMBER, "", "Share of its aligned bases that differ from the reference; empty: not known."),
    Column("succeeded", TRUTH, "", "Whether it went through every step, and so did what it shares with its cohort."),
    Column("failed_step", TEXT, "", "The step that failed, or was never reached; empty: none, or no job ran at all."),
    Column("cause", TEXT, "", "Why: the ledger's cause, no_job_ran, or not_finished; empty: it succeeded."),
    FAULT,
    MESSAGE,
    LOG,
    Column("start_s", NUMBER, "s", "Start of its own first job, since the first job of a step began in the cell."),
    Column("end_s", NUMBER, "s", "End of its own last job, since the first job of a step began in the cell."),
    Column("busy_s", NUMBER, "s", "Sum of its own jobs' wall times, failed attempts included."),
    Column("cpu_s", NUMBER, "s", "CPU time of its own jobs, failed attempts included."),
    Column("peak_rss_mib", NUMBER, "MiB", "The largest peak memory of its own jobs."),
)

CLOCKS = {"barrier_h": "Barrier time", "busy_h": "Busy time"}  # of a step, by column

STEPS = (
    *KEYS,
    STEP,
    Column("jobs", COUNT, "jobs", "Jobs of the step; attempts at one job count once."),
    Column("failed_jobs", COUNT, "jobs", "Jobs whose last attempt failed."),
    Column("barrier_h", NUMBER, "h", "From its first job's start to its last job's end, over all samples."),
    Column("busy_h", NUMBER, "h", "Sum of its jobs' wall times, failed attempts included."),
    Column("cpu_s", NUMBER, "s", "CPU time, failed attempts included."),
    Column("peak_rss_mib", NUMBER, "MiB", "The largest peak memory of its jobs."),
)

GENOMES = Column("genomes_per_day", NUMBER, "1/d", "24 x samples that succeeded / makespan in hours.")
GIGABASES = Column("gigabases_per_day", NUMBER, "Gb/d", "24 x gigabases of those samples / makespan in hours.")
HUMAN = Column("human_30x_per_day", NUMBER, "1/d", "Gigabases a day / 93: as many human genomes at 30 x 3.1 Gb.")
MAKESPAN = Column(
    "makespan_s",
    NUMBER,
    "s",
    "First start of a step's job to the last end, reference and QC outside; in mode cluster, and over several hosts, "
    "wall_s: no duration is taken across two clocks.",
)
CPU_UTILISATION = Column("cpu_utilisation", NUMBER, "", "CPU time of the tools / (cores x makespan).")
DISK_A_SAMPLE = Column(
    "disk_per_sample_mib",
    NUMBER,
    "MiB",
    "peak_disk_mib / samples: samples are largest at different moments, so one alone takes more.",
)
DISK_A_BYTE = Column("disk_per_input", NUMBER, "", "peak_disk_mib / the size of the samples' read files.")
CPU_A_GIGABASE = Column("cpu_s_per_gigabase", NUMBER, "s/Gb", "CPU time of the tools / gigabases that succeeded.")

RUNS = (
    *KEYS,
    Column("host", TEXT, "", "The node's name; in mode cluster those of all."),
    SKU,
    Column("cores", COUNT, "cores", "Cores that the cell was given."),
    Column("cache", TEXT, "", "State of the page cache at the start: as_is, warm or cold."),
    Column("samples", COUNT, "samples", "Samples that the cell was given."),
    Column("succeeded", COUNT, "samples", "Samples that succeeded."),
    Column("failed", COUNT, "samples", "Samples that failed."),
    FAILED_DATA,
    Column("failures", TEXT, "", "Each failed sample with its step and cause."),
    MAKESPAN,
    Column("wall_s", NUMBER, "s", "By a clock outside of the workflow, its start and end included."),
    GENOMES,
    Column("gigabases", NUMBER, "Gb", "Bases of the samples that succeeded."),
    Column("input_mib", NUMBER, "MiB", "Size of all samples' read files; empty: that of one is not known."),
    Column("genome_mb", NUMBER, "Mb", "Length of the reference, million bases."),
    GIGABASES,
    HUMAN,
    CPU_UTILISATION,
    Column("cpu_s", NUMBER, "s", "CPU time of the tools in the named steps, failed attempts included."),
    Column("os_cpu_s", NUMBER, "s", "CPU time as the operating system counted it, the workflow manager included."),
    Column("ledger_cpu_s", NUMBER, "s", "CPU time of every job in the ledger, reference and QC included."),
    CPU_A_GIGABASE,
    Column("peak_memory_mib", NUMBER, "MiB", "Largest sum of peak memory over jobs that ran at once: an upper bound."),
    Column("peak_disk_mib", NUMBER, "MiB", "Largest size of the cell's folder that was seen."),
    Column("kept_disk_mib", NUMBER, "MiB", "Size of the results when the cell had ended, without what cells share."),
    DISK_A_SAMPLE,
    DISK_A_BYTE,
    Column(
        "waited_for_disk", COUNT, "samples", "Samples that were begun later, for the disk had no room for all at once."
    ),
    Column("read_mib", NUMBER, "MiB", "Read from storage by the named steps."),
    Column("write_mib", NUMBER, "MiB", "Written towards storage by the named steps."),
    Column("shared_inputs_mib", NUMBER, "MiB", "Inputs of the named steps on network file systems, once for each job."),
    Column("shared_outputs_mib", NUMBER, "MiB", "Outputs of the named steps on network file systems, pieces included."),
    Column("wait_s", NUMBER, "s", "Time that jobs of the named steps waited for CPUs."),
    Column("binding_ok", TRUTH, "", "Whether all jobs kept to their CPUs; empty: none had a lease."),
    Column("split_jobs", COUNT, "jobs", "Attempts whose CPUs crossed a boundary needlessly; empty: none had a lease."),
    Column("memory_applied", TEXT, "", "The memory policies that jobs on leased CPUs really had; empty: not known."),
    Column("contended_jobs", COUNT, "jobs", "Attempts on whose CPUs processes were at work that are no job of ours."),
    Column("foreign_cpu_s", NUMBER, "s", "CPU time that such processes took on leased CPUs."),
    Column("steal_s", NUMBER, "s", "CPU time that the hypervisor gave to others on leased CPUs."),
)

NODE_EFFICIENCY = Column(
    "node_efficiency",
    NUMBER,
    "",
    "Mode cluster: genomes a day / (nodes x the most that one node gave in this study, at any N); empty elsewhere.",
)
REPEATED = (GENOMES, GIGABASES, HUMAN, MAKESPAN, CPU_UTILISATION, CPU_A_GIGABASE, DISK_A_SAMPLE)


def _over_repeats(column: Column) -> tuple[Column, ...]:
    return (
        Column(f"{column.name}_mean", NUMBER, column.unit, f"Mean over repeats. {column.description}"),
        Column(f"{column.name}_sd", NUMBER, column.unit, "Sample standard deviation (n - 1); empty: one repeat."),
        Column(f"{column.name}_se", NUMBER, column.unit, "Standard error, sd / sqrt(n); empty: one repeat."),
    )


POINTS = (
    *POINT_KEYS,
    SKU,
    Column("repeats", COUNT, "runs", "Repeats that ended and count."),
    Column("failed", COUNT, "samples", "Samples that failed, over all repeats."),
    FAILED_DATA,
    *(statistic for column in REPEATED for statistic in _over_repeats(column)),
    NODE_EFFICIENCY,
)

TABLES: Mapping[str, tuple[Column, ...]] = {
    "jobs": JOBS,
    "samples": SAMPLES,
    "steps": STEPS,
    "runs": RUNS,
    "points": POINTS,
}

# ---- of a scaling study: one step at a time, over its width ------------------------------------------

POINT_OF_SCALING = (
    PIPELINE,
    STEP,
    Column("scatter", TEXT, "", "In how many pieces the step is cut: none, auto or a number."),
    BINDING,
    Column("occupancy", TEXT, "", "alone: nothing else runs; full: the node is full of copies of it, side by side."),
    Column("threads", COUNT, "threads", "Threads of the step's jobs."),
)
COPIES = Column("copies", COUNT, "", "Copies of the step side by side.")
STEP_S = Column(
    "step_s", NUMBER, "s", "Wall time of the step's jobs, one after the other; of several copies the mean over them."
)
MAKESPAN_OF_COPIES = Column(
    "makespan_s", NUMBER, "s", "From the first start of a job to the last end, over all copies."
)
STEPS_PER_HOUR = Column("steps_per_hour", NUMBER, "1/h", "3600 x copies / makespan: what the node gives at this width.")
CPU_OF_STEP = Column("cpu_s", NUMBER, "s", "CPU time of the step's jobs; of several copies the mean over them.")

SCALING_RUNS = (
    CELL,
    *POINT_OF_SCALING,
    COPIES,
    REPEAT,
    WARM_UP,
    SKU,
    STEP_S,
    MAKESPAN_OF_COPIES,
    STEPS_PER_HOUR,
    CPU_OF_STEP,
    Column("peak_rss_mib", NUMBER, "MiB", "The largest peak memory of a job of the step."),
    Column("peak_memory_mib", NUMBER, "MiB", "Largest sum of peak memory over jobs that ran at once: an upper bound."),
    Column("wait_s", NUMBER, "s", "Time that its jobs waited for CPUs."),
    Column("binding_ok", TRUTH, "", "Whether all jobs kept to their CPUs; empty: none had a lease."),
    Column("split_jobs", COUNT, "jobs", "Attempts whose CPUs crossed a boundary needlessly; empty: none had a lease."),
    Column("memory_applied", TEXT, "", "The memory policies that jobs on leased CPUs really had; empty: not known."),
    Column("contended_jobs", COUNT, "jobs", "Attempts on whose CPUs processes were at work that are no job of ours."),
    Column("foreign_cpu_s", NUMBER, "s", "CPU time that such processes took on leased CPUs."),
    Column("steal_s", NUMBER, "s", "CPU time that the hypervisor gave to others on leased CPUs."),
    Column("bandwidth_missing", TEXT, "", "Why the memory bandwidth that the step drew is not known."),
)
REPEATED_OF_SCALING = (STEP_S, MAKESPAN_OF_COPIES, STEPS_PER_HOUR, CPU_OF_STEP)
SCALING_POINTS = (
    *POINT_OF_SCALING,
    COPIES,
    SKU,
    Column("repeats", COUNT, "runs", "Repeats that ended; warm-ups are in no statistics."),
    *(statistic for column in REPEATED_OF_SCALING for statistic in _over_repeats(column)),
    Column("efficiency", NUMBER, "", "T(1) / (n x T(n)), T the mean of step_s; empty: one thread was not measured."),
    Column("efficiency_low", NUMBER, "", "Its 95% confidence interval begins here; empty: fewer than two repeats."),
    Column("efficiency_high", NUMBER, "", "Its 95% confidence interval ends here."),
    Column("peak_rss_mib", NUMBER, "MiB", "The largest peak memory of a job of the step, over repeats."),
    Column("peak_memory_mib", NUMBER, "MiB", "Largest sum of peak memory over jobs that ran at once, over repeats."),
)
SCALING_FITS = (
    *POINT_OF_SCALING[:-1],
    Column("widths", COUNT, "", "Widths that were measured; with two the law is met exactly, and has no errors."),
    Column("t1_s", NUMBER, "s", "Time of one thread by Amdahl's law, fitted to step_s of all repeats."),
    Column("t1_se", NUMBER, "s", "Its standard error; empty: fewer than three widths."),
    Column("serial_fraction", NUMBER, "", "The part of one thread's time that no further thread shortens."),
    Column("serial_fraction_se", NUMBER, "", "Its standard error; empty: fewer than three widths."),
)
SCALING: Mapping[str, tuple[Column, ...]] = {"runs": SCALING_RUNS, "points": SCALING_POINTS, "fits": SCALING_FITS}


def names(table: str) -> list[str]:
    return [column.name for column in TABLES[table]]
