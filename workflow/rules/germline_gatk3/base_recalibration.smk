# Step 5. As published: 32 cores.


rule base_recalibrator:
    input:
        **alignment_of(deduplicated_by),
        **reference,
        known=known_sites,
        known_index=[f"{vcf}.tbi" for vcf in known_sites],
        intervals=regions,
    output:
        "results/base_recalibrator/{sample}.table",
    log:
        "logs/base_recalibrator/{sample}.log",
    conda:
        "../../../envs/gatk3.yaml"
    threads: 32
    resources:
        mem_mb=gatk3_mb,
    params:
        **GATK3,
        **own_arguments("base_recalibrator"),
        known=lambda wildcards, input: repeat("-knownSites", input.known),
        intervals=lambda wildcards, input: repeat("-L", input.intervals),
    shell:
        bound(
            "base_recalibration",
            """
            {params.gatk3} -T BaseRecalibrator {params.own} -nct {threads} -R {input.fasta:q} -I {input.bam:q} \\
                {params.known} {params.intervals} -o {output:q}
            """,
            rule="base_recalibrator",
        )


rule base_recalibration:
    input:
        **alignment_of(deduplicated_by),
        **reference,
        table="results/base_recalibrator/{sample}.table",
        n_free=N_FREE,
        counts=unit_counts,
    output:
        **made_alignment("base_recalibration"),
    log:
        "logs/base_recalibration/{sample}.log",
    conda:
        "../../../envs/gatk3.yaml"
    threads: 32
    resources:
        mem_mb=gatk3_mb,
        shard_mib=16,
    params:
        **GATK3,
        **own_arguments("base_recalibration"),
    # The regions that are called play no part here: the final alignment keeps every read.
    shell:
        scattered(
            "base_recalibration",
            """
            {params.gatk3} -T PrintReads {params.own} -nct $GPD_THREADS -R {input.fasta:q} -I {input.bam:q} "${{regions[@]}}" \\
                -BQSR {input.table:q} -o "$shard"
            """,
            gather=GATHER_BAM,
            finish="""
            {params.python} "$GPD_READS" sample --bam {output.bam:q} {input.counts:q}
            """,
            over="{input.bam:q}",
            whole="{output.bam:q}",
            suffix=".bam",
            n_free="{input.n_free:q}",
            options="--unmapped --copied",
        )
