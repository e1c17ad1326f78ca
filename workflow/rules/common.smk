import atexit
import functools
import gc
import importlib.machinery
import importlib.util
import json
import os
import shlex
import sys
import tempfile
from pathlib import Path

import psutil
from snakemake.iocontainers import InputFiles
from snakemake.logging import logger

# What planning makes stays until the end: Python would look through it for garbage after each 700 objects, and at its end.
gc.set_threshold(50_000)
atexit.register(gc.freeze)

# ---- scripts of this workflow ----------------------------------------------------------------------


def source(name):
    """Where a file of workflow/scripts lies; out of a repository, where Snakemake has put a copy."""
    here = Path(source.__code__.co_filename).parents[1] / "scripts" / name
    return here if here.is_file() else Path(workflow.source_path(f"../scripts/{name}"))


@functools.cache
def load(path):
    """The Python module at path, which is on no import path, and in a cache may not end with .py."""
    name = f"gpd_{path.name.partition('.')[0]}"
    spec = importlib.util.spec_from_loader(name, importlib.machinery.SourceFileLoader(name, str(path)))
    loaded = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


# ---- inputs: what is wrong is refused here, before any job starts ----------------------------------


tables, inputs, all_inputs = (load(source(f"checks/{name}.py")) for name in ("tables", "inputs", "all_inputs"))
inputs.read_contigs = functools.cache(inputs.read_contigs)  # without an index it reads all of the reference
# where a module's user has our files, to look at some before Snakemake does
place = workflow.modifier.path_modifier.replace_prefix
mappers = load(source("resources/mappers.py")).MAPPERS
cohort = tables.read_cohort(
    config,
    {name: workflow.source_path(f"../schemas/{name}.schema.yaml") for name in ("config", "samples", "units")}
    | {"thresholds": source("quality/thresholds.tsv")},
    check=workflow.is_main_process,
)
# not where Snakemake lints, which wants no environment variables: the files of the shipped configuration are not there yet
PLANS = workflow.check_envvars


def check_inputs():
    """End with a line for each error of the configuration, its tables and the files that they name; warn of what may fail."""
    errors = list(cohort.errors)
    if workflow.is_main_process and workflow.modifier.is_main_snakefile():
        errors += tables.read_errors(workflow.configfiles)
    if not PLANS:
        logger.warning("warning: nothing is planned, so the files that the configuration names are not looked at")
    elif cohort.config and workflow.is_main_process:
        endings = mappers[cohort.config["mapper"]].endings
        warn = lambda line: logger.warning(f"warning: {tables.one_line(line)}")
        errors += all_inputs.errors(cohort, lambda name: load(source(name)), place, endings, warn)
    if errors:
        sys.exit("\n".join(map(tables.one_line, errors)))


check_inputs()
made_of = load(source("checks/made_of.py"))
OTHER_FILES, OTHER_SCRIPTS = "other files: ", "scripts: "  # how parameters of what results are made of begin
start_checks = []  # functions that return a line for each thing that does not start here, called before the first job
seen_files = made_of.SeenFiles(Path(".snakemake/gpd/inputs.jsonl")) if workflow.is_main_process else None
config = cohort.config
units = cohort.units
mapper = mappers[config["mapper"]]


RENAMED = {
    "binding": "pinned_binding",
    "piece_mib": "shard_mib",
}  # resources, as profiles of earlier versions have them
for rulename, resources in workflow.resource_settings.overwrite_resources.items():
    for old in RENAMED.keys() & set(resources):
        sys.exit(f"set-resources: {rulename}: {old} is called {RENAMED[old]} now: rename it")

# ---- how every command is run --------------------------------------------------------------------


def checks(*paths, **named):
    """Parameters with the calls of our scripts, by their names: these only look, so that no result is another for them.

    Python runs them without the packages that they do not need. Where they lie differs between machines, and Snakemake runs
    nothing again where a parameter changes that depends on inputs, as these say they do.
    """
    named = {Path(path).stem: path for path in paths} | named
    return {name: called_as(path) for name, path in named.items()}


def called_as(name, *options):
    """A parameter: how a command calls a script."""
    call = shlex.join([*([sys.executable, "-S", "-E"] if name.endswith(".py") else []), str(source(name)), *options])
    return lambda wildcards, input: call


def scripts(*paths, **named):
    """As `checks`, of scripts by which results are made; and what these are, so that others make the results anew."""
    digests = (made_of.script_digest(source(path)) for path in [*paths, *named.values()])
    return checks(*paths, **named) | dict(scripts=f"{OTHER_SCRIPTS}{' '.join(digests)}")


def min_mapped(wildcards, input):
    """As a parameter: derived, for no result depends on it."""
    return config["min_mapped"]


def say(line):
    """A line before the run; what it begins with `note: ` is shown by `gpd run`, too."""
    if workflow.is_main_process:
        logger.info(line)


# ---- names, files and arguments that every pipeline shares -------------------------------------------

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"

samples = list(units)
contrasts = {f"{first}_vs_{second}": (first, second) for first, second in config["contrasts"]}  # of conditions
reference = {
    "fasta": "results/reference/genome.fa",
    "fai": "results/reference/genome.fa.fai",
    "dict": "results/reference/genome.dict",
}


wildcard_constraints:
    sample=NAME,
    unit=NAME,
    contrast=NAME,


# ---- what a run leaves, and what its MultiQC page shows: rules mark their own outputs, as with temp() ------

results, shown = [], []


def result(path):
    """The output as it is: a run leaves it, of every sample and call set (`rule all`)."""
    results.append(path)
    return path


def for_multiqc(path):
    """The output as it is: the MultiQC page shows it, of every sample and call set."""
    shown.append(path)
    return path


def expanded(paths):
    """The paths with the names of all samples, call sets and contrasts in them."""
    return expand(paths, sample=samples, callset=callsets, contrast=[*contrasts])


def unit_reads(wildcards):
    """A unit's files: R1 and R2, R1 alone, or a BAM or CRAM file."""
    unit = units[wildcards.sample][wildcards.unit]
    return [unit[column] for column in ("fq1", "fq2", "bam") if unit[column]]


trims = config["trim"] == "fastp"


def is_trimmed(sample, unit):
    """Whether a unit is trimmed before it is mapped: those that name a BAM or CRAM file are not."""
    return trims and not units[sample][unit]["bam"]


def mapped_files(sample, unit):
    """The FASTQ files that a unit is mapped from, by column: its own, or what trimming leaves of them."""
    own = {column: units[sample][unit][column] for column in ("fq1", "fq2") if units[sample][unit][column]}
    trimmed = {f"fq{mate}": f"results/trim/{sample}/{unit}_R{mate}.fq.gz" for mate in range(1, len(own) + 1)}
    return trimmed if is_trimmed(sample, unit) else own


trimmed_units = [(sample, unit) for sample in units for unit in units[sample] if is_trimmed(sample, unit)]
of_trimming = [f"results/trim/{sample}/{unit}.json" for sample, unit in trimmed_units]  # what it left


def trim_counts(wildcards):
    """What trimming left of the units that are mapped in a job: of one lane, or of all of a sample."""
    lanes = [wildcards.unit] if "unit" in wildcards.keys() else units[wildcards.sample]
    return [f"results/trim/{wildcards.sample}/{unit}.json" for unit in lanes if is_trimmed(wildcards.sample, unit)]


def trimmed_lanes(wildcards, input):
    """The argument with the counts of what trimming left, by which a job's reads are counted."""
    return repeat("--trimmed", input.trimmed)


# How many jobs by interval of the genome a step of all samples has; a rule's wildcard `interval` is 3of100 then.
INTERVALS = 1

LEFT_OUT = "results/left_out.tsv"
COLUMNS, LIMITS = f"quality/{config['pipeline']}.tsv", "quality/thresholds.tsv"
THRESHOLDS = json.dumps(config["qc"]["thresholds"], sort_keys=True)


def excluded_samples_table():
    """The list of samples that are left out. Once it is there it is kept up to date: it must name none that is back."""
    return [LEFT_OUT] if config["leave_out"] or Path(LEFT_OUT).exists() else []


by_quality = config["failed_samples"].endswith("_on_quality")  # whether a sample fails by its verdict, too


def gates():
    """What steps of all samples wait for: one library type, and no sample that fails by its verdict.

    Ancient: nothing of a gate is in their results, and one that is made anew makes them no other.
    """
    passed = expand("results/quality_gate/{sample}.tsv", sample=samples) if by_quality else []
    one_library = ["results/library_type/library_type.txt"] if config["pipeline"] == "tuxedo" else []
    return [*map(ancient, [*one_library, *passed])]


def names_of_input(wildcards, input):
    """The sample of each input file, where a rule takes one of every sample; the files themselves say what is new."""
    return samples


@functools.cache
def limits():
    """What this process may use of the machine; with the executor's package, what control groups leave of it."""
    try:
        from snakemake_executor_plugin_pinned.launcher.limits import limits as found
    except ImportError:
        return dict(cpus=len(os.sched_getaffinity(0)), memory_mib=psutil.virtual_memory().total / (1 << 20))
    return found()


def genome_bytes():
    """About how many bases the reference has: gzip makes a quarter of them."""
    fasta = config["reference"]["fasta"]
    return os.path.getsize(fasta) * (4 if fasta.endswith(".gz") else 1)


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
