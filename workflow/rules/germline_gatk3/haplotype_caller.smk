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
        **GATK3,
        **own_arguments("haplotype_caller"),
    shell:
        scattered(
            "haplotype_caller",
            """
            {params.gatk3} -T HaplotypeCaller {params.own} -nct $GPD_THREADS -R {input.fasta:q} -I {input.bam:q} \\
                --emitRefConfidence GVCF "${{regions[@]}}" -o "$shard"
            """,
            gather=GATHER_GVCF,
            over="{input.bam:q}",
            whole="{output.gvcf:q}",
            suffix=".g.vcf.gz",
            n_free="{input.called:q}",
            options="--intervals={input.intervals:q} --clip {input.fasta:q}",
        )
