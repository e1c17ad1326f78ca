# Steps 8 and 9. SNPs and indels get a model each, of the unfiltered calls. As published: 1 core.


rule variant_recalibration:
    input:
        unpack(vqsr_resources),
        **reference,
        **calls_of("genotype_gvcfs"),
    output:
        recal="results/variant_recalibration/{callset}.{mode}.recal",
        idx="results/variant_recalibration/{callset}.{mode}.recal.idx",
        tranches="results/variant_recalibration/{callset}.{mode}.tranches",
    conda:
        "../../../envs/gatk3.yaml"
    threads: 1
    resources:
        mem_mb=8000,
    params:
        **GATK3,
        gatk_mode=lambda wildcards: GATK_MODE[wildcards.mode],
        resources=resource_arguments("-resource"),
        resource_settings=lambda wildcards: config["vqsr"][wildcards.mode]["resources"],
        annotations=lambda wildcards: repeat("-an", config["vqsr"][wildcards.mode]["annotations"]),
        tranches=tranches,
        gaussians=gaussians,
    shell:
        bound(
            "variant_recalibration",
            with_fewer_gaussians("""
                {params.gatk3} -T VariantRecalibrator -R {input.fasta:q} -input {input.vcf:q} \\
                    {params.resources} {params.annotations} {params.tranches} -mode {params.gatk_mode} \\
                    --maxGaussians $gaussians -recalFile {output.recal:q} -tranchesFile {output.tranches:q}
                """),
        )


rule apply_variant_recalibration:
    input:
        **reference,
        **calls_of("genotype_gvcfs"),
        **models(),
    output:
        **calls_of("apply_variant_recalibration"),
        snps=temp("results/apply_variant_recalibration/snps/{callset}.vcf.gz"),
        snps_tbi=temp("results/apply_variant_recalibration/snps/{callset}.vcf.gz.tbi"),
    conda:
        "../../../envs/gatk3.yaml"
    threads: 1
    resources:
        mem_mb=4000,
    params:
        **GATK3,
        snp_sensitivity=config["vqsr"]["snps"]["sensitivity"],
        indel_sensitivity=config["vqsr"]["indels"]["sensitivity"],
    shell:
        bound(
            "apply_variant_recalibration",
            """
            {params.gatk3} -T ApplyRecalibration -R {input.fasta:q} -input {input.vcf:q} \\
                -recalFile {input.snps_recal:q} -tranchesFile {input.snps_tranches:q} -mode SNP \\
                --ts_filter_level {params.snp_sensitivity} -o {output.snps:q}
            {params.gatk3} -T ApplyRecalibration -R {input.fasta:q} -input {output.snps:q} \\
                -recalFile {input.indels_recal:q} -tranchesFile {input.indels_tranches:q} -mode INDEL \\
                --ts_filter_level {params.indel_sensitivity} -o {output.vcf:q}
            """,
        )
