# Step 6, in GVCF mode. As published: 16 cores.


rule haplotype_caller:
    """GATK HaplotypeCaller: the sample's GVCF, for joint calling later."""
    input:
        **reference,
        **alignment_of(aligned_by),
        intervals=regions,
        called=CALLED,
    output:
        **lasting(gvcf_of("haplotype_caller"), True),
    log:
        "logs/haplotype_caller/{sample}.log",
    conda:
        "../../../envs/gatk3.yaml"
    threads: 16
    resources:
        mem_mb=gatk3_mb,
        shard_mib=4,
    params:
        **scatter_parameters(),
        **GATK3,
        **own_arguments("haplotype_caller"),
    shell:
        r"""
        {params.scatter} --over {input.bam:q} --intervals {input.called:q} --regions={input.intervals:q} \
            --suffix .g.vcf.gz --gather gvcf --out {output.gvcf:q} --log {log:q} {params.scattering} -- \
            {params.gatk3} -T HaplotypeCaller {params.own} -nct @threads -R {input.fasta:q} -I {input.bam:q} \
            --emitRefConfidence GVCF @regions -o @shard &>{log:q}
        """
