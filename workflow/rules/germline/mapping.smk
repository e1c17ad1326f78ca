# What mapping asks for: the mapper's index, and threads and memory by the size of a lane and what this machine has.
from functools import cache

BATCH_BASES = 100_000_000  # what bwa takes at once, whatever its threads (-K): its results depend on it
LARGE_LANE = 20  # gigabases
# rules of lanes, by the names that they have in a workflow which uses this as a module
renamed = {name: workflow.modifier.modify_rulename(name) for name in ("map_and_sort", "take_alignment")}

own_index = config["reference"]["bwa_index"]
bwa_index = own_index or "results/reference/genome.fa"
bwa_files = [f"{bwa_index}.{ending}" for ending in mapper.endings]
bwa_files += filter(None, [inputs.alt_file(config["reference"]) if own_index else f"{bwa_index}.alt"])
# what a job that maps wants besides, where the index is not ours
checked = ["results/reference/bwa_index.txt"] if own_index else []


@cache
def index_bytes():
    """What the mapper's index takes in memory; where it is still to be made, what it will take."""
    files = [place(path) for path in bwa_files]
    if all(map(os.path.exists, files)):
        return round(sum(map(os.path.getsize, files)) * mapper.loaded / mapper.disk)
    return round(genome_bytes() * mapper.loaded)


@cache
def mapped_by():
    """By rule that maps, or takes what is mapped, the wildcards of its jobs."""
    found = {}
    for sample, unit in ((sample, unit) for sample in units for unit in units[sample]):
        name = renamed[Path(mapped(sample, unit)).parts[1]]
        found.setdefault(name, []).append(dict(sample=sample, unit=unit))
    return found


LARGE_GENOME = 1_000_000_000  # bases, from which mapping by bwa takes most of a sample's time
if PLANS and config["mapper"] == "bwa" and genome_bytes() > LARGE_GENOME and renamed["map_and_sort"] in mapped_by():
    say(
        "note: mapper: bwa: on this genome it takes most of a sample's core hours; bwa-mem4 makes the same records in less than"
        " half of its CPU time (make setup-bwa-mem4, then mapper: bwa-mem4 in the configuration)"
    )


def mapping_mem_mb(wildcards, threads):
    """Memory of a job that maps: the mapper's and the sorter's own, and the index."""
    return round(mapper.own_mb + mapper.thread_mb * threads + index_bytes() / 1e6)


def mapping_threads(wildcards):
    """The threads that map a lane: its even share of the cores, up to half a socket's, of a large lane a socket's.

    Where lanes are many, or a profile wants no shares (even_share), they are few, for one thread wastes nothing: as many as
    map the lane within a day, for one that is cut off begins anew, up to an eighth of the cores, beside which samples go one
    after the other (priorities.smk); and as many as leave no core without memory, for each job has an index. On a cluster
    a lane has all that a job may have.
    """
    mapping = renamed["map_and_sort"]
    cores, gigabases = workflow.cores or 1, gigabases_of(wildcards)
    most = 64 if gigabases > LARGE_LANE else 32
    if submits:
        return most
    of_a_day = min(takes[mapping].core_s_per_gigabase * gigabases / 86_400, widest_in_order(cores))
    of_memory = mapping_mem_mb(wildcards, 0) / max(1, memory_mb() / cores - mapper.thread_mb)
    share = workflow.get_rule(mapping).resources["even_share"].value * cores // len(mapped_by().get(mapping, [None]))
    return min(most, max(math.ceil(max(of_a_day, of_memory)), share))
