# Step 2. Reads all units of a sample at once, so they need no merging pass of their own.
# As published: 13 cores.


rule mark_duplicates:
    input:
        unit_bams,
    output:
        bam=temp("results/mark_duplicates/{sample}.bam"),
        bai=temp("results/mark_duplicates/{sample}.bam.bai"),
    log:
        "logs/mark_duplicates/{sample}.log",
    conda:
        "../../../envs/sambamba.yaml"
    threads: 13
    resources:
        mem_mb=8000,
    # The larger tables keep a human genome from spilling into thousands of temporary files.
    shell:
        bound(
            "mark_duplicates",
            """
            sambamba markdup -t {threads} -l 1 --hash-table-size 1048576 --overflow-list-size 600000 \\
                --tmpdir "$TMPDIR" {input:q} {output.bam:q}
            """,
        )
