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
        gatk_mode=lambda wildcards: GATK_MODE[wildcards.mode],
        resources=resource_arguments("-resource"),
        annotations=lambda wildcards: repeat("-an", config["vqsr"][wildcards.mode]["annotations"]),
        tranches=tranches,
        max_gaussians=lambda wildcards: config["vqsr"][wildcards.mode]["max_gaussians"],
    shell:
        bound(
            "variant_recalibration",
            """
            {params.gatk3} -T VariantRecalibrator -R {input.fasta:q} -input {input.vcf:q} \\
                {params.resources} {params.annotations} {params.tranches} -mode {params.gatk_mode} \\
                --maxGaussians {params.max_gaussians} -recalFile {output.recal:q} -tranchesFile {output.tranches:q} \\
            || {{ echo "error: VQSR found no model for the {wildcards.mode} of {wildcards.callset}, whose call set has" \\
                "$(gzip -cd {input.vcf:q} | grep -vc '^#') variants; it wants thousands of each kind. With fewer, set" \\
                "filter: hard in the config. GATK's own reason stands above." >&2; exit 1; }}
            """,
        )
