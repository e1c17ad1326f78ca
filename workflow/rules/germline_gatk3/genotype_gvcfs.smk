# Step 7, which takes the GVCFs of a whole cohort as they are. As published: 32 cores.


rule genotype_gvcfs:
    """GATK GenotypeGVCFs: the calls before filters, the final ones with `filter: none`."""
    input:
        **reference,
        **DBSNP,
        gvcfs=callset_gvcfs,
        tbis=lambda wildcards: [f"{gvcf}.tbi" for gvcf in callset_gvcfs(wildcards)],
        intervals=regions,
        called=CALLED,
        gates=gates() if config["calling"] == "joint" else [],
    output:
        **made_calls("genotype_gvcfs"),
    log:
        "logs/genotype_gvcfs/{callset}.log",
    conda:
        "../../../envs/gatk3.yaml"
    threads: 32
    resources:
        mem_mb=16000,
        shard_mib=1,
    params:
        **scatter_parameters(),
        **GATK3,
        **own_arguments("genotype_gvcfs"),
        dbsnp=names_ids,
        gvcfs=lambda wildcards, input: repeat("-V", input.gvcfs),
    shell:
        r"""
        {params.scatter} --over {input.gvcfs[0]:q} --intervals {input.called:q} --regions={input.intervals:q} \
            --suffix .vcf.gz --gather vcf --out {output.vcf:q} --log {log:q} {params.scattering} -- \
            {params.gatk3} -T GenotypeGVCFs {params.dbsnp} {params.own} -nt @threads -R {input.fasta:q} {params.gvcfs} @regions \
            -o @shard &>{log:q}
        """
