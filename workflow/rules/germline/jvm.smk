# How GATK is started: which Java, how much memory, which of its compilers.
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
    for its text is the same. So the options stand between double quotes.
    """
    collector = "-XX:+UseSerialGC" if threads == 1 else f"-XX:+UseParallelGC -XX:ParallelGCThreads={threads}"
    return f"-Xmx$((GPD_MEM_MB*{heap_fifths}/5))m {collector}"


USUAL_CALLING_MB = 6000  # a heap of 4.8 GB


def calling_mb(wildcards, threads):
    """What there is for each core of this machine, up to the usual, and no less than a profile says (least_mb)."""
    if not workflow.local_exec:
        return USUAL_CALLING_MB
    least = workflow.get_rule(renamed["haplotype_caller"]).resources["least_mb"].value
    return round(min(USUAL_CALLING_MB, max(least, threads * memory_mb() / (workflow.cores or 1))))


# Below a rule's c1_below_mib a JVM would end before the code of its second compiler, C2, pays for its making. Above it,
# C2 is sparing: it waits five times as long as by itself (its defaults are 5,000, 600, 15,000 and 40,000), so that it makes
# what is hot and little else, and takes less of what a method calls into its code (325 and 2,500). profiles/README.md
# says how both were measured.
C1_ALONE = "-XX:TieredStopAtLevel=1"
SPARING_C2 = (
    "-XX:Tier4InvocationThreshold=25000 -XX:Tier4MinInvocationThreshold=3000"
    " -XX:Tier4CompileThreshold=75000 -XX:Tier4BackEdgeThreshold=200000"
    " -XX:FreqInlineSize=80 -XX:InlineSmallCode=600"
)


def compilers(input, resources):
    """JVM options of a walk by the size of what it walks over; what is not there yet, as in a dry run, counts as large."""
    if not resources.c1_below_mib:
        return ""  # as the JVM comes
    walked = next((Path(input[name]) for name in ("bam", "gvcf", "vcf", "workspace") if name in input.keys()), None)
    short = walked and walked.exists() and size(walked) < resources.c1_below_mib * 1024**2
    return f" {C1_ALONE if short else SPARING_C2}"


def java_short(wildcards, threads, resources):
    """JVM options of what ends within seconds, whatever its rule walks over."""
    return java(wildcards, threads, resources) + (f" {C1_ALONE}" if resources.c1_below_mib else "")


def size(path):
    """Bytes of a file, or of all files in a folder: a GenomicsDB is about as large as the GVCFs that it was made of."""
    return sum(file.stat().st_size for file in [path, *path.rglob("*")] if file.is_file())


def java_gatk4(wildcards, input, threads, resources):
    """JVM options of a walker of GATK 4."""
    return java(wildcards, threads, resources) + compilers(input, resources)


def java_native(wildcards, input, threads, resources):
    """Those of a walker whose work is native code, outside of the heap: that gets half as much."""
    return java(wildcards, threads, resources, heap_fifths=2) + compilers(input, resources)


def gatk3(wildcards, threads, resources):
    """GATK 3 up to its walker: the jar that the config names, or a wrapper as conda's, which takes JVM options itself.

    Where its Java is depends on the machine, so that comes through the environment.
    """
    options = f'{java(wildcards, threads, resources)} -Djava.io.tmpdir="$TMPDIR"'
    jar = config["gatk3_jar"]
    return f'"$GPD_JAVA8" {options} -jar {shlex.quote(jar)}' if jar else f"gatk3 {options}"
