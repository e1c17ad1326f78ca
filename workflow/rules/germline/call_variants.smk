# Step 6 without GVCF mode (gvcf: false): it genotypes, too, so that there is no step 7.


rule call_variants:
    """GATK HaplotypeCaller, with `gvcf: false`: the sample's calls before filters, the final ones with `filter: none`."""
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
        **made_calls("call_variants", "{sample}"),
    log:
        "logs/call_variants/{sample}.log",
    conda:
        "../../../envs/gatk4.yaml"
    threads: 1
    resources:
        mem_mb=calling_mb,
        shard_mib=4,
        pinned_step="haplotype_caller",
    params:
        **scatter_parameters("HaplotypeCaller"),
        **own_arguments("haplotype_caller"),
        java=java("HaplotypeCaller"),
        dbsnp=names_ids,
        dragen_mode=dragen_mode,
        ploidy=lambda wildcards: repeat("--ploidy-regions", ploidy_regions(wildcards)),
    shell:
        r"""
        {params.scatter} --over {input.bam:q} --intervals {input.called:q} --regions={input.intervals:q} \
            --suffix .vcf.gz --gather vcf --out {output.vcf:q} --log {log:q} {params.scattering} -- \
            gatk --java-options "{params.java}" HaplotypeCaller {params.dbsnp} {params.own} -R {input.fasta:q} -I {input.bam:q} \
            {params.dragen_mode} --native-pair-hmm-threads @threads @regions {params.ploidy} \
            --tmp-dir "$TMPDIR" -O @shard &>{log:q}
        """
