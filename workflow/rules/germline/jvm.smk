# How GATK is started: how much memory, which collector, and which of the JVM's compilers.
import csv

JVM = load(source("scatter.py"))  # has the options of the two compilers


def read_borders(path):
    """By walker: from how many megabases on the second compiler takes less CPU time, and as what part of one a bare one counts."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return {row["walker"]: (float(row["megabases"]), float(row["bare"])) for row in rows}


BORDERS = read_borders(workflow.source_path("../../compilers.tsv"))


@functools.cache
def share_of_guessed():
    """What part of their guessed bases (runtimes.py), which are rather many, the reads have: by the first file's head."""
    return runtimes.share_of_guessed(Path(next(iter(units[samples[0]].values()))["fq1"]))


def of_border(walker, wildcards, walked=called_bases):
    """How long a job's walk is, as a multiple of the walker's border, in megabases of one genome at its usual depth (USUAL_DEPTH).

    Where there are few reads, as of a genome at 0.1x or beside an exome, the walk over the bases without any counts in part.
    """
    border, bare = BORDERS[walker]
    megabases = gigabases_of(wildcards) * share_of_guessed() * 1000 / USUAL_DEPTH
    return (megabases + (bare and bare * walked() / 1e6)) / border


def java(walker, heap_fifths=4, walked=called_bases):
    """A parameter: the options of a walker's JVM, with one compiler. `walked`: over how many bases it goes.

    The first compiler's code is profiled, where there are both, to be compiled again: short walks end with it alone, and longer
    ones do better with the second compiler alone.
    """

    def options(wildcards, threads, resources):
        compiler = JVM.FIRST_ALONE if of_border(walker, wildcards, walked) < 1 else JVM.SECOND_ALONE
        return f"{memory_options(threads, resources, heap_fifths)} {compiler}"

    return options


def memory_options(threads, resources, heap_fifths=4):
    """JVM options: a fifth of mem_mb is left to the JVM itself; one thread needs no parallel collector."""
    collector = "-XX:+UseSerialGC" if threads == 1 else f"-XX:+UseParallelGC -XX:ParallelGCThreads={threads}"
    return f"-Xmx{resources.mem_mb * heap_fifths // 5}m {collector}"


def short_from(walker, wildcards):
    """scatter.py's argument: from how many shards on a walk over each is short. GATK 3 takes the compilers as they come."""
    own_compiler = walker and config["gatk"] == "gatk4"
    return f"--short-from {of_border(walker, wildcards):.1f}" if own_compiler else ""


USUAL_CALLING_MB, LEAST_CALLING_MB = 6000, 3500  # heaps of 4.8 and 2.8 GB


def calling_mb(wildcards, threads):
    """What there is for each core of this machine, so that none idles for memory, from the least up to the usual.

    No genome was measured with the least; one that had too little is called again with twice as much.
    """
    of_cores = threads * memory_mb() / (workflow.cores or 1) if workflow.local_exec else USUAL_CALLING_MB
    return round(min(USUAL_CALLING_MB, max(LEAST_CALLING_MB, of_cores)))


def gatk3_mb(wildcards, threads):
    """What GATK 3 had as published, with 16 threads and more; one thread has a heap of 3.2 GB, which was not measured."""
    return min(16000, 4000 + 800 * (threads - 1))


def by_gatk(gatk4, gatk3):
    return gatk3 if config["gatk"] == "gatk3" else gatk4


def started(walker):
    """Parameters of a rule with either GATK."""
    return GATK3 if config["gatk"] == "gatk3" else dict(java=java(walker))


NATIVE = dict(heap_fifths=2)  # of a walker whose work is native code, outside of the heap: that gets half as much
