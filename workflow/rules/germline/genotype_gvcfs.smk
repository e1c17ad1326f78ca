# Step 7, of a sample alone; with GATK 3, which takes the GVCFs of a whole cohort as they are, of all. As published: 32 cores.


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
        f"../../../envs/{config['gatk']}.yaml"
    threads: by_gatk(1, 32)
    resources:
        mem_mb=by_gatk(2000, 16000),
        shard_mib=1,
    params:
        **scatter_parameters("GenotypeGVCFs"),
        **own_arguments("genotype_gvcfs"),
        **started("GenotypeGVCFs"),
        dbsnp=names_ids,
        gvcfs=lambda wildcards, input: repeat("-V", input.gvcfs),
    shell:
        by_gatk(
            gatk4=r"""
        {params.scatter} --over {input.gvcfs[0]:q} --intervals {input.called:q} --regions={input.intervals:q} \
            --suffix .vcf.gz --gather vcf --out {output.vcf:q} --log {log:q} {params.scattering} -- \
            gatk --java-options "{params.java}" GenotypeGVCFs {params.dbsnp} {params.own} -R {input.fasta:q} {params.gvcfs} @regions \
            --tmp-dir "$TMPDIR" -O @shard &>{log:q}
        """,
            gatk3=r"""
        {params.scatter} --over {input.gvcfs[0]:q} --intervals {input.called:q} --regions={input.intervals:q} \
            --suffix .vcf.gz --gather vcf --out {output.vcf:q} --log {log:q} {params.scattering} -- \
            {params.gatk3} -T GenotypeGVCFs {params.dbsnp} {params.own} -nt @threads -R {input.fasta:q} {params.gvcfs} @regions \
            -o @shard &>{log:q}
        """,
        )
