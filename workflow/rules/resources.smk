# What jobs ask a cluster's scheduler for: minutes by the bases that they read (runtimes.tsv), and with each attempt as much
# again of both, time and memory. What no node of a Slurm partition has is refused here, before anything is submitted, by
# each rule's job with the most reads, which are those of all samples where it takes all.
# Included after all rules, as defaults.smk.
import math

from snakemake.iocontainers import InputFiles

runtimes, partitions = load(source("resources/runtimes.py")), load(source("resources/partitions.py"))
takes = {
    workflow.modifier.modify_rulename(rule): row
    for rule, row in runtimes.read(
        workflow.source_path("../runtimes.tsv"), {config[tool] for tool in ("gatk", "realigner", "aligner", "mapper")}
    ).items()
}
takes_else = takes[workflow.modifier.modify_rulename(runtimes.OTHERS)]
USUAL_DEPTH = 30  # of the genomes by whose call sets runtimes.tsv goes
scatters = config["scatter"] != "none" and config["binding"]["policy"] != "none"


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
    """As a resource: minutes; with each attempt as much again, up to what a partition gives."""
    taken = takes.get(rule.name, takes_else)

    def minutes(wildcards, threads, attempt):
        asked = taken.runtime(gigabases_of(wildcards), threads, scatters)
        return asked if attempt == 1 else int(min(asked * attempt, max(asked, most_minutes(rule))))

    return minutes


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
ours = workflow.modifier.rules
submitted = [each for each in workflow.rules if each in ours and "slurm_partition" in each.resources]
nodes = partitions.look() if submitted and workflow.is_main_process else {}


def most_mb(rule, threads):
    """The memory of the largest node that a job may come to; of a job that is there, what it was granted."""
    if workflow.remote_exec:
        return limits()["memory_mib"]
    return max((partition.most_mb(threads) for partition in partitions_of(rule)), default=math.inf)


def most_minutes(rule):
    """The longest that a partition lets a job run; of a group's time, the job's share."""
    most = max((partition.minutes for partition in partitions_of(rule)), default=math.inf)
    group = [asked_by(each).minutes for each in wanted if rule.group and each.group == rule.group]
    return most * asked_by(rule).minutes / sum(group) if group else most


def partitions_of(rule):
    """Those that a job of the rule may come to; none where Slurm told nothing."""
    return partitions.chosen(asked_by(rule).partitions, nodes) if nodes else []


@functools.cache
def mapped_by():
    """By rule that maps, or takes what is mapped, the wildcards of its jobs."""
    found = {}
    for sample, unit in ((sample, unit) for sample in units for unit in units[sample]):
        name = renamed[Path(mapped(sample, unit)).parts[1]]
        found.setdefault(name, []).append(dict(sample=sample, unit=unit))
    return found


def unused():
    """Rules of which this configuration has no job, though they are there."""
    names = {"bwa_index"} if config["reference"]["bwa_index"] else {"bwa_index_check"}
    ungated = {"quality_gate"} if config["qc"]["action"] == "warn" else set()
    if config["pipeline"] == "tuxedo":
        names = {
            "bwa_index",
            "bwa_index_check",
            "bwa_alt",
            "cram_reference",
            "indexed_vcf",
            *([] if config["mask"] else ["mask"]),
            *ungated,
        }
        return set(map(workflow.modifier.modify_rulename, names))
    of_filter = {
        "vqsr": {
            *("variant_recalibration", "apply_variant_recalibration", "sites_only", "gather_sites"),
            *("recalibrate_interval", "gather_recalibrated"),
        },
        "hard": {"hard_filter", "hard_filter_interval", "gather_hard_filter"},
    }
    names |= {name for chosen, of_one in of_filter.items() if chosen != config["filter"] for name in of_one}
    names |= {"indexed_vcf"} if not vcfs else set()
    names |= set() if has_cram_reference() else {"cram_reference"}
    names |= set() if padding else {"padded_intervals", "target_intervals"}
    names |= set() if CALLED_CONTIGS in regions else {"called_contigs"}
    names |= {"call_genotypes"} if config["common_sites"] else {"contamination", "lanes"}
    names |= ungated
    names |= set() if has_haploid_calls else {"haploid_calls"}
    names |= set() if checks_sex else {"sex_check"}
    mapping_rules = {"map_and_sort", "take_alignment"}
    return {workflow.modifier.modify_rulename(name) for name in names | mapping_rules} - mapped_by().keys()


def largest(rule):
    """The wildcards of the rule's job that has the most reads, as far as reads tell."""
    if config["pipeline"] == "germline" and rule.name in mapped_by():
        return max(mapped_by()[rule.name], key=gigabases_of)
    sample = max(samples, key=gigabases)
    known = {
        "sample": sample,
        "callset": "cohort" if config["calling"] == "joint" else sample,
        "interval": f"1of{INTERVALS}",
    }
    return {name: known[name] for name in known.keys() & rule.wildcard_names}


@functools.cache
def asked_by(rule):
    """What a job of the rule asks for at its first attempt, with the most reads that one has."""
    asked = rule.expand_resources(largest(rule), InputFiles(), 1)
    cpus = asked["_cores"]
    mem_mb = asked.get("mem_mb_per_cpu", 0) * cpus or asked.get("mem_mb", 0)
    divides = "joint_intervals" if "interval" in rule.wildcard_names else ""
    return partitions.Asked(rule.name, cpus, mem_mb, asked["runtime"], str(asked.get("slurm_partition", "")), divides)


# those that have jobs; only where it is known what there is room for
wanted = []
if nodes:
    without = workflow._localrules | unused()
    wanted = [each for each in submitted if not each.norun and each.name not in without]


def check_room(asked):
    """End where no node has room for one of these."""
    if refused := partitions.refusals(asked, nodes):
        sys.exit("\n".join(refused))


@functools.cache
def refuse_groups():
    """End where a group has no room. Which rules are in one Snakemake knows when it plans, and not before."""
    groups = {each.name: each.group for each in wanted if isinstance(each.group, str)}
    asked = [asked_by(each) for each in wanted if each.name in groups]
    check_room(partitions.grouped(asked, groups, workflow.group_settings.group_components, workflow.cores or math.inf))


check_room(map(asked_by, wanted))
