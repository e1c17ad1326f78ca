# What mapping asks for: bwa's index, in memory once or for each job, and the reads, whole or in chunks.
import os
from functools import cache

BATCH_BASES = 100_000_000  # what bwa takes at once, whatever its threads (-K): its results depend on it
INDEX_BYTES_A_BASE = {"bwa": 1.75, "bwa-mem2": 5.5}
# samtools markdup goes by what fixmate notes of mates; whether they are a proper pair, bwa has said
TO_BAM = {"sambamba": "samtools view -u -", "samtools": "samtools fixmate -m -p -O bam,level=0 - -"}
SHARED_BYTES = 1 << 30  # how large an index is shared by itself: loading a smaller one again costs little

bwa_index = config["reference"]["bwa_index"] or "results/reference/genome.fa"
bwa_files = [f"{bwa_index}.{part}" for part in inputs.INDEX_ENDINGS[config["mapper"]]]
if not config["reference"]["bwa_index"]:
    bwa_files.append(f"{bwa_index}.alt")
else:
    bwa_files += filter(None, [inputs.alt_file(config["reference"])])
# what a job that maps wants besides, where the index is not ours
checked = ["results/reference/bwa_index.txt"] if config["reference"]["bwa_index"] else []

environment |= dict(GPD_BWA_SHM=source("bwa_shm.py"))


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


@cache
def group_of(bam):
    """What the read group of a BAM or CRAM file says, of which inputs.py allows one."""
    return next(iter(inputs.read_groups(bam)), {}) if bam else {}


def read_group(wildcards):
    """The unit's read group as bwa wants it, with tabs spelled out: what the tables say, else its file, else its names."""
    unit = units[wildcards.sample][wildcards.unit]
    own = group_of(unit["bam"])
    fields = {
        "ID": f"{wildcards.sample}.{wildcards.unit}",
        "SM": wildcards.sample,
        "LB": unit["library"] or own.get("LB") or wildcards.sample,
        "PL": unit["platform"] or own.get("PL") or "ILLUMINA",
        "PU": own.get("PU") or wildcards.unit,
    }
    fields |= {key: value for key, value in own.items() if key not in fields}
    return r"\t".join(["@RG", *(f"{key}:{value}".replace("\\", r"\\") for key, value in fields.items())])


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
    return f'samtools collate --reference {reference} -u -O {reads} "$TMPDIR/collate" | samtools fastq -n - |'


@cache
def index_bytes():
    """What the mapper's index takes in memory; where it is still to be made, what it will take."""
    if all(os.path.exists(path) for path in index_files):
        return sum(os.path.getsize(path) for path in index_files)
    return round(genome_bytes() * INDEX_BYTES_A_BASE[config["mapper"]])


@cache
def mapping_jobs():
    """How many jobs map, or take what is mapped."""
    return sum(len(unit_parts(sample, unit)) for sample in units for unit in units[sample])


def mapped_at_once(threads):
    """How many jobs may map at once on this machine."""
    return max(1, min(mapping_jobs(), workflow.cores // threads))


@cache
def memory_mb():
    """What jobs on this machine may take: what Snakemake was told, else what there is."""
    told = workflow.global_resources.get("mem_mb")
    if told is not None:
        return told.value
    return limits()["memory_mib"] * 1.048576


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
    return f'{PYTHON} "$GPD_BWA_SHM" run "$index" bwa' if shares_index(threads) else config["mapper"]


def index_guard(wildcards, threads):
    """What starts the process that frees the shared index when nobody uses it."""
    return f'{PYTHON} "$GPD_BWA_SHM" guard;' if shares_index(threads) else ""


def index_prefix(wildcards, input):
    return input.index[0].removesuffix(".amb")


def of_reference(alignments):
    """The command that fails unless a file's alignments are to the contigs of the reference."""
    compare = '{params.python} "$GPD_SAME_GENOME" header --dict {input.dict:q}'
    return f"samtools view -H {alignments} | {compare} {alignments}"


def mapping(bwa, chunk=""):
    """The command from reads to sorted alignments and their counts, with bwa's own part in it.

    bwa reads through reads.py, which counts records, while flagstat counts what goes to the sorter. The sorter sees the
    end of its input only when flagstat has closed the pipe too, so that count is whole by then.

    bwa takes whatever index anybody on the machine has put into shared memory under the last part of its prefix. So it
    gets the index by links under a name drawn for this job alone, which also hide what else lies beside a user's index.
    """
    command = """
            reads() {{ {params.python} "$GPD_READS" "$@"; }}
            prefix={params.index:q}; index=$(mktemp -u -p "$TMPDIR" bwa-XXXXXXXXXXXX)
            for file in {input.index:q}; do ln -s "$(realpath -- "$file")" "$index${{file#"$prefix"}}"; done
            BWA \\
            | TO_BAM \\
            | tee >(samtools flagstat -O json - > "$TMPDIR/flagstat"; true) \\
            | sambamba sort -t {threads} -m $(({resources.mem_mb} / 4))M -l 1 --tmpdir "$TMPDIR" \\
                -o {output.bam:q} /dev/stdin
            OF_REFERENCE
            reads unit --counts "$TMPDIR" CHUNK--output {output.counts:q} {input.reads:q}
            """
    command = command.replace("OF_REFERENCE", of_reference("{output.bam:q}"))
    command = command.replace("TO_BAM", TO_BAM[config["duplicates"]])
    return command.replace("BWA", bwa.strip()).replace("CHUNK", chunk).replace("BASES", str(BATCH_BASES))
