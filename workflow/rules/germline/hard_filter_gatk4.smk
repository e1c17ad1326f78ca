# In place of steps 8 and 9 where variants are too few for VQSR. One walk over the call set: each expression is guarded
# by the kind of variant it is meant for, so nothing is split and merged again.


rule hard_filter:
    input:
        **reference,
        vcf="results/genotype_gvcfs/{callset}.vcf.gz",
        tbi="results/genotype_gvcfs/{callset}.vcf.gz.tbi",
    output:
        vcf="results/hard_filter/{callset}.vcf.gz",
        tbi="results/hard_filter/{callset}.vcf.gz.tbi",
    log:
        "logs/hard_filter/{callset}.log",
    conda:
        "../../../envs/gatk4.yaml"
    threads: 1
    resources:
        mem_mb=4000,
    params:
        java=java,
        filters=filter_arguments("--filter-name", "--filter-expression"),
    shell:
        bound(
            "hard_filter",
            """
            gatk --java-options "{params.java}" VariantFiltration -R {input.fasta:q} -V {input.vcf:q} \\
                {params.filters} --tmp-dir "$TMPDIR" -O {output.vcf:q}
            """,
        )
