# Step 7, of a sample alone.


rule genotype_gvcfs:
    """GATK GenotypeGVCFs: the calls before filters, the final ones with `filter: none`."""
    input:
        **reference,
        **DBSNP,
        **gvcf_of(called_by, "{callset}"),
        intervals=regions,
        called=CALLED,
    output:
        **made_calls("genotype_gvcfs"),
    log:
        "logs/genotype_gvcfs/{callset}.log",
    conda:
        "../../../envs/gatk4.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        shard_mib=1,
    params:
        **scatter_parameters(),
        **own_arguments("genotype_gvcfs"),
        dbsnp=names_ids,
        java=java,
    shell:
        r"""
        {params.scatter} --over {input.gvcf:q} --intervals {input.called:q} --regions={input.intervals:q} \
            --suffix .vcf.gz --gather vcf --out {output.vcf:q} --log {log:q} {params.scattering} -- \
            gatk --java-options "{params.java}" GenotypeGVCFs {params.dbsnp} {params.own} -R {input.fasta:q} -V {input.gvcf:q} @regions \
            --tmp-dir "$TMPDIR" -O @shard &>{log:q}
        """
