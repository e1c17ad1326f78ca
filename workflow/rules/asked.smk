# What jobs ask a cluster's scheduler for: minutes by the bases that they read (runtimes.tsv), and with each attempt as much
# again of both, time and memory. What no node of a Slurm partition has is refused here, before anything is submitted.
# Included after all rules, as defaults.smk.
import math

from snakemake.iocontainers import InputFiles

runtimes, partitions = load(source("runtimes.py")), load(source("partitions.py"))
takes = {
    workflow.modifier.modify_rulename(rule): row
    for rule, row in runtimes.read(
        workflow.source_path("../runtimes.tsv"), {config["gatk"], config["realigner"]}
    ).items()
}
takes_else = takes[workflow.modifier.modify_rulename(runtimes.OTHERS)]
in_pieces = config["scatter"] != "none" and config["binding"]["policy"] != "none"


@functools.cache
def gigabases(sample=None, unit=None):
    """About how many billion bases there are to read: of a unit, of a sample, or of all."""
    if unit:
        return runtimes.gigabases(units[sample][unit])
    return sum(gigabases(sample, unit) for unit in units[sample]) if sample else sum(map(gigabases, samples))


def gigabases_of(wildcards):
    """About how many billion bases a job reads; a call set is a sample's, or that of all."""
    sample = wildcards.get("sample", wildcards.get("callset"))
    _, _, chunks = wildcards.get("shard", "").partition("of")
    return gigabases(sample if sample in units else None, wildcards.get("unit")) / int(chunks or 1)


def runtime(rule):
    """As a resource: minutes."""
    taken = takes.get(rule.name, takes_else)
    return lambda wildcards, threads, attempt: taken.runtime(gigabases_of(wildcards), threads, attempt, in_pieces)


def raised(rule, name):
    """Memory as a resource: with each attempt as much again, up to what a node has. A profile's expression stays as it is."""
    memory = rule.resources[name]

    def mb(wildcards, input, threads, attempt, rulename, async_run):
        asked = memory.evaluate(
            wildcards, input=input, threads=threads, attempt=1, rulename=rulename, async_run=async_run
        ).value
        if attempt == 1 or isinstance(asked, str):  # <TBD>
            return asked
        most = most_mb(rule, threads) / (threads if name == "mem_mb_per_cpu" else 1)
        return int(min(asked * attempt, max(asked, most)))

    return memory if isinstance(memory.raw, str) else noted(mb)


# Whether there are retries nobody knows yet. Where nobody submits jobs, nobody asks for time: planning is shorter without.
submits = workflow.resource_settings.nodes or workflow.remote_exec
for each in workflow.modifier.rules:
    if submits:
        each.resources.setdefault("runtime", noted(runtime(each)))
    for name in {"mem_mb", "mem_mb_per_cpu"} & set(each.resources):
        each.resources[name] = raised(each, name)


# ---- what Slurm's nodes have ------------------------------------------------------------------------

# rules with a partition, if only the cluster's own (""), are for Slurm; a job sees no more than it was given
submitted = [each for each in workflow.modifier.rules if "slurm_partition" in each.resources]
nodes = partitions.look() if submitted and workflow.is_main_process else {}


def most_mb(rule, threads):
    """The memory of the largest node that a job may come to."""
    found = partitions.chosen(asked_by(rule).partitions, nodes) if nodes else []
    return max((partition.most_mb(threads) for partition in found), default=math.inf)


def largest(rule):
    """The wildcards of the rule's job that has the most reads."""
    sample, unit = max(((sample, unit) for sample in units for unit in units[sample]), key=lambda of: gigabases(*of))
    if "unit" not in rule.wildcard_names:
        sample, unit = max(samples, key=gigabases), None
    wildcards = {"sample": sample, "callset": "cohort" if config["calling"] == "joint" else sample}
    return wildcards | ({"unit": unit} if unit else {})


@functools.cache
def asked_by(rule):
    """What a job of the rule asks for at its first attempt, with the most reads that one has."""
    asked = rule.expand_resources(largest(rule), InputFiles(), 1)
    cpus = asked["_cores"]
    mem_mb = asked.get("mem_mb_per_cpu", 0) * cpus or asked.get("mem_mb", 0)
    return partitions.Asked(rule.name, cpus, mem_mb, asked["runtime"], str(asked.get("slurm_partition", "")))


if nodes:
    here = [each for each in submitted if each.norun or each.name in workflow._localrules]
    refused = partitions.refusals([asked_by(each) for each in submitted if each not in here], nodes)
    if refused:
        sys.exit("\n".join(refused))
