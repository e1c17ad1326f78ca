# How GATK is started: how much memory, and which collector.

FIRST_ALONE, SECOND_ALONE = "-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation"


def java(wildcards, threads, resources, heap_fifths=4, compiler=SECOND_ALONE):
    """JVM options: a fifth of mem_mb is left to the JVM itself; one thread needs no parallel collector.

    The first compiler's code is profiled to be compiled again: walks of seconds end with it, and longer ones do better with
    the second compiler alone.
    """
    collector = "-XX:+UseSerialGC" if threads == 1 else f"-XX:+UseParallelGC -XX:ParallelGCThreads={threads}"
    compiler = FIRST_ALONE if config["tiny_data"] else compiler
    return " ".join(filter(None, (f"-Xmx{resources.mem_mb * heap_fifths // 5}m", collector, compiler)))


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


GATK = dict(java=java)  # parameters of a rule with either GATK


def by_gatk(gatk4, gatk3):
    return gatk3 if config["gatk"] == "gatk3" else gatk4


def java_native(wildcards, threads, resources):
    """Options of a walker whose work is native code, outside of the heap: that gets half as much."""
    return java(wildcards, threads, resources, heap_fifths=2)
