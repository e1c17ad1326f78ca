# In place of steps 8 and 9 where variants are too few for VQSR. One walk over the call set: each expression is guarded
# by the kind of variant it is meant for, so nothing is split and merged again.


rule hard_filter:
    input:
        **reference,
        **calls_of("genotype_gvcfs"),
    output:
        **calls_of("hard_filter"),
    conda:
        "../../../envs/gatk3.yaml"
    threads: 1
    resources:
        mem_mb=4000,
    params:
        **GATK3,
        filters=filter_arguments("--filterName", "--filterExpression"),
    shell:
        bound(
            "hard_filter",
            """
            {params.gatk3} -T VariantFiltration -R {input.fasta:q} -V {input.vcf:q} {params.filters} -o {output.vcf:q}
            """,
        )
