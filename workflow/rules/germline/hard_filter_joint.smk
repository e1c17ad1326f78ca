# In place of steps 8 and 9, as hard_filter.smk, by interval.


rule hard_filter_interval:
    """VariantFiltration of an interval of a joint call set."""
    input:
        **reference,
        **calls_of("genotype_gvcfs", "cohort"),
        interval=INTERVAL,
    output:
        temp("results/hard_filter_interval/{interval}.vcf.gz"),
    log:
        "logs/hard_filter_interval/{interval}.log",
    conda:
        "../../../envs/gatk4.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        pinned_step="hard_filter",
    params:
        java=java("VariantFiltration"),
        filters=filter_arguments(),
    shell:
        r"""
        gatk --java-options "{params.java}" VariantFiltration -R {input.fasta:q} -V {input.vcf:q} -L {input.interval:q} --variant-output-filtering STARTS_IN \
            {params.filters} --create-output-variant-index false --tmp-dir "$TMPDIR" -O {output:q} &>{log:q}
        """


use rule gather_genotypes as gather_hard_filter with:
    input:
        vcfs=expand("results/hard_filter_interval/{interval}.vcf.gz", interval=joint_intervals),
    output:
        **made_calls("hard_filter", "cohort"),
    log:
        "logs/gather_hard_filter/cohort.log",
    resources:
        mem_mb=1000,
        pinned_step="hard_filter",
