# What the Tuxedo rules ask for: files by sample and condition, and arguments from the config.

callsets = []  # of variants: there are none
GENES, MASK = "results/reference/genes.gtf", "results/reference/mask.gtf"
LIBRARY_TYPE = "results/library_type/library_type.txt"
FINAL_BAM = "results/align/{sample}.bam"
HISAT2_INDEX = [f".{part}.ht2" for part in range(1, 9)]
BOWTIE2_INDEX = [f"results/reference/bowtie2/genome.{part}.bt2" for part in (1, 2, 3, 4, "rev.1", "rev.2")]
TABLES = (
    *(
        f"{level}.{table}"
        for level in ("genes", "isoforms", "tss_groups", "cds")
        for table in ("fpkm_tracking", "count_tracking", "read_group_tracking")
    ),
    *(f"{level}_exp.diff" for level in ("gene", "isoform", "tss_group", "cds")),
    *("splicing.diff", "promoters.diff", "cds.diff"),
    *("var_model.info", "read_groups.info", "run.info", "bias_params.info"),
)

conditions = load(source("tuxedo/design.py")).conditions(units, cohort.samples)
CONTRAST = "{contrast}" if contrasts else ""  # a folder for each
COMPARISON = Path("results/differential_expression", CONTRAST).as_posix()
GENE_TABLE = f"results/gene_table/{CONTRAST or 'genes'}.tsv"


def compared_conditions(wildcards):
    """The conditions of a comparison, the baseline first, with their samples: those of a contrast, or all."""
    return {name: conditions[name] for name in contrasts.get(wildcards.get("contrast"), conditions)}


def compared_samples(wildcards):
    """The samples of a comparison, in the order of the table."""
    compared = {sample for group in compared_conditions(wildcards).values() for sample in group}
    return [sample for sample in samples if sample in compared]


def sample_reads(wildcards):
    """All FASTQ files of a sample, lane by lane, R1 before R2."""
    return [path for unit in units[wildcards.sample] for path in mapped_files(wildcards.sample, unit).values()]


def is_paired(sample):
    return any(unit["fq2"] for unit in units[sample].values())


def lanes(wildcards):
    return len(units[wildcards.sample])


assembled = config["assembly"] != "reference_only"
compared = config["stop_after"] != "quantify"
mask = [MASK] if config["mask"] or config["mask_biotypes"] else []

# What is counted and compared: with reference_only, the annotation itself, so that steps 2 and 3 fall away.
transcripts = "results/merge/transcripts.gtf" if assembled else GENES


def cohort_results():
    """What is made of all samples at once."""
    tests = expanded([f"{COMPARISON}/gene_exp.diff"]) if compared else []
    return [*([transcripts] if assembled else []), *tests]


def preparations():
    """What is made of the reference and its annotation, whatever the samples."""
    indexes = {
        "hisat2": ["results/reference/splice_sites.tsv", *multiext("results/reference/genome", *HISAT2_INDEX)],
        "tophat2": BOWTIE2_INDEX,
    }
    return [*reference.values(), GENES, *mask, *indexes[config["aligner"]]]


# ---- what takes Cuffdiff longest -----------------------------------------------------------------------

MOST_THREADS = 16
CORRECTION_S, LONG_S = 10, 600  # of one thread, a replicate; from which on it is told of
corrects = config["cuffdiff"]["scv_correction"] and config["cuffdiff"]["dispersion_method"] != "poisson"


def tell_of_correction():
    """A line before the run where the correction of the dispersion model will take long."""
    replicates = max(len(compared_samples({"contrast": name})) for name in contrasts or [None])
    if corrects and replicates * CORRECTION_S >= LONG_S:
        say(
            f"note: cuffdiff.scv_correction: it takes some {replicates * CORRECTION_S // 60} minutes of one thread for"
            f" the {replicates} samples of a comparison, whatever their reads; false leaves it out"
        )


def comparing_threads(wildcards):
    """The threads of a comparison: its share of the cores but one, on which samples are judged meanwhile.

    On a cluster, and where nothing holds up the other threads for long, it has all that it may have.
    """
    if submits or not corrects:
        return MOST_THREADS
    share = ((workflow.cores or MOST_THREADS) - 1) // max(1, len(contrasts))
    return min(MOST_THREADS, max(1, share))


# ---- arguments ---------------------------------------------------------------------------------------


# Of Cufflinks' tools: fragments' lengths, and which corrections are made
LIBRARY = (
    f"--frag-len-mean {config['fragment_length']} --frag-len-std-dev {config['fragment_length_sd']}"
    + (' --frag-bias-correct "$fasta"' if config["bias_correction"] else "")
    + (" --multi-read-correct" if config["multi_read_correction"] else "")
)
# Which loci Cufflinks and Cuffquant pass over. Cuffdiff has that of their files.
PASSED_OVER = f"--max-bundle-frags {config['max_bundle_frags']}" + (' --mask-file "$mask"' if mask else "")


def replicates(wildcards, input):
    """Cuffdiff's arguments for the samples: a comma list a condition."""
    counted = dict(zip(compared_samples(wildcards), input.cxb))
    groups = compared_conditions(wildcards).values()
    return " ".join(shlex.quote(",".join(counted[sample] for sample in group)) for group in groups)


def by_mate(wildcards, input):
    """The FASTQ files of a sample's R1, in the order of its lanes, and those of R2 where there are pairs."""
    mates = 2 if is_paired(wildcards.sample) else 1
    return [input.reads[mate::mates] for mate in range(mates)]


def hisat2_reads(wildcards, input):
    """HISAT2's arguments for the reads: a comma list of R1, and one of R2 where there are pairs; all counted streams."""
    flags = ("-1", "-2") if is_paired(wildcards.sample) else ("-U",)
    return " ".join(
        f"{flag} " + ",".join(f"<(stream {shlex.quote(fastq)})" for fastq in files)
        for flag, files in zip(flags, by_mate(wildcards, input))
    )


def hisat2_strandness(wildcards):
    """The library type in HISAT2's letters: that of both mates, or of single-end reads, the first letter.

    Where reads shall tell it, HISAT2 does not know it yet. Cufflinks then takes the strand of reads without a junction
    from the library type, as HISAT2 would have.
    """
    letters = {"fr-firststrand": "RF", "fr-secondstrand": "FR"}.get(config["strandedness"], "")
    letters = letters if is_paired(wildcards.sample) else letters[:1]
    return f"--rna-strandness {letters}" if letters else ""


def index_prefix(files):
    """What aligners call an index: the path of its first file (genome.1.ht2, genome.1.bt2) up to the number."""
    return str(files[0]).rsplit(".", 2)[0]


def tophat_files(wildcards, input):
    """Each FASTQ file with a plain name in the job's own folder: TopHat and Bowtie2 hand names to a shell."""
    return [
        [
            (fastq, f"fq{mate}_{number}.fq{'.gz' if fastq.endswith('.gz') else ''}")
            for number, fastq in enumerate(files, 1)
        ]
        for mate, files in enumerate(by_mate(wildcards, input), 1)
    ]


def tophat_links(wildcards, input):
    return "; ".join(
        f'ln -s "$(realpath -- {shlex.quote(fastq)})" "$tmp/{name}"'
        for lanes in tophat_files(wildcards, input)
        for fastq, name in lanes
    )


def tophat_reads(wildcards, input):
    """A comma list of R1, and one of R2 where there are pairs."""
    return " ".join(",".join(f'"$tmp/{name}"' for _, name in lanes) for lanes in tophat_files(wildcards, input))
