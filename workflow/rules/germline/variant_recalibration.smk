# Step 8: SNPs and indels get a model each, of the unfiltered calls. As published: 1 core.


rule variant_recalibration:
    """GATK VariantRecalibrator, with `filter: vqsr`: models of SNPs and of indels, and their tranches."""
    input:
        unpack(vqsr_resources),
        **reference,
        **calls_of("sites_only" if joint else "genotype_gvcfs"),
    output:
        recal="results/variant_recalibration/{callset}.{mode}.recal",
        idx="results/variant_recalibration/{callset}.{mode}.recal.idx",
        tranches="results/variant_recalibration/{callset}.{mode}.tranches",
    log:
        "logs/variant_recalibration/{callset}.{mode}.log",
    conda:
        f"../../../envs/{config['gatk']}.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards: vqsr_mb(),
    params:
        **scripts("germline/find_model.py"),
        **GATK,
        gatk_mode=lambda wildcards: GATK_MODE[wildcards.mode],
        resources=resource_arguments(by_gatk("--resource", "-resource")),
        resource_settings=lambda wildcards: config["vqsr"][wildcards.mode]["resources"],
        annotations=lambda wildcards: repeat("-an", config["vqsr"][wildcards.mode]["annotations"]),
        tranches=tranches,
        gaussians=gaussians,
    shell:
        by_gatk(
            gatk4=r"""
        {params.find_model} --vcf {input.vcf:q} --mode {wildcards.mode} --callset {wildcards.callset:q} \
            --gaussians {params.gaussians} -- \
            gatk --java-options "{params.java}" VariantRecalibrator -R {input.fasta:q} -V {input.vcf:q} \
            {params.resources} {params.annotations} {params.tranches} -mode {params.gatk_mode} \
            --max-gaussians @gaussians --tmp-dir "$TMPDIR" \
            -O {output.recal:q} --tranches-file {output.tranches:q} &> {log:q}
        """,
            gatk3=r"""
        {params.find_model} --vcf {input.vcf:q} --mode {wildcards.mode} --callset {wildcards.callset:q} \
            --gaussians {params.gaussians} -- \
            {params.gatk3} -T VariantRecalibrator -R {input.fasta:q} -input {input.vcf:q} \
            {params.resources} {params.annotations} {params.tranches} -mode {params.gatk_mode} \
            --maxGaussians @gaussians -recalFile {output.recal:q} -tranchesFile {output.tranches:q} &> {log:q}
        """,
        )
