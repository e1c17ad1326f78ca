# Step 5. As published: 32 cores.


rule base_recalibrator:
    """GATK BaseRecalibrator, not with `bqsr: none`: the recalibration table."""
    input:
        **alignment_of(deduplicated_by),
        **reference,
        known=known_sites,
        known_index=[f"{vcf}.tbi" for vcf in known_sites],
        intervals=regions,
    output:
        for_multiqc("results/base_recalibrator/{sample}.table"),
    log:
        "logs/base_recalibrator/{sample}.log",
    conda:
        "../../../envs/gatk3.yaml"
    threads: 32
    resources:
        mem_mb=gatk3_mb,
        pinned_step="base_recalibration",
    params:
        **GATK3,
        **own_arguments("base_recalibrator"),
        known=lambda wildcards, input: repeat("-knownSites", input.known),
        intervals=lambda wildcards, input: repeat("-L", input.intervals),
    shell:
        r"""
        {params.gatk3} -T BaseRecalibrator {params.own} -nct {threads} -R {input.fasta:q} -I {input.bam:q} \
            {params.known} {params.intervals} -o {output:q} &>{log:q}
        """


rule base_recalibration:
    """GATK ApplyBQSR (GATK 3: PrintReads), not with `bqsr: none`: the final alignments, sorted, duplicates marked,
    qualities recalibrated."""
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
        **scatter_parameters(),
        **checks("reads/count_reads.py"),
        **GATK3,
        **own_arguments("base_recalibration"),
    # The regions that are called play no part here: the final alignment keeps every read.
    shell:
        r"""
        (
            {params.scatter} --over {input.bam:q} --intervals {input.n_free:q} --unmapped --copied \
                --suffix .bam --gather bam --out {output.bam:q} --log {log:q} {params.scattering} -- \
                {params.gatk3} -T PrintReads {params.own} -nct @threads -R {input.fasta:q} -I {input.bam:q} @regions \
                -BQSR {input.table:q} -o @shard
            {params.count_reads} sample --bam {output.bam:q} {input.counts:q}
        ) &>{log:q}
        """
