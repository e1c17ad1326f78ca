# Step 5. All conditions against each other, or each contrast by itself. Its longest part, the correction of the dispersion
# model (scv_correction), runs on one thread, 10 to 20 CPU seconds a replicate whatever the data; the log has the hour at
# which each part began.

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


tell_of_correction()


def comparing_threads(wildcards):
    """The threads of a comparison: its share of the cores but one, on which samples are judged meanwhile.

    On a cluster, and where nothing holds up the other threads for long, it has all that it may have.
    """
    if submits or not corrects:
        return MOST_THREADS
    share = ((workflow.cores or MOST_THREADS) - 1) // max(1, len(contrasts))
    return min(MOST_THREADS, max(1, share))


rule differential_expression:
    """Cuffdiff, of two conditions and more: its tables, `gene_exp.diff` among them."""
    input:
        cxb=lambda wildcards: expand("results/quantify/{sample}.cxb", sample=compared_samples(wildcards)),
        transcripts=transcripts,
        fasta="results/reference/genome.fa",
        library=LIBRARY_TYPE,
        gates=gates(),
    output:
        [result(f"{COMPARISON}/{table}") for table in TABLES],
    log:
        f"logs/differential_expression{EACH or '/cuffdiff'}.log",
    conda:
        "../../../envs/cufflinks.yaml"
    threads: comparing_threads
    resources:
        mem_mb=16000,
    params:
        **checks("tuxedo/cuffdiff_tables.py"),
        labels=lambda wildcards: ",".join(compared_conditions(wildcards)),
        groups=lambda wildcards: list(compared_conditions(wildcards).values()),
        replicates=replicates,
        folder=lambda wildcards, output: str(Path(output[0]).parent),
        library=LIBRARY,
        normalization=config["cuffdiff"]["library_norm_method"],
        dispersion=config["cuffdiff"]["dispersion_method"],
        correction="" if config["cuffdiff"]["scv_correction"] else "--no-scv-correction",
        fdr=config["cuffdiff"]["fdr"],
        min_alignments=config["cuffdiff"]["min_alignment_count"],
    # Its threads read a tree that others write (helgrind shows it): once in thousands of runs one of them crashes. One
    # thread alone can't. A build of cuffdiff that crashes at its end leaves tables that are empty or cut off, so they are
    # looked at too. Of its progress sed leaves the lines with times, and drops a bar that is drawn anew for each locus.
    shell:
        r"""
        (
            library=$(cat {input.library:q})
            folder={params.folder:q} fasta={input.fasta:q} threads={threads}
            compare() (
                cuffdiff --no-update-check -p "$threads" --library-type "$library" {params.library} -L {params.labels:q} \
                    --library-norm-method {params.normalization} --dispersion-method {params.dispersion} {params.correction} \
                    --FDR {params.fdr} --min-alignment-count {params.min_alignments} \
                    -o "$folder" {input.transcripts:q} {params.replicates} 2>&1 \
                    | sed -u 's/.*\r//; /^> Process/d'
            )
            status=0
            compare || status=$?
            if [ "$status" -eq 139 ] && [ "$threads" -gt 1 ]; then
                echo "cuffdiff crashed on $threads threads, and begins anew on one"
                status=0
                threads=1 compare || status=$?
            fi
            {params.cuffdiff_tables} {params.labels:q} "$folder"
            exit "$status"
        ) &>{log:q}
        """
