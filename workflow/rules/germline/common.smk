# What the germline rules ask for: files by sample, unit and call set, and arguments from the config.
import json
import subprocess
from functools import cache

from snakemake.settings.types import DeploymentMethod

GATK_MODE = {"snps": "SNP", "indels": "INDEL"}
BATCH_BASES = 100_000_000  # what bwa takes at once, whatever its threads (-K): its results depend on it
INDEX_BYTES_A_BASE = {"bwa": 1.75, "bwa-mem2": 5.5}
SHARED_BYTES = 1 << 30  # how large an index is shared by itself: loading a smaller one again costs little
FINAL_CALLS = {"vqsr": "apply_variant_recalibration", "hard": "hard_filter", "none": "genotype_gvcfs"}

callsets = ["cohort"] if config["calling"] == "joint" else samples
deduplicated_by = "mark_duplicates" if config["realigner"] == "none" else "realign_indels"
bwa_index = config["reference"]["bwa_index"] or "results/reference/genome.fa"
bwa_files = [f"{bwa_index}.{part}" for part in inputs.INDEX_ENDINGS[config["mapper"]]]
if not config["reference"]["bwa_index"]:
    bwa_files.append(f"{bwa_index}.alt")

sexes = {row["sample_name"]: row["sex"] for row in cohort.samples}


gatk3_java = load(source("gatk3_java.py"))


def find_java8():
    """The Java that the user's jar of GATK 3 runs under; what is not one is refused before any job."""
    named, jar = config["gatk3_java"], config["gatk3_jar"]
    by_conda = DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method
    if not jar or "gatk3" not in (config["gatk"], config["realigner"]):
        return ""
    if by_conda and not named and "JAVA8_HOME" not in os.environ:
        return "java"  # of the rule's environment
    java, reason = gatk3_java.find(named, os.environ)
    if java and workflow.is_main_process:
        reason = gatk3_java.fault(java, jar)
    if reason:
        sys.exit(f"config: gatk3_jar {jar}: {reason}")
    return java


environment |= dict(GPD_JAVA8=find_java8(), GPD_BWA_SHM=source("bwa_shm.py"))


wildcard_constraints:
    callset=NAME,
    role=NAME,
    mode="snps|indels",
    shard=r"\d+of\d+",


vcfs = {}  # role -> the user's file, of those that indexed_vcf makes ready


def indexed(role, vcf):
    """The VCF itself where it is bgzipped and has its index, else the copy that indexed_vcf makes under its role."""
    if vcf.endswith(".gz") and Path(f"{vcf}.tbi").exists():
        return vcf
    vcfs[role] = vcf
    return f"results/reference/vcf/{role}.vcf.gz"


known_indels = [indexed(f"known_indels_{i}", vcf) for i, vcf in enumerate(config["known_indels"], 1)]
known_sites = [indexed(f"known_sites_{i}", vcf) for i, vcf in enumerate(config["known_sites"], 1)] + known_indels
training = {
    mode: {
        name: indexed(f"vqsr_{mode}_{name}", entry["vcf"]) for name, entry in config["vqsr"][mode]["resources"].items()
    }
    for mode in GATK_MODE
}


# where a module's user has our files, to look at some before Snakemake does
place = workflow.modifier.path_modifier.replace_prefix
mapped_whole, mapped_in_chunks = (Path(place(f"results/{rule}")) for rule in ("map_and_sort", "map_chunk"))
index_files = [place(path) for path in bwa_files]


@cache
def chunks_of(sample, unit):
    """How many jobs map a unit: as many as did before, for another number gives the same and would map it all again."""
    if (mapped_whole / sample / f"{unit}.json").exists():
        return 1
    made = (mapped_in_chunks / sample / unit).glob("*of*.json")
    return max((int(path.stem.partition("of")[2]) for path in made), default=config["map_chunks"])


def unit_parts(sample, unit):
    """Where a unit's alignments and their counts lie, up to the endings: one place a job."""
    if units[sample][unit]["bam"] and config["bam_input"] == "keep":
        return [f"results/take_alignment/{sample}/{unit}"]
    chunks = chunks_of(sample, unit)
    if chunks == 1:
        return [f"results/map_and_sort/{sample}/{unit}"]
    shards = [f"{number}of{chunks}" for number in range(1, chunks + 1)]
    return [f"results/map_chunk/{sample}/{unit}/{shard}" for shard in shards]


def unit_bams(wildcards):
    return [f"{part}.bam" for unit in units[wildcards.sample] for part in unit_parts(wildcards.sample, unit)]


def unit_counts(wildcards):
    return [f"{part}.json" for unit in units[wildcards.sample] for part in unit_parts(wildcards.sample, unit)]


def deduplicated(wildcards):
    """The BAM that recalibration starts from; GATK names an index otherwise than sambamba."""
    bam = f"results/{deduplicated_by}/{wildcards.sample}.bam"
    return {
        "bam": bam,
        "bai": f"{bam}.bai" if deduplicated_by == "mark_duplicates" else bam.replace(".bam", ".bai"),
    }


def kept_alignment(path):
    """A BAM that is the final alignment, unless CRAM is."""
    return path if config["alignment_format"] == "bam" else temp(path)


def ploidy_regions(wildcards):
    """The files, one or none, of the regions where the sample is not diploid."""
    files = config["ploidy_regions"]
    return list(filter(None, [files.get(sexes[wildcards.sample]) if isinstance(files, dict) else files]))


def callset_gvcfs(wildcards):
    members = samples if config["calling"] == "joint" else [wildcards.callset]
    return expand("results/haplotype_caller/{sample}.g.vcf.gz", sample=members)


def gvcf_source(wildcards):
    """What GATK 4 genotypes: one GVCF, or the cohort's GenomicsDB."""
    if config["calling"] == "joint":
        return {"workspace": "results/genomics_db_import/cohort"}
    (gvcf,) = callset_gvcfs(wildcards)
    return {"gvcf": gvcf, "tbi": f"{gvcf}.tbi"}


def vqsr_resources(wildcards):
    files = training[wildcards.mode]
    return {"resources": list(files.values()), "resource_indexes": [f"{vcf}.tbi" for vcf in files.values()]}


calls = f"results/{FINAL_CALLS[config['filter']]}/{{callset}}.vcf.gz"


def final_results():
    """What a run leaves: alignments, GVCFs and filtered calls, with their indexes."""
    alignments = {
        "bam": ["results/base_recalibration/{sample}.bam", "results/base_recalibration/{sample}.bai"],
        "cram": ["results/alignment/{sample}.cram", "results/alignment/{sample}.cram.crai"],
    }
    gvcf = "results/haplotype_caller/{sample}.g.vcf.gz"
    return [
        *expand([*alignments[config["alignment_format"]], gvcf, f"{gvcf}.tbi"], sample=samples),
        *expand([calls, f"{calls}.tbi"], callset=callsets),
    ]


def preparations():
    """What is made of the reference and its resources, whatever the samples."""
    index = [] if config["reference"]["bwa_index"] else bwa_files
    ready = [f"results/reference/vcf/{role}.vcf.gz" for role in vcfs]
    return [
        *(*reference.values(), "results/reference/genome.bed", STRETCHES, CALLED),
        *(*index, *ready, *(f"{vcf}.tbi" for vcf in ready)),
    ]


def statistics():
    """What the MultiQC page is made of."""
    return [
        *expand("results/samtools_stats/{sample}.txt", sample=samples),
        *expand("results/base_recalibrator/{sample}.table", sample=samples),
        *expand("results/bcftools_stats/{callset}.txt", callset=callsets),
    ]


# ---- arguments ---------------------------------------------------------------------------------------

regions = [config["intervals"]] if config["intervals"] else []  # an input: what is called in them depends on the file


# where the genome, and what is called of it, may be cut
STRETCHES, CALLED = "results/reference/stretches.bed", "results/reference/called_stretches.bed"


def intervals(wildcards, input):
    return repeat("-L", input.intervals)


GATHER_VCF = """
            bcftools concat --naive -f "$list" -O z -o {output.vcf:q}
            bcftools index --tbi {output.vcf:q}
            """
GATHER_GVCF = """
            {params.python} "$GPD_JOIN_GVCF" "$list" {output.gvcf:q}
            bcftools index --tbi {output.gvcf:q}
            """
GATHER_BAM = """
            samtools cat --no-PG -b "$list" -o {output.bam:q}
            samtools index -o {output.bai:q} {output.bam:q}
            """


def read_group(wildcards):
    """The unit's read group as bwa wants it, with tabs spelled out."""
    unit = units[wildcards.sample][wildcards.unit]
    fields = {
        "ID": f"{wildcards.sample}.{wildcards.unit}",
        "SM": wildcards.sample,
        "LB": unit["library"] or wildcards.sample,
        "PL": unit["platform"],
        "PU": wildcards.unit,
    }
    return r"\t".join(["@RG", *(f"{key}:{value}" for key, value in fields.items())])


def streams(wildcards, input):
    """bwa's arguments for the reads: each FASTQ a counted stream, a BAM or CRAM file an interleaved one."""
    if units[wildcards.sample][wildcards.unit]["bam"]:
        return f"-p <(unpack {shlex.quote(str(input.reads))})"
    return " ".join(f"<(stream {shlex.quote(fastq)})" for fastq in input.reads)


def chunk_source(wildcards, input):
    """The words by which a command reads a unit's reads from a BAM or CRAM file, and pipes them to what follows."""
    if not units[wildcards.sample][wildcards.unit]["bam"]:
        return ""
    reference, reads = (shlex.quote(str(path)) for path in (input.reference, input.reads))
    return f'samtools collate --reference {reference} -u -O {reads} "$counts/collate" | samtools fastq -n - |'


def index_bytes():
    """What the mapper's index takes in memory; where it is still to be made, what it will take."""
    if all(os.path.exists(path) for path in index_files):
        return sum(os.path.getsize(path) for path in index_files)
    return round(genome_bytes() * INDEX_BYTES_A_BASE[config["mapper"]])


def mapped_at_once(threads):
    """How many jobs may map at once on this machine."""
    jobs = sum(len(unit_parts(sample, unit)) for sample in units for unit in units[sample])
    return max(1, min(jobs, workflow.cores // threads))


@cache
def memory_mb():
    """What jobs on this machine may take: what Snakemake was told, else what there is."""
    told = workflow.global_resources.get("mem_mb")
    if told is not None:
        return told.value
    asking = [sys.executable, "-S", "-E", environment["GPD_LAUNCH"], "limits"]
    return json.loads(subprocess.run(asking, capture_output=True, check=True).stdout)["memory_mib"] * 1.048576


def own_mb(threads):
    """Memory of bwa, without its index, and the sorter."""
    return 4200 + 450 * threads


def shares_index(threads):
    """Whether bwa's index is one for all (bwa_shm).

    By itself only where it is large and each job's own would not fit in: bwa maps more slowly with a shared one
    (profiles/README.md). And only for jobs on this machine.
    """
    if config["mapper"] != "bwa":
        return False
    if config["bwa_shm"] != "auto":
        return config["bwa_shm"] == "always"
    large, jobs = index_bytes() >= SHARED_BYTES, mapped_at_once(threads)
    return workflow.local_exec and large and jobs > 1 and jobs * (own_mb(threads) + index_bytes() / 1e6) > memory_mb()


def mapping_mem_mb(wildcards, threads):
    """Memory of a job that maps, with bwa's index: all of it, or a share of the one that all have together."""
    return round(own_mb(threads) + index_bytes() / 1e6 / (mapped_at_once(threads) if shares_index(threads) else 1))


def bwa(wildcards, input, threads):
    """How the mapper is called: as it is, or with an index that all of its processes on this machine share."""
    if not shares_index(threads):
        return config["mapper"]
    return f'{PYTHON} "$GPD_BWA_SHM" run {shlex.quote(index_prefix(wildcards, input))} bwa'


def index_guard(wildcards, threads):
    """What starts the process that frees the shared index when nobody uses it."""
    return f'{PYTHON} "$GPD_BWA_SHM" guard;' if shares_index(threads) else ""


def index_prefix(wildcards, input):
    return input.index[0].removesuffix(".amb")


def mapping(bwa, chunk=""):
    """The command from reads to sorted alignments and their counts, with bwa's own part in it.

    bwa reads through reads.py, which counts records, while flagstat counts what goes to the sorter. The sorter sees the
    end of its input only when flagstat has closed the pipe too, so that count is whole by then.
    """
    command = """
            counts=$(mktemp -d -p {resources.tmpdir:q}); trap 'rm -rf "$counts"' EXIT
            reads() {{ {params.python} "$GPD_READS" "$@"; }}
            BWA \\
            | samtools view -u - \\
            | tee >(samtools flagstat -O json - > "$counts/flagstat"; true) \\
            | sambamba sort -t {threads} -m $(({resources.mem_mb} / 4))M -l 1 --tmpdir {resources.tmpdir:q} \\
                -o {output.bam:q} /dev/stdin
            reads unit --counts "$counts" CHUNK--output {output.counts:q} {input.reads:q}
            """
    return command.replace("BWA", bwa.strip()).replace("CHUNK", chunk).replace("BASES", str(BATCH_BASES))


def java(wildcards, threads, resources, heap_fifths=4):
    """JVM options: a fifth of mem_mb is left to the JVM itself; one thread needs no parallel collector."""
    collector = "-XX:+UseSerialGC" if threads == 1 else f"-XX:+UseParallelGC -XX:ParallelGCThreads={threads}"
    return f"-Xmx{resources.mem_mb * heap_fifths // 5}m {collector}"


# Below a rule's c1_below_mib a JVM would end before the code of its second compiler, C2, pays for its making. Above it,
# C2 waits twenty times as long as it does by itself (its defaults are 5,000, 600, 15,000 and 40,000): it then makes what is
# hot, and little else. profiles/README.md says how both were measured.
C1_ALONE = "-XX:TieredStopAtLevel=1"
LATE_C2 = (
    "-XX:Tier4InvocationThreshold=100000 -XX:Tier4MinInvocationThreshold=12000"
    " -XX:Tier4CompileThreshold=300000 -XX:Tier4BackEdgeThreshold=800000"
)


def compilers(input, resources):
    """JVM options of a walk by the size of what it walks over; what is not there yet, as in a dry run, counts as large."""
    if not resources.c1_below_mib:
        return ""  # as the JVM comes
    walked = next((Path(input[name]) for name in ("bam", "gvcf", "vcf", "workspace") if name in input.keys()), None)
    short = walked and walked.exists() and size(walked) < resources.c1_below_mib * 1024**2
    return f" {C1_ALONE if short else LATE_C2}"


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
    """GATK 3 up to its walker: the jar that the config names, or conda's wrapper, which takes JVM options itself.

    Where its Java is depends on the machine, so that comes through the environment.
    """
    options = f"{java(wildcards, threads, resources)} -Djava.io.tmpdir={shlex.quote(str(resources.tmpdir))}"
    jar = config["gatk3_jar"]
    return f'"$GPD_JAVA8" {options} -jar {shlex.quote(jar)}' if jar else f"gatk3 {options}"


def resource_arguments(flag):
    """VQSR's training sets: flag:name,known=..,training=..,truth=..,prior=.. file."""

    def argument(name, entry, vcf):
        traits = ",".join(f"{trait}={str(entry[trait]).lower()}" for trait in ("known", "training", "truth", "prior"))
        return f"{flag}:{name},{traits} {shlex.quote(str(vcf))}"

    def arguments(wildcards, input):
        entries = config["vqsr"][wildcards.mode]["resources"]
        return " ".join(
            argument(name, entries[name], vcf) for name, vcf in zip(training[wildcards.mode], input.resources)
        )

    return arguments


def tranches(wildcards):
    """GATK's own tranches, and the one that is filtered at: without it the next looser one would be taken in silence."""
    sensitivity = float(config["vqsr"][wildcards.mode]["sensitivity"])
    return repeat("-tranche", sorted({100.0, 99.9, 99.0, 90.0, sensitivity}, reverse=True))


def gaussians(wildcards):
    """How many Gaussians VQSR tries: as many as the config allows, then ever fewer."""
    most = config["vqsr"][wildcards.mode]["max_gaussians"]
    return " ".join(map(str, [most, *(fewer for fewer in (4, 2, 1) if fewer < most)]))


def with_fewer_gaussians(command):
    """The command of VariantRecalibrator, which takes its number from $gaussians, until it finds a model.

    Fewer are tried only where GATK says that there was too little for so many; any other failure stands.
    """
    return """
            said=$(mktemp -p {resources.tmpdir:q}); trap 'rm -f "$said"' EXIT
            tried=
            for gaussians in {params.gaussians}; do
                tried="$tried $gaussians" code=0
                COMMAND 2>&1 | tee "$said" || code=$?
                [ $code != 0 ] && grep -qiE "No data found|failed to converge|NaN LOD value" "$said" || break
            done
            if [ $code != 0 ]; then
                echo "error: VQSR found no model for the {wildcards.mode} of {wildcards.callset} (Gaussians tried:$tried)," \\
                    "whose call set has $(gzip -cd {input.vcf:q} | grep -vc '^#') variants; it wants thousands of each" \\
                    "kind. Lower vqsr.{wildcards.mode}.max_gaussians where fewer were not tried, else set" \\
                    "filter: hard in the config. GATK's own reason stands above." >&2
                exit $code
            fi
            echo "VQSR: the model for the {wildcards.mode} of {wildcards.callset} has $gaussians Gaussians at most" \\
                "(tried:$tried)"
            """.replace("COMMAND", command.strip())


def filter_arguments(name_flag, expression_flag):
    """Hard filters, each guarded by the kind of variant it is meant for; indels are all that is no SNP.

    The kind is part of a filter's name, too: of two filters with one name GATK keeps the last, in silence.
    """
    guards = {"snps": "vc.isSNP()", "indels": "!vc.isSNP()"}
    return " ".join(
        f"{name_flag} {shlex.quote(f'{GATK_MODE[kind]}_{name}')} "
        f"{expression_flag} {shlex.quote(f'{guards[kind]} && ({expression})')}"
        for kind, filters in config["hard_filters"].items()
        for name, expression in filters.items()
    )
