# Step 5. GATK 4's walkers run on one thread. As published, with GATK 3: 32 cores.


rule base_recalibrator:
    """GATK BaseRecalibrator, not with `bqsr: none`: the recalibration table."""
    input:
        **alignment_of(deduplicated_by),
        **reference,
        known=known_sites,
        known_index=[f"{vcf}.tbi" for vcf in known_sites],
        intervals=regions,
        called=CALLED,
    output:
        for_multiqc("results/base_recalibrator/{sample}.table"),
    log:
        "logs/base_recalibrator/{sample}.log",
    conda:
        f"../../../envs/{config['gatk']}.yaml"
    threads: by_gatk(1, 32)
    resources:
        mem_mb=by_gatk(2000, gatk3_mb),
        shard_mib=10,  # to gather two tables takes 2 s
        pinned_step="base_recalibration",
    params:
        **scatter_parameters("BaseRecalibrator"),
        **own_arguments("base_recalibrator"),
        **started("BaseRecalibrator"),
        known=lambda wildcards, input: repeat(by_gatk("--known-sites", "-knownSites"), input.known),
        intervals=lambda wildcards, input: repeat("-L", input.intervals),
    # GATK 3 puts no tables together
    shell:
        by_gatk(
            gatk4=r"""
        {params.scatter} --over {input.bam:q} --intervals {input.called:q} --regions={input.intervals:q} \
            --suffix .table --gather report --out {output:q} --log {log:q} {params.scattering} -- \
            gatk --java-options "{params.java}" BaseRecalibrator {params.own} -R {input.fasta:q} -I {input.bam:q} \
            {params.known} @regions --tmp-dir "$TMPDIR" -O @shard &>{log:q}
        """,
            gatk3=r"""
        {params.gatk3} -T BaseRecalibrator {params.own} -nct {threads} -R {input.fasta:q} -I {input.bam:q} \
            {params.known} {params.intervals} -o {output:q} &>{log:q}
        """,
        )


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
        f"../../../envs/{config['gatk']}.yaml"
    threads: by_gatk(1, 32)
    resources:
        mem_mb=by_gatk(2000, gatk3_mb),
        shard_mib=4,
    params:
        **scatter_parameters("ApplyBQSR"),
        **checks("reads/count_reads.py"),
        **own_arguments("base_recalibration"),
        **started("ApplyBQSR"),
    # The regions that are called play no part here: the final alignment keeps every read.
    shell:
        by_gatk(
            gatk4=r"""
        (
            {params.scatter} --over {input.bam:q} --intervals {input.n_free:q} --unmapped --copied \
                --suffix .bam --gather bam --out {output.bam:q} --log {log:q} {params.scattering} -- \
                gatk --java-options "{params.java}" ApplyBQSR {params.own} -R {input.fasta:q} -I {input.bam:q} @regions \
                --bqsr-recal-file {input.table:q} --tmp-dir "$TMPDIR" -O @shard
            {params.count_reads} sample --bam {output.bam:q} {input.counts:q}
        ) &>{log:q}
        """,
            gatk3=r"""
        (
            {params.scatter} --over {input.bam:q} --intervals {input.n_free:q} --unmapped --copied \
                --suffix .bam --gather bam --out {output.bam:q} --log {log:q} {params.scattering} -- \
                {params.gatk3} -T PrintReads {params.own} -nct @threads -R {input.fasta:q} -I {input.bam:q} @regions \
                -BQSR {input.table:q} -o @shard
            {params.count_reads} sample --bam {output.bam:q} {input.counts:q}
        ) &>{log:q}
        """,
        )
