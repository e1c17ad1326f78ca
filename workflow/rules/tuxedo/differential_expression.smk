# Step 5. All conditions against each other, or each contrast by itself. Its longest part, the correction of the dispersion
# model (scv_correction), runs on one thread, 10 to 20 CPU seconds a replicate whatever the data; the log has the hour at
# which each part began.

tell_of_correction()


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
        f"logs/differential_expression/{CONTRAST or 'cuffdiff'}.log",
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
