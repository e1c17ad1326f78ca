# Step 6, in GVCF mode. Threads serve its pair-HMM alone; a second one costs CPU and gains little.


rule haplotype_caller:
    """GATK HaplotypeCaller: the sample's GVCF, for joint calling later."""
    input:
        **reference,
        **alignment_of(aligned_by),
        intervals=regions,
        called=CALLED,
        ploidy=ploidy_regions,
        sex=[ancient("results/sex_check/{sample}.tsv")] if checks_sex else [],
    output:
        **lasting(gvcf_of("haplotype_caller"), called_by == "haplotype_caller"),
    log:
        "logs/haplotype_caller/{sample}.log",
    conda:
        "../../../envs/gatk4.yaml"
    threads: 1
    resources:
        mem_mb=calling_mb,
        shard_mib=4,
    params:
        **scatter_parameters(),
        **own_arguments("haplotype_caller"),
        java=java,
        ploidy=lambda wildcards: repeat("--ploidy-regions", ploidy_regions(wildcards)),
    shell:
        r"""
        {params.scatter} --over {input.bam:q} --intervals {input.called:q} --regions={input.intervals:q} \
            --suffix .g.vcf.gz --gather gvcf --out {output.gvcf:q} --log {log:q} {params.scattering} -- \
            gatk --java-options "{params.java}" HaplotypeCaller {params.own} -R {input.fasta:q} -I {input.bam:q} -ERC GVCF \
            --native-pair-hmm-threads @threads @regions {params.ploidy} \
            --tmp-dir "$TMPDIR" -O @shard &>{log:q}
        """
