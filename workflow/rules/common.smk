import functools
import gc
import importlib.machinery
import importlib.util
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from snakemake.common import get_function_params, overwrite_function_params
from snakemake.iocontainers import InputFiles
from snakemake.logging import logger
from snakemake.resources import Resource

# What planning makes stays until the end: Python would look through it for garbage after each 700 objects.
gc.set_threshold(50_000)

# ---- scripts of this workflow ----------------------------------------------------------------------
# Snakemake copies sources into a cache whose path differs in every run. In a rule's text it would repeat finished work, so
# commands find the scripts through the environment, which `exports` sets.


def source(name):
    return Path(workflow.source_path(f"../scripts/{name}"))


def load(path):
    """The Python module at path, which is on no import path, and in a cache may not end with .py."""
    name = f"gpd_{path.name.partition('.')[0]}"
    spec = importlib.util.spec_from_loader(name, importlib.machinery.SourceFileLoader(name, str(path)))
    loaded = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


# ---- inputs: what is wrong is refused here, before any job starts ----------------------------------


tables, inputs, preflight = (load(source(f"checks/{name}.py")) for name in ("tables", "inputs", "preflight"))
inputs.read_contigs = functools.cache(inputs.read_contigs)  # without an index it reads all of the reference
# where a module's user has our files, to look at some before Snakemake does
place = workflow.modifier.path_modifier.replace_prefix
mappers = load(source("resources/mappers.py")).MAPPERS
cohort = tables.read_cohort(
    config,
    {name: workflow.source_path(f"../schemas/{name}.schema.yaml") for name in ("config", "samples", "units")},
    check=workflow.is_main_process,
)
# where each pipeline alone puts files of samples, those of each sample in the last one
FOLDERS = {"germline": ("map_and_sort", "take_alignment", "mark_duplicates"), "tuxedo": ("quantify", "align")}


def mixture():
    """The error where another pipeline's results lie: genome, statistics and page of both would have the same names."""
    pipeline = cohort.config["pipeline"]
    found = [place(f"results/{name}") for other in FOLDERS.keys() - {pipeline} for name in FOLDERS[other]]
    advice = f"run {pipeline} in another folder (--directory), or remove them"
    return [f"config: pipeline: {path} has another pipeline's results: {advice}" for path in found if has_files(path)][
        :1
    ]


def has_files(folder):
    return os.path.isdir(folder) and any(os.scandir(folder))


errors = list(cohort.errors)
if workflow.is_main_process and workflow.modifier.is_main_snakefile():
    errors += tables.read_errors(workflow.configfiles)
# none: jobs will run on another machine; machine: what samples share is made alone, so how much disk they take is not said
PREFLIGHT = os.environ.get("GPD_PREFLIGHT", "all")
# not where Snakemake lints, which wants no environment variables: nobody has the files of the shipped configuration yet
PLANS = workflow.check_envvars
if not PLANS:
    logger.warning("warning: nothing is planned, so the files that the configuration names are not looked at")
if cohort.config and workflow.is_main_process and PLANS:
    errors += inputs.check(
        cohort.config,
        cohort.units,
        cached_fai=place("results/reference/genome.fa.fai"),
        index_endings=mappers[cohort.config["mapper"]].endings,
        warn=lambda line: logger.warning(f"warning: {tables.one_line(line)}"),
        sex_contigs=load(source("quality/figures.py")).sex_contigs,
    )
    errors += [] if PREFLIGHT == "none" else preflight.folders([".", place("results/"), place("logs/")])
    errors += mixture()
if errors:
    sys.exit("\n".join(map(tables.one_line, errors)))
if workflow.is_main_process:
    own_folder = load(source("temporary_folders.py")).note(Path(".snakemake/gpd/temporary"), workflow.snakemake_tmp_dir)
made_of = load(source("checks/made_of.py"))
seen_files = made_of.SeenFiles(Path(".snakemake/gpd/inputs.jsonl")) if workflow.is_main_process else None
config = cohort.config
units = cohort.units
mapper = mappers[config["mapper"]]


def noted(function):
    """The function, with a note of the arguments that it takes: Snakemake looks them up at every call of it otherwise."""
    overwrite_function_params(function, get_function_params(function))
    return function


noted(Resource.evaluate)  # of each resource of each job

# what profiles of earlier versions set
for rulename, resources in workflow.resource_settings.overwrite_resources.items():
    if "piece_mib" in resources and "shard_mib" not in resources:
        logger.warning(f"warning: set-resources: {rulename}: piece_mib is called shard_mib now")
        resources["shard_mib"] = Resource.from_cli_expression("shard_mib", str(resources["piece_mib"].raw))


# ---- how every command is run --------------------------------------------------------------------


# what our scripts run under, {params.python} in a command: without the packages that they do not need
PYTHON = '"$GPD_PYTHON" -S -E'


def run_mem_mb():
    """What Snakemake was told that all jobs may take; on a cluster it tells each job's Snakemake what that asked for."""
    given = workflow.global_resources
    cpus = min(workflow.cores or 1, len(os.sched_getaffinity(0)))
    return (given.get("mem_mb_per_cpu").value or 0) * cpus or given.get("mem_mb").value or 0


PINNED = "../../scripts/snakemake-executor-plugin-pinned/snakemake_executor_plugin_pinned"


def of_launcher(name):
    return Path(workflow.source_path(f"{PINNED}/{name}"))


build = load(of_launcher("build.py"))
launch = build.launcher(of_launcher, Path(".snakemake/gpd").absolute())
lacking_library = build.build(of_launcher(build.LIBRARY), build.library(launch))
environment = dict(
    GPD_PYTHON=sys.executable,
    GPD_LAUNCH=launch,
    GPD_READS=source("reads/count_reads.py"),
    GPD_SAME_GENOME=source("checks/same_genome.py"),
    GPD_MAPPING_RATES=source("reads/mapping_rates.py"),
    GPD_BOUNDARY=config["binding"]["boundary"],
    GPD_MEMORY=config["binding"]["memory"],
    GPD_SMT=int(config["binding"]["smt"]),
    GPD_STALL_S=config["binding"]["stall_s"],
    GPD_N_FREE=source("intervals/n_free.py"),
    GPD_PRIMARY=source("intervals/primary.py"),
    GPD_CLIP=source("intervals/clip.py"),
    GPD_JOIN_GVCF=source("intervals/join_gvcf.py"),
    GPD_JOINT_INTERVALS=source("intervals/joint_calling.py"),
    GPD_SCATTER=config["scatter"],
    GPD_SCATTER_CUTS=config["scatter_cuts"],
    GPD_LOCAL_STORAGE=workflow.storage_settings.local_storage_prefix,
    GPD_RUN_CORES=workflow.cores or 0,
    GPD_RUN_MEM_MB=run_mem_mb(),
)


def exports(wildcards, input):
    """The shell's words that put `environment` into a command's.

    Every rule has them as a parameter (defaults.smk). Snakemake runs nothing again where a parameter changes that depends
    on inputs.
    """
    return exported()


@functools.cache
def exported():
    """One text for all jobs: those of a large cohort, each with its own, would take much memory."""
    return "export " + " ".join(f"{name}={shlex.quote(str(value))}" for name, value in environment.items())


def python(wildcards, input):
    """As a parameter: derived, as `exports` is."""
    return PYTHON


def min_mapped(wildcards, input):
    """As a parameter: derived, as `exports` is, for no result depends on it."""
    return config["min_mapped"]


def bound(step, command, rule=None, inputs="{input:q}", subcommand="run", options=""):
    """The command as a job of the launcher: on CPUs of its own, recorded under its step, output to the rule's log.

    The text travels through a quoted here-document, so nothing in it needs escaping. `rule` is named
    where several rules implement one step. The launcher looks whether outputs are whole, and `inputs` that are
    results of ours; where a cohort's would not fit on a command line, a table can stand for them: @FILE.
    """
    return (
        f'{{params.exports}}; {PYTHON} "$GPD_LAUNCH" {subcommand} --step {step} --rule {rule or step}'
        " --wildcards={wildcards:q} --threads {threads} --mem-mb {resources.mem_mb}"
        f" --attempt {{resources.attempt}} --binding={{resources.binding:q}} --log {{log:q}} {options}"
        f" --outputs {{output:q}} --inputs {inputs}"
        f" <<'END_OF_COMMAND'\n{command}\nEND_OF_COMMAND\n"
    )


def scattered(step, command, gather, over, whole, suffix, n_free, finish="", options="", **of_bound):
    """The command as a job over the whole genome, or scattered over intervals of it; `gather` makes the outputs of the shards.

    Which, the launcher decides when the job starts, by the config's `scatter`, the CPUs that are free, and the size of
    the file `over` against the rule's resource shard_mib (launcher/scatter.py, which also says what a command finds in
    its variables). `whole` is what the command writes where it runs once; names of shards end with `suffix`; `finish`
    comes last in either case. `n_free`: the N-free intervals.
    """
    options += f" --over {over} --whole {whole} --suffix={suffix} --n-free {n_free}"
    options += " --shard-mib {resources.shard_mib}"
    command = f"{command}\nGATHER\n{gather}\nFINISH\n{finish}"
    return bound(step, command, subcommand="scatter", options=options, **of_bound)


# ---- names, files and arguments that every pipeline shares -------------------------------------------

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"

samples = list(units)
reference = {
    "fasta": "results/reference/genome.fa",
    "fai": "results/reference/genome.fa.fai",
    "dict": "results/reference/genome.dict",
}


wildcard_constraints:
    sample=NAME,
    unit=NAME,


def unit_reads(wildcards):
    """A unit's files: R1 and R2, R1 alone, or a BAM or CRAM file."""
    unit = units[wildcards.sample][wildcards.unit]
    return [unit[column] for column in ("fq1", "fq2", "bam") if unit[column]]


# How many jobs by interval of the genome a step of all samples has; a rule's wildcard `interval` is 3of100 then.
INTERVALS = 1

LEFT_OUT = "results/left_out.tsv"
THRESHOLDS = json.dumps(config["qc"]["thresholds"], sort_keys=True)


def excluded_samples_table():
    """The list of samples that are left out. Once it is there it is kept up to date: it must name none that is back."""
    return [LEFT_OUT] if config["leave_out"] or Path(LEFT_OUT).exists() else []


def gates():
    """What steps of all samples wait for: one library type, and no sample that fails (qc) where it is dropped or stops the run.

    Ancient: nothing of a gate is in their results, and one that is made anew makes them no other.
    """
    passed = [] if config["qc"]["action"] == "warn" else expand("results/quality_gate/{sample}.tsv", sample=samples)
    one_library = ["results/library_type/library_type.txt"] if config["pipeline"] == "tuxedo" else []
    return [*map(ancient, [*one_library, *passed])]


def read_files():
    """All files of reads."""
    rows = [unit for sample in samples for unit in units[sample].values()]
    return [unit[column] for unit in rows for column in ("fq1", "fq2", "bam") if unit[column]]


def names_of_input(wildcards, input):
    """The sample of each input file, where a rule takes one of every sample; the files themselves say what is new."""
    return samples


@functools.cache
def limits():
    """What this process may use of the machine; the launcher knows."""
    asking = [sys.executable, "-S", "-E", environment["GPD_LAUNCH"], "limits"]
    return json.loads(subprocess.run(asking, capture_output=True, check=True).stdout)


def genome_bytes():
    """About how many bases the reference has: gzip makes a quarter of them."""
    fasta = config["reference"]["fasta"]
    return os.path.getsize(fasta) * (4 if fasta.endswith(".gz") else 1)


def longest_contig():
    """The bases of the longest contig; as long as no index of the reference tells, the most that it may have."""
    for fai in (place(reference["fai"]), f"{config['reference']['fasta']}.fai"):
        if os.path.exists(fai):
            with open(fai) as lines:
                return max((int(line.split("\t")[1]) for line in lines), default=0)
    return min(genome_bytes(), inputs.LONGEST_CONTIG)


def index_making_mb(wildcards):
    """Memory that making the mapper's index takes."""
    return mapper.making_mb + round(mapper.making * genome_bytes() / 1e6)


def widest_in_order(cores):
    """The most cores of a job beside which samples go one after the other (priorities.smk): when it waits for its cores, fewer idle."""
    return max(1, cores // 8)


def resource_of(rule, name, wildcards, **more):
    """What a job of the rule asks for at its first attempt."""
    arguments = dict(input=InputFiles(), attempt=1, rulename=rule.name, async_run=workflow.async_run, **more)
    return rule.resources[name].evaluate(wildcards, **arguments).value


def repeat(flag, values):
    """The flag before each of the values."""
    return " ".join(f"{flag} {shlex.quote(str(value))}" for value in values)


def called(wildcards, input):
    """The argument with the regions that a sample is judged by; none of RNA."""
    return repeat("--called", input.called)
