# Step 9, GATK 3: SNPs, then indels. As published: 1 core.


rule apply_variant_recalibration:
    input:
        **reference,
        vcf="results/genotype_gvcfs/{callset}.vcf.gz",
        tbi="results/genotype_gvcfs/{callset}.vcf.gz.tbi",
        snps_recal="results/variant_recalibration/{callset}.snps.recal",
        snps_idx="results/variant_recalibration/{callset}.snps.recal.idx",
        snps_tranches="results/variant_recalibration/{callset}.snps.tranches",
        indels_recal="results/variant_recalibration/{callset}.indels.recal",
        indels_idx="results/variant_recalibration/{callset}.indels.recal.idx",
        indels_tranches="results/variant_recalibration/{callset}.indels.tranches",
    output:
        snps=temp("results/apply_variant_recalibration/snps/{callset}.vcf.gz"),
        snps_tbi=temp("results/apply_variant_recalibration/snps/{callset}.vcf.gz.tbi"),
        vcf="results/apply_variant_recalibration/{callset}.vcf.gz",
        tbi="results/apply_variant_recalibration/{callset}.vcf.gz.tbi",
    log:
        "logs/apply_variant_recalibration/{callset}.log",
    conda:
        "../../../envs/gatk3.yaml"
    threads: 1
    resources:
        mem_mb=4000,
    params:
        gatk3=gatk3,
        gatk3_jar=config["gatk3_jar"],
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
