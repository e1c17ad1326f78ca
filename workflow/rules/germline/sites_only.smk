# What models see of a joint call set: its sites without genotypes, for they need no more, and a cohort's genotypes are nearly
# all of its call set. Sites where more samples are heterozygous than chance allows, as where reads of two loci are mapped
# to one, are marked, and VQSR and VETS pass over them. Single samples have no such filter: one alone shows no excess.

# 54.69 as in the Broad Institute's pipelines: a p-value of 3.4e-6 on the Phred scale
EXCESS_HET = "--filter-name ExcessHet --filter-expression 'ExcessHet > 54.69'"


rule sites_only:
    """Sites without genotypes of an interval, for VQSR and VETS; excess heterozygosity is marked."""
    input:
        **reference,
        **calls_of("genotype_gvcfs", "cohort"),
        interval=INTERVAL,
    output:
        temp("results/sites_only/{interval}.vcf.gz"),
    log:
        "logs/sites_only/{interval}.log",
    conda:
        "../../../envs/gatk4.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        pinned_step=modelled_by,
    params:
        java=java("VariantFiltration"),
        excess_het=EXCESS_HET,
    shell:
        r"""
        gatk --java-options "{params.java}" VariantFiltration -R {input.fasta:q} -V {input.vcf:q} -L {input.interval:q} --variant-output-filtering STARTS_IN \
            {params.excess_het} --sites-only-vcf-output --create-output-variant-index false \
            --tmp-dir "$TMPDIR" -O {output:q} &>{log:q}
        """


use rule gather_genotypes as gather_sites with:
    input:
        vcfs=expand("results/sites_only/{interval}.vcf.gz", interval=joint_intervals),
    output:
        **calls_of("sites_only", "cohort"),
    log:
        "logs/gather_sites/cohort.log",
    resources:
        mem_mb=1000,
        pinned_step=modelled_by,
