# What the germline rules ask for: files by sample, unit and call set, and arguments from the config.
from collections import defaultdict

# samtools markdup needs the mate tags of fixmate, which keeps bwa's flag for proper pairs (-p)
TO_BAM = {"sambamba": "samtools view -u -", "samtools": "samtools fixmate -m -p -O bam,level=0 - -"}
GATK_MODE = {"snps": "SNP", "indels": "INDEL"}
N_FREE, CALLED = "results/reference/n_free_intervals.bed", "results/reference/called_intervals.bed"
CALLED_CONTIGS = "results/reference/called_contigs.bed"
genotyped_by = "genotype_gvcfs" if config["gvcf"] else "call_variants"  # the rule that makes the calls before filters
FINAL_CALLS = {
    "vqsr": "apply_variant_recalibration",
    "vets": "score_variant_annotations",
    "hard": "hard_filter",
    "none": genotyped_by,
}
MODEL = "vets" if config["filter"] == "vets" else "vqsr"  # whose training sets there are
# the step that fits it
modelled_by = {"vqsr": "variant_recalibration", "vets": "train_variant_annotations"}[MODEL]

filtered_by = FINAL_CALLS[config["filter"]]
filter_step = "haplotype_caller" if filtered_by == "call_variants" else filtered_by
normalised_by = filtered_by if config["normalise"] == "none" else "normalise"
finished_by = "consequences" if config["annotation"] else normalised_by  # the rule that makes the final calls
callsets = ["cohort"] if config["calling"] == "joint" else samples
recalibrates = config["bqsr"] != "none"
deduplicated_by = "mark_duplicates" if config["realigner"] == "none" else "realign_indels"
aligned_by = "base_recalibration" if recalibrates else deduplicated_by  # the step that makes the final alignments
FINAL_BAM = f"results/{aligned_by}/{{sample}}.bam"
called_by = "reblock_gvcf" if config["reblock"] else "haplotype_caller"  # the rule that makes the final GVCFs
FINAL_GVCF = f"results/{called_by}/{{sample}}.g.vcf.gz"
sexes = {row["sample_name"]: row["sex"] for row in cohort.samples}


wildcard_constraints:
    callset=NAME,
    role=NAME,
    mode="snps|indels",
    kind="snp|indel",
    interval=r"\d+of\d+",


vcfs = {}  # role -> the user's file


def indexed(role, vcf, upstream=()):
    """The VCF as indexed_vcf makes it ready, one path whatever lies beside the user's file: another would be a new input.

    That of another role serves where the user's file is the same, unless an earlier run made both. The roles' names begin with
    `upstream`: results that depend on this one depend on them, so that a change of theirs makes nothing more again.
    """
    path = os.path.realpath(vcf)
    same = [other for other, file in vcfs.items() if other.startswith(upstream) and os.path.realpath(file) == path]
    vcfs[role] = vcf
    if not upstream or not same or os.path.exists(place(f"results/reference/vcf/{role}.vcf.gz")):
        same = [role]
    return f"results/reference/vcf/{same[0]}.vcf.gz"


known_indels = [indexed(f"known_indels_{i}", vcf) for i, vcf in enumerate(config["known_indels"], 1)]
known_sites = []
if recalibrates:
    of_sites = [indexed(f"known_sites_{i}", vcf, "known_indels") for i, vcf in enumerate(config["known_sites"], 1)]
    known_sites = [*dict.fromkeys(of_sites + known_indels)]
KNOWN = "known_" if recalibrates else ()
dbsnp = indexed("dbsnp", config["dbsnp"], KNOWN) if config["dbsnp"] else ""
DBSNP = dict(dbsnp=dbsnp, dbsnp_index=f"{dbsnp}.tbi") if dbsnp else {}  # inputs of steps that genotype
STR_TABLE = "results/reference/str_table.zip"
# HaplotypeCaller's input of DRAGEN mode
str_model = ["results/calibrate_dragstr_model/{sample}.txt"] if config["dragen_mode"] else []
training = {
    mode: {
        name: indexed(f"{MODEL}_{mode}_{name}", entry["vcf"], ("known_", "dbsnp"))
        for name, entry in config[MODEL][mode]["resources"].items()
    }
    for mode in GATK_MODE
}


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


def lane_reads(wildcards):
    """The files that a unit is mapped from: R1 and R2, R1 alone, or a BAM or CRAM file."""
    files = [*mapped_files(wildcards.sample, wildcards.unit).values()]
    return files or [units[wildcards.sample][wildcards.unit]["bam"]]


def unit_bams(wildcards):
    return [f"{mapped(wildcards.sample, unit)}.bam" for unit in units[wildcards.sample]]


def unit_counts(wildcards):
    return [f"{mapped(wildcards.sample, unit)}.json" for unit in units[wildcards.sample]]


def alignment_of(step):
    """A sample's BAM as a step leaves it, and its index, which GATK names otherwise than tools that mark duplicates."""
    bam = f"results/{step}/{{sample}}.bam"
    return {"bam": bam, "bai": f"{bam}.bai" if step == "mark_duplicates" else bam.replace(".bam", ".bai")}


def lasting(files, kept):
    """A step's files as outputs, which a run leaves, or which go again unless they are kept."""
    return {name: result(path) if kept else temp(path) for name, path in files.items()}


def made_alignment(step):
    """A step's BAM and its index as outputs: they stay where they are the final alignment, unless CRAM is."""
    return lasting(alignment_of(step), step == aligned_by and config["alignment_format"] == "bam")


def is_final(step):
    """Whether a step's BAM is the final one, which must hold all alignments of its units: as bash's true or false."""
    return str(step == aligned_by).lower()


def names_ids(wildcards, input):
    """The argument with the VCF by which calls get their IDs."""
    return f"--dbsnp {shlex.quote(str(input.dbsnp))}" if dbsnp else ""


def dragen_mode(wildcards, input):
    """HaplotypeCaller's arguments of DRAGEN mode."""
    return f"--dragen-mode --dragstr-params-path {shlex.quote(str(input.str_model))}" if str_model else ""


def ploidy_regions(wildcards):
    """The files, one or none, of the regions where the sample is not diploid."""
    files = config["ploidy_regions"]
    return list(filter(None, [files.get(sexes[wildcards.sample]) if isinstance(files, dict) else files]))


def ploidy_files():
    """Those of all samples."""
    files = config["ploidy_regions"]
    return sorted({*filter(None, files.values() if isinstance(files, dict) else [files])})


# whether GATK is told of another ploidy everywhere, as of bacteria; and whether calls can be haploid at all
called_haploid = any("ploidy" in config["extra"][name] for name in ("haplotype_caller", "genotype_gvcfs"))
has_haploid_calls = called_haploid or bool(ploidy_files())


def gvcf_of(step, sample="{sample}"):
    """A sample's GVCF as a step leaves it, and its index."""
    gvcf = f"results/{step}/{sample}.g.vcf.gz"
    return {"gvcf": gvcf, "tbi": f"{gvcf}.tbi"}


def callset_gvcfs(wildcards):
    members = samples if config["calling"] == "joint" else [wildcards.callset]
    return expand(FINAL_GVCF, sample=members)


def calls_of(step, callset="{callset}"):
    """A call set as a step leaves it, and its index."""
    vcf = f"results/{step}/{callset}.vcf.gz"
    return {"vcf": vcf, "tbi": f"{vcf}.tbi"}


def made_calls(step, callset="{callset}"):
    """A step's call set and its index as outputs; a run leaves those of the last step alone."""
    made = calls_of(step, callset)
    return {name: result(path) for name, path in made.items()} if step == finished_by else made


def models(callset="{callset}"):
    """What VQSR has learnt of SNPs and of indels."""
    files = {"recal": "recal", "idx": "recal.idx", "tranches": "tranches"}
    return {
        f"{mode}_{name}": f"results/variant_recalibration/{callset}.{mode}.{ending}"
        for mode in GATK_MODE
        for name, ending in files.items()
    }


def forests(callset="{callset}"):
    """What VETS has learnt of SNPs and of indels."""
    files = {"scorer": "scorer.pkl", "calibration": "calibrationScores.hdf5"}
    return {
        f"{kind}_{name}": f"results/train_variant_annotations/{callset}.{kind}.{ending}"
        for kind in ("snp", "indel")
        for name, ending in files.items()
    }


@functools.cache
def memory_mb():
    """Memory for jobs on this machine: the limit of --resources, else all that there is."""
    limit = workflow.global_resources.get("mem_mb")
    return limits()["memory_mib"] * 1.048576 if limit is None or limit.value is None else limit.value


def depth_mb(wildcards):
    """Memory of mosdepth, which counts along whole contigs: 16.0 bytes a base of the longest were measured."""
    return 500 + round(16 * max(contigs().values()) / 1e6)


@functools.cache
def model_mb():
    """Memory for VQSR, of which four fifths are Java's, and for VETS, which was not measured: they hold all sites of a call set."""
    members = len(samples) if config["calling"] == "joint" else 1
    return max(8000, load(source("intervals/joint_calling.py")).sites_mb(called_bases(), members) * 5 // 4)


def training_sets(wildcards):
    files = training[wildcards.mode]
    return {"resources": list(files.values()), "resource_indexes": [f"{vcf}.tbi" for vcf in files.values()]}


calls = f"results/{finished_by}/{{callset}}.vcf.gz"


def cohort_results():
    """What is made of all samples at once."""
    return expand(calls, callset="cohort") if config["calling"] == "joint" else []


def preparations():
    """What is made of the reference and its resources, whatever the samples."""
    index = checked if config["reference"]["bwa_index"] else bwa_files
    sets = training.values() if config["filter"] == MODEL else []
    own = [*filter(None, [dbsnp]), *COMMON_SITES]
    ready = [*known_sites, *own, *(vcf for files in sets for vcf in files.values())]
    return [
        *(*reference.values(), N_FREE, CALLED, *([TARGETS] if padding else [])),
        *([STR_TABLE] if config["dragen_mode"] else []),
        *(["results/reference/gene_models.gff3"] if config["annotation"] else []),
        *(expand([INTERVAL, WIDE], interval=joint_intervals) if joint else []),
        *([CRAM_REFERENCE] if config["cram_reference"] and config["bam_input"] == "remap" else []),
        *(*index, *ready, *(f"{vcf}.tbi" for vcf in ready)),
    ]


def scatter_parameters(walker="", join_gvcf=None):
    """Parameters of steps that scatter over the genome; how many shards there are changes no result.

    `walker`: GATK 4's, of compilers.tsv. `join_gvcf`: the script that joins shards where they are GVCFs.
    """
    joined_by = [join_gvcf] if join_gvcf else []

    def scattering(wildcards, resources):
        return f"--shards {config['scatter']} --shard-mib {resources.shard_mib} {short_from(walker, wildcards)}"

    return {
        **scripts("scatter.py", *joined_by),
        "scatter": called_as(
            "scatter.py", *(word for path in joined_by for word in ("--join-gvcf", str(source(path))))
        ),
        "scattering": scattering,
    }


# ---- arguments ---------------------------------------------------------------------------------------

padding = config["interval_padding"] if config["intervals"] else 0
primary = load(source("intervals/primary.py"))


@functools.cache
def contigs():
    """The reference's contigs with their lengths; a job on another machine reads them of the index that is made by then."""
    fai = place(reference["fai"])
    if not workflow.is_main_process and os.path.exists(fai):
        return primary.read_contigs(fai)
    return inputs.read_contigs(config["reference"]["fasta"], fai)


@functools.cache
def not_called():
    """The contigs that are not called, with their kind.

    Where an earlier run has called them this one does, too: else finished samples would be called again.
    """
    if config["calling_contigs"] == "all" or config["intervals"] or not PLANS:
        return {}
    found = primary.left_out(contigs())
    if found and primary.names_any(place(CALLED), found):
        say(
            f"calling_contigs: auto: as earlier here, all contigs are called; to leave out {primary.summary(found)},"
            f" and to call all samples again, remove {place(CALLED)}"
        )
        return {}
    return found


if not_called():
    say(
        f"not called: {len(not_called()):,} of {len(contigs()):,} contigs, {primary.summary(not_called())}"
        " (calling_contigs: all calls them)"
    )
# an input: what is called in them depends on the file
regions = [config["intervals"]] if config["intervals"] else [CALLED_CONTIGS] if not_called() else []
regions = ["results/reference/padded_intervals.bed"] if padding else regions


@functools.cache
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


def bwa(wildcards, input, threads):
    """How the mapper is called."""
    return f"{mapper.variables} {config['mapper']}".strip()


def index_prefix(wildcards, input):
    return input.index[0].removesuffix(".amb")


def own_arguments(name):
    """A parameter with what the config gives a rule's tool besides, each word quoted."""
    words = shlex.split(config["extra"][name])
    if name == "haplotype_caller" and config["pcr_free"] and not config["dragen_mode"]:
        words = [by_gatk("--pcr-indel-model", "--pcr_indel_model"), "NONE", *words]
    if name == "base_recalibration":
        flag = by_gatk("--static-quantized-quals", "--static_quantized_quals")
        words = [word for value in config["quantize"] for word in (flag, str(value))] + words
    return dict(own=shlex.join(words))


@functools.cache
def called_bases(padding=padding):
    """About how many bases are called; a contig that is named as a whole counts as the whole genome."""
    if not config["intervals"]:
        return genome_bytes() - sum(map(contigs().get, not_called()))
    found = load(source("intervals/n_free.py")).read_regions(config["intervals"], defaultdict(genome_bytes))
    return min(genome_bytes(), sum(end - start + 2 * padding for own in found.values() for start, end in own))


def of_targets():
    """Whether what is called are an exome's or a panel's regions; those of a genome leave out its repeats and gaps alone."""
    return bool(config["intervals"]) and called_bases(padding=0) < genome_bytes() / 2


# by depth the sex is known well of genomes; of targets after the run
checks_sex = isinstance(config["ploidy_regions"], dict) and not of_targets()


def resource_arguments(flag, *traits):
    """The training sets of VQSR or VETS: flag:name,training=..,.. file."""

    def arguments(wildcards, input):
        words = []
        for (name, entry), vcf in zip(config[MODEL][wildcards.mode]["resources"].items(), input.resources):
            values = (f"{trait}={str(entry[trait]).lower()}" for trait in traits)
            words += [f"{flag}:{name},{','.join(values)}", shlex.quote(str(vcf))]
        return " ".join(words)

    return arguments


def tranches(wildcards):
    """GATK's own tranches, and the one that is filtered at: without it the next looser one would be taken in silence."""
    sensitivity = float(config["vqsr"][wildcards.mode]["sensitivity"])
    return repeat("-tranche", sorted({100.0, 99.9, 99.0, 90.0, sensitivity}, reverse=True))


def gaussians(wildcards):
    """How many Gaussians VQSR tries: as many as the config allows, then ever fewer."""
    most = config["vqsr"][wildcards.mode]["max_gaussians"]
    return " ".join(map(str, [most, *(fewer for fewer in (4, 2, 1) if fewer < most)]))


NO_ALLELES = "--omit-alleles-in-hdf5"  # which VETS holds in memory, and nothing reads


def scored():
    """Parameters of ScoreVariantAnnotations: where the forests are, and for SNPs and indels what is looked at and kept."""

    def arguments(kind):
        own = config["vets"][f"{kind}s"]
        kept = f"--{kind}-calibration-sensitivity-threshold {round(own['sensitivity'] / 100, 6)}"
        how = f"--mode {kind.upper()} --model-backend PYTHON_IFOREST {NO_ALLELES}"
        return f"{how} {repeat('-A', own['annotations'])} {kept}"

    return {
        "forests": lambda wildcards, input: input.snp_scorer.removesuffix(".snp.scorer.pkl"),
        "snps": arguments("snp"),
        "indels": arguments("indel"),
    }


def filter_arguments():
    """Hard filters, each guarded by the kind of variant it is meant for; indels are all that is no SNP.

    The kind is part of a filter's name, too: of two filters with one name GATK keeps the last, in silence.
    """
    name_flag, expression_flag = by_gatk(
        ("--filter-name", "--filter-expression"), ("--filterName", "--filterExpression")
    )
    guards = {"snps": "vc.isSNP()", "indels": "!vc.isSNP()"}
    return " ".join(
        f"{name_flag} {shlex.quote(f'{GATK_MODE[kind]}_{name}')} "
        f"{expression_flag} {shlex.quote(f'{guards[kind]} && ({expression})')}"
        for kind, filters in config["hard_filters"].items()
        for name, expression in filters.items()
    )
