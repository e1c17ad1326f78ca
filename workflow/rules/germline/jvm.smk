# How GATK is started: which Java, how much memory.
import os

from snakemake.settings.types import DeploymentMethod

gatk3_java = load(source("gatk3_java.py"))


def find_java8():
    """The Java that the jar of GATK 3 runs under. What does not start is refused before any job, not after all mapping."""
    if "gatk3" not in (config["gatk"], config["realigner"]):
        return ""
    by_conda = DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method
    jar = config["gatk3_jar"]
    java, reason = gatk3_java.start(jar, config["gatk3_java"], os.environ, by_conda, workflow.is_main_process)
    if reason:
        sys.exit(f"config: gatk3_jar{jar and f' {jar}'}: {reason}")
    return java


environment |= dict(GPD_JAVA8=find_java8())


def java(wildcards, threads, resources, heap_fifths=4):
    """JVM options: a fifth of mem_mb is left to the JVM itself; one thread needs no parallel collector.

    How much that is, the command finds in its environment: an attempt with more memory goes on with pieces of the one before,
    for its text is the same. So the options stand between double quotes. Over tiny data a JVM ends before the code of its
    second compiler has paid for its making.
    """
    collector = "-XX:+UseSerialGC" if threads == 1 else f"-XX:+UseParallelGC -XX:ParallelGCThreads={threads}"
    compilers = " -XX:TieredStopAtLevel=1" if config["tiny_data"] else ""
    return f"-Xmx$((GPD_MEM_MB*{heap_fifths}/5))m {collector}{compilers}"


USUAL_CALLING_MB = 6000  # a heap of 4.8 GB


def calling_mb(wildcards, threads):
    """What there is for each core of this machine, up to the usual, and no less than a profile says (least_mb)."""
    if not workflow.local_exec:
        return USUAL_CALLING_MB
    least = workflow.get_rule(renamed["haplotype_caller"]).resources["least_mb"].value
    return round(min(USUAL_CALLING_MB, max(least, threads * memory_mb() / (workflow.cores or 1))))


def java_native(wildcards, threads, resources):
    """Options of a walker whose work is native code, outside of the heap: that gets half as much."""
    return java(wildcards, threads, resources, heap_fifths=2)


def gatk3(wildcards, threads, resources):
    """GATK 3 up to its walker: the jar that the config names, or a wrapper as conda's, which takes JVM options itself.

    Where its Java is depends on the machine, so that comes through the environment.
    """
    options = f'{java(wildcards, threads, resources)} -Djava.io.tmpdir="$TMPDIR"'
    jar = config["gatk3_jar"]
    return f'"$GPD_JAVA8" {options} -jar {shlex.quote(jar)}' if jar else f"gatk3 {options}"
