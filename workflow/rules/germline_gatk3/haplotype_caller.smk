# Step 6, in GVCF mode. As published: 16 cores.


rule haplotype_caller:
    input:
        **reference,
        **alignment_of(aligned_by),
        intervals=regions,
        called=CALLED,
    output:
        gvcf="results/haplotype_caller/{sample}.g.vcf.gz",
        tbi="results/haplotype_caller/{sample}.g.vcf.gz.tbi",
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
