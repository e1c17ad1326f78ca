# Step 2, sambamba. Reads all units of a sample at once, so they need no merging pass of their own. Supplementary alignments
# stay unmarked. As published: 13 cores.


rule mark_duplicates:
    """sambamba or samtools markdup: joins the lanes and counts duplicates. With `bqsr: none` its alignments are the
    final ones."""
    input:
        bams=unit_bams,
        counts=unit_counts,
    output:
        **made_alignment("mark_duplicates"),
        metrics=for_multiqc("results/mark_duplicates/{sample}.txt"),
    log:
        "logs/mark_duplicates/{sample}.log",
    conda:
        "../../../envs/bwa.yaml"  # whether the final alignment is whole, samtools says
    threads: 13
    resources:
        mem_mb=8000,
    params:
        **checks("reads/count_reads.py"),
        min_mapped=min_mapped,
        is_final=is_final("mark_duplicates"),
    # The larger tables keep a human genome from spilling into thousands of temporary files. It prints its counts and writes no file of them.
    shell:
        r"""
        (
            {params.count_reads} mapped --least {params.min_mapped} {wildcards.sample:q} {input.counts:q}
            sambamba markdup -t {threads} -l 1 --hash-table-size 1048576 --overflow-list-size 600000 \
                --tmpdir "$TMPDIR" {input.bams:q} {output.bam:q} 2>&1 | tee {output.metrics:q}
            if {params.is_final}; then {params.count_reads} sample --bam {output.bam:q} {input.counts:q}; fi
        ) &>{log:q}
        """
