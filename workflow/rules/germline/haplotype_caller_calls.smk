# Step 6 without GVCF mode (gvcf: false): it genotypes, too, so that there is no step 7.


rule haplotype_caller:
    """GATK HaplotypeCaller: the sample's GVCF, for joint calling later; with `gvcf: false` its calls at once."""
    input:
        **reference,
        **DBSNP,
        **alignment_of(aligned_by),
        intervals=regions,
        called=CALLED,
        ploidy=ploidy_regions,
        sex=[ancient("results/sex_check/{sample}.tsv")] if checks_sex else [],
        str_model=str_model,
    output:
        **made_calls("haplotype_caller", "{sample}"),
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
        dbsnp=names_ids,
        ploidy=lambda wildcards: repeat("--ploidy-regions", ploidy_regions(wildcards)),
    shell:
        r"""
        {params.scatter} --over {input.bam:q} --intervals {input.called:q} --regions={input.intervals:q} \
            --suffix .vcf.gz --gather vcf --out {output.vcf:q} --log {log:q} {params.scattering} -- \
            gatk --java-options "{params.java}" HaplotypeCaller {params.dbsnp} {params.own} -R {input.fasta:q} -I {input.bam:q} \
            """ + DRAGEN_MODE + r"""--native-pair-hmm-threads @threads @regions {params.ploidy} \
            --tmp-dir "$TMPDIR" -O @shard &>{log:q}
        """
