# Step 8, GATK 3: SNPs and indels get a model each, of the unfiltered calls. As published: 1 core.


rule variant_recalibration:
    input:
        unpack(vqsr_resources),
        **reference,
        vcf="results/genotype_gvcfs/{callset}.vcf.gz",
        tbi="results/genotype_gvcfs/{callset}.vcf.gz.tbi",
    output:
        recal="results/variant_recalibration/{callset}.{mode}.recal",
        idx="results/variant_recalibration/{callset}.{mode}.recal.idx",
        tranches="results/variant_recalibration/{callset}.{mode}.tranches",
    log:
        "logs/variant_recalibration/{callset}.{mode}.log",
    conda:
        "../../../envs/gatk3.yaml"
    threads: 1
    resources:
        mem_mb=8000,
    params:
        gatk3=gatk3,
        gatk3_jar=config["gatk3_jar"],
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
