# What mapping asks for: the mapper's index, the reads, and threads by their size.
import bisect
import os
from functools import cache
from itertools import accumulate

BATCH_BASES = 100_000_000  # what bwa takes at once, whatever its threads (-K): its results depend on it
# samtools markdup needs the mate tags of fixmate, which keeps bwa's flag for proper pairs (-p)
TO_BAM = {"sambamba": "samtools view -u -", "samtools": "samtools fixmate -m -p -O bam,level=0 - -"}
LARGE_LANE = 20  # gigabases

own_index = config["reference"]["bwa_index"]
bwa_index = own_index or "results/reference/genome.fa"
bwa_files = [f"{bwa_index}.{ending}" for ending in mapper.endings]
bwa_files += filter(None, [inputs.alt_file(config["reference"]) if own_index else f"{bwa_index}.alt"])
# what a job that maps wants besides, where the index is not ours
checked = ["results/reference/bwa_index.txt"] if own_index else []

# rules whose resources are looked up, by the names that they have in a workflow which uses this as a module
SIZED = ("map_and_sort", "take_alignment", "haplotype_caller")
renamed = {name: workflow.modifier.modify_rulename(name) for name in SIZED}


def mapped(sample, unit):
    """Where a unit's alignments and their counts lie, up to the endings."""
    if units[sample][unit]["bam"] and config["bam_input"] == "keep":
        return f"results/take_alignment/{sample}/{unit}"
    return f"results/map_and_sort/{sample}/{unit}"


CRAM_REFERENCE = "results/reference/cram_reference.fa"


def decoded_with(wildcards):
    """The FASTA that decodes a unit's file, where that is CRAM."""
    bam = units[wildcards.sample][wildcards.unit]["bam"]
    return CRAM_REFERENCE if config["cram_reference"] and bam and inputs.is_cram(bam) else reference["fasta"]


@cache
def has_cram_reference():
    """Whether any unit is decoded with another FASTA than the reference."""
    if not config["cram_reference"] or config["bam_input"] == "keep":
        return False
    rows = [unit for sample in samples for unit in units[sample].values()]
    return any(unit["bam"] and inputs.is_cram(unit["bam"]) for unit in rows)


@cache
def read_group_of(bam):
    return next(iter(inputs.read_groups(bam)), {})  # inputs.py allows one


def read_group(wildcards):
    """The unit's read group as bwa wants it, with tabs spelled out: what the tables say, else its file, else its names."""
    unit = units[wildcards.sample][wildcards.unit]
    own = read_group_of(unit["bam"]) if unit["bam"] else {}
    fields = {
        "ID": f"{wildcards.sample}.{wildcards.unit}",
        "SM": wildcards.sample,
        "LB": unit["library"] or own.get("LB") or wildcards.sample,
        "PL": unit["platform"] or own.get("PL") or "ILLUMINA",
        "PU": unit["platform_unit"] or own.get("PU") or wildcards.unit,
        **({"CN": unit["center"]} if unit["center"] else {}),
    }
    fields |= {key: value for key, value in own.items() if key not in fields}
    return r"\t".join(["@RG", *(f"{key}:{value}".replace("\\", r"\\") for key, value in fields.items())])


def streams(wildcards, input):
    """bwa's arguments for the reads: each FASTQ a counted stream, a BAM or CRAM file an interleaved one."""
    if units[wildcards.sample][wildcards.unit]["bam"]:
        return f"-p <(unpack {shlex.quote(str(input.reads))})"
    return " ".join(f"<(stream {shlex.quote(fastq)})" for fastq in input.reads)


@cache
def index_bytes():
    """What the mapper's index takes in memory; where it is still to be made, what it will take."""
    files = [place(path) for path in bwa_files]
    if all(map(os.path.exists, files)):
        return round(sum(map(os.path.getsize, files)) * mapper.loaded / mapper.disk)
    return round(genome_bytes() * mapper.loaded)


@cache
def memory_mb():
    """Memory for jobs on this machine: the limit of --resources, else all that there is."""
    limit = workflow.global_resources.get("mem_mb")
    return limits()["memory_mib"] * 1.048576 if limit is None or limit.value is None else limit.value


def own_mb(threads):
    """Memory of the mapper, without its index, and the sorter."""
    return mapper.own_mb + mapper.thread_mb * threads


def mapping_threads(wildcards):
    """The threads that map a lane: half a socket's, of a large one a socket's.

    A 30x genome in one lane, 93 Gb, takes 96 core hours (runtimes.tsv): on 128 cores 1.5 hours in place of 3. Where a profile
    says within how many hours a job shall end (within_h), they are as few as do that: one thread wastes nothing, but a lane
    of days is lost when it is cut off.
    """
    size = gigabases_of(wildcards)
    usual = 64 if size > LARGE_LANE else 32
    hours = workflow.get_rule(renamed["map_and_sort"]).resources["within_h"].value
    return min(usual, fewest_threads(size, hours)) if hours else usual


@cache
def fewest_threads(gigabases, hours):
    """As few as map so much within so many hours, and leave no core idle for want of memory; more than priorities.smk has room
    for would leave cores idle, too.
    """
    needed = takes[renamed["map_and_sort"]].core_s_per_gigabase * gigabases / 3600 / hours
    usable = range(1, widest_in_order(workflow.cores or 1) + 1)
    return next((threads for threads in usable if threads >= needed and cores_have_memory(threads)), usable[-1])


def cores_have_memory(threads):
    """Whether memory holds as many jobs of so many threads as there are cores for, each with its index."""
    return max(1, workflow.cores // threads) * (own_mb(threads) + index_bytes() / 1e6) <= memory_mb()


@cache
def mapping_jobs():
    """The jobs that map, or take what is mapped: rule, sample and unit."""
    return [Path(mapped(sample, unit)).parts[1:] for sample in units for unit in units[sample]]


@cache
def threads_of_jobs():
    """The threads of each job that maps, or takes what is mapped, the fewest first: chosen here, or by who runs it."""
    threads = (
        resource_of(workflow.get_rule(renamed[name]), "_cores", dict(sample=sample, unit=unit))
        for name, sample, unit in mapping_jobs()
    )
    return sorted(min(each, workflow.cores or 1) for each in threads)


@cache
def mapped_at_once():
    """The threads of the jobs that may map at once on this machine: as many as may, so of those with the fewest threads."""
    fewest = threads_of_jobs()
    count = bisect.bisect_right(list(accumulate(fewest)), workflow.cores or 1)
    return fewest[: max(1, count)]


def mapping_mem_mb(wildcards, threads):
    """Memory of a job that maps, with its index."""
    return round(own_mb(threads) + index_bytes() / 1e6)


def chosen():
    """What was chosen by the size of lanes and what this machine has for each core, in a line; empty where nothing was."""
    choices, most_threads, mapping = [], threads_of_jobs()[-1], renamed["map_and_sort"]
    hours = workflow.get_rule(mapping).resources["within_h"].value
    maps = any(name == "map_and_sort" for name, *_ in mapping_jobs())
    if maps and hours and most_threads > 1 and mapping not in workflow.resource_settings.overwrite_threads:
        largest = max(gigabases(sample, unit) for sample in units for unit in units[sample])
        choices.append(
            f"mapping takes up to {most_threads} threads (the largest lane has about {largest:.0f} Gb, to be mapped "
            f"within {hours} h), {len(mapped_at_once())} at most at once"
        )
    calling = resource_of(workflow.get_rule(renamed["haplotype_caller"]), "mem_mb", {}, threads=1)
    if config["gatk"] == "gatk4" and calling < USUAL_CALLING_MB and calling == calling_mb({}, 1):
        choices.append(
            f"haplotype_caller takes {calling:,} MB, by what there is for each core, in place of {USUAL_CALLING_MB:,}"
        )
    return f"chosen: {'; '.join(choices)}; set-threads and set-resources of a profile go before" if choices else ""


def bwa(wildcards, input, threads):
    """How the mapper is called."""
    return f"{mapper.variables} {config['mapper']}".strip()


def index_prefix(wildcards, input):
    return input.index[0].removesuffix(".amb")
