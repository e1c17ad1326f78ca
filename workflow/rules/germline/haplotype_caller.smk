# Step 6, in GVCF mode. Threads serve GATK 4's pair-HMM alone; a second one costs CPU and gains little. As published, with
# GATK 3: 16 cores.


rule haplotype_caller:
    """GATK HaplotypeCaller: the sample's GVCF, for joint calling later."""
    input:
        **reference,
        **alignment_of(aligned_by),
        intervals=regions,
        called=CALLED,
        ploidy=ploidy_regions,
        sex=[ancient("results/sex_check/{sample}.tsv")] if checks_sex else [],
        str_model=str_model,
    output:
        **lasting(gvcf_of("haplotype_caller"), called_by == "haplotype_caller"),
    log:
        "logs/haplotype_caller/{sample}.log",
    conda:
        f"../../../envs/{config['gatk']}.yaml"
    threads: by_gatk(1, 16)
    resources:
        mem_mb=by_gatk(calling_mb, gatk3_mb),
        shard_mib=4,
    params:
        **scatter_parameters("HaplotypeCaller", "intervals/join_gvcf.py"),
        **own_arguments("haplotype_caller"),
        **started("HaplotypeCaller"),
        dragen_mode=dragen_mode,
        ploidy=lambda wildcards: repeat("--ploidy-regions", ploidy_regions(wildcards)),
    shell:
        by_gatk(
            gatk4=r"""
        {params.scatter} --over {input.bam:q} --intervals {input.called:q} --regions={input.intervals:q} \
            --suffix .g.vcf.gz --gather gvcf --out {output.gvcf:q} --log {log:q} {params.scattering} -- \
            gatk --java-options "{params.java}" HaplotypeCaller {params.own} -R {input.fasta:q} -I {input.bam:q} -ERC GVCF \
            {params.dragen_mode} --native-pair-hmm-threads @threads @regions {params.ploidy} \
            --tmp-dir "$TMPDIR" -O @shard &>{log:q}
        """,
            gatk3=r"""
        {params.scatter} --over {input.bam:q} --intervals {input.called:q} --regions={input.intervals:q} \
            --suffix .g.vcf.gz --gather gvcf --out {output.gvcf:q} --log {log:q} {params.scattering} -- \
            {params.gatk3} -T HaplotypeCaller {params.own} -nct @threads -R {input.fasta:q} -I {input.bam:q} \
            --emitRefConfidence GVCF @regions -o @shard &>{log:q}
        """,
        )
