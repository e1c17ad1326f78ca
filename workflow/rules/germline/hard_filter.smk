# In place of steps 8 and 9 where variants are too few for VQSR. One walk over the call set: each expression is guarded
# by the kind of variant it is meant for, so nothing is split and merged again.


rule hard_filter:
    """GATK VariantFiltration, with `filter: hard`: the final calls, with filters named in FILTER."""
    input:
        **reference,
        **calls_of(genotyped_by),
    output:
        **made_calls("hard_filter"),
    log:
        "logs/hard_filter/{callset}.log",
    conda:
        f"../../../envs/{config['gatk']}.yaml"
    threads: 1
    resources:
        mem_mb=2000,
    params:
        **started("VariantFiltration"),
        filters=filter_arguments(),
    shell:
        by_gatk(
            gatk4=r"""
        gatk --java-options "{params.java}" VariantFiltration -R {input.fasta:q} -V {input.vcf:q} \
            {params.filters} --tmp-dir "$TMPDIR" -O {output.vcf:q} &> {log:q}
        """,
            gatk3="""
        {params.gatk3} -T VariantFiltration -R {input.fasta:q} -V {input.vcf:q} {params.filters} -o {output.vcf:q} &> {log:q}
        """,
        )
