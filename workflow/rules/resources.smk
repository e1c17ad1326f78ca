# What jobs ask a cluster's scheduler for: minutes by the bases that they read (runtimes.tsv), and with each attempt as much
# again of both, time and memory; of memory on this machine, or within a job, no more than there is.
# Included after all rules, as defaults.smk.
import math

runtimes = load(source("resources/runtimes.py"))
takes = {
    workflow.modifier.modify_rulename(rule): row
    for rule, row in runtimes.read(
        workflow.source_path("../runtimes.tsv"), {config[tool] for tool in ("gatk", "realigner", "aligner", "mapper")}
    ).items()
}
takes_else = takes[workflow.modifier.modify_rulename(runtimes.OTHERS)]
USUAL_DEPTH = 30  # of the genomes by whose call sets runtimes.tsv goes
scatters = config["scatter"] != "none" and os.environ.get("SNAKEMAKE_PINNED_BINDING") != "none"


@functools.cache
def gigabases(sample=None, unit=None):
    """About how many billion bases there are to read: of a unit, of a sample, or of all."""
    if unit:
        return runtimes.gigabases(units[sample][unit])
    return sum(gigabases(sample, unit) for unit in units[sample]) if sample else sum(map(gigabases, samples))


@functools.cache
def called_gigabases():
    """Those of all samples, by which their call set's time goes; of exomes and panels what is called, at a genome's depth."""
    return min(gigabases(), len(samples) * called_bases() * USUAL_DEPTH / 1e9) if config["intervals"] else gigabases()


def gigabases_of(wildcards):
    """About how many billion bases a job reads; a call set is a sample's, or that of all; an interval, 3of100, has its part."""
    sample = wildcards.get("sample", wildcards.get("callset"))
    if sample in units:
        return gigabases(sample, wildcards.get("unit"))
    if config["pipeline"] == "tuxedo":
        return gigabases()
    return called_gigabases() / int(wildcards.get("interval", "1of1").partition("of")[2])


def runtime(rule):
    """As a resource: minutes; with each attempt as much again."""
    taken = takes.get(rule.name, takes_else)

    def minutes(wildcards, threads, attempt):
        return attempt * taken.runtime(gigabases_of(wildcards), threads, scatters)

    return minutes


def raised(rule, name):
    """Memory as a resource: with each attempt as much again. A profile's expression stays as it is."""
    memory = rule.resources[name]

    def mb(wildcards, input, threads, attempt, rulename, async_run):
        asked = memory.evaluate(
            wildcards, input=input, threads=threads, attempt=1, rulename=rulename, async_run=async_run
        ).value
        if attempt == 1 or isinstance(asked, str):  # <TBD>
            return asked
        most = math.inf if submits_here else limits()["memory_mib"] / (threads if name == "mem_mb_per_cpu" else 1)
        return int(min(asked * attempt, max(asked, most)))

    return memory if isinstance(memory.raw, str) else mb


# Whether there are retries is not known yet. Where no jobs are submitted, no time is asked for: planning is shorter without.
submits_here = workflow.resource_settings.nodes and not workflow.remote_exec
submits = submits_here or workflow.remote_exec
for each in workflow.modifier.rules:
    if submits:
        each.resources.setdefault("runtime", runtime(each))
    for name in {"mem_mb", "mem_mb_per_cpu"} & set(each.resources):
        each.resources[name] = raised(each, name)
