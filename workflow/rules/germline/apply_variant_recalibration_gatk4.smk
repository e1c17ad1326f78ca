# Step 9, GATK 4: SNPs, then indels. As published: 1 core.


rule apply_variant_recalibration:
    input:
        **reference,
        vcf="results/genotype_gvcfs/{callset}.vcf.gz",
        tbi="results/genotype_gvcfs/{callset}.vcf.gz.tbi",
        snps=multiext("results/variant_recalibration/{callset}.snps", ".recal", ".recal.idx", ".tranches"),
        indels=multiext("results/variant_recalibration/{callset}.indels", ".recal", ".recal.idx", ".tranches"),
    output:
        snps=temp("results/apply_variant_recalibration/{callset}.snps.vcf.gz"),
        snps_tbi=temp("results/apply_variant_recalibration/{callset}.snps.vcf.gz.tbi"),
        vcf="results/apply_variant_recalibration/{callset}.vcf.gz",
        tbi="results/apply_variant_recalibration/{callset}.vcf.gz.tbi",
    log:
        "logs/apply_variant_recalibration/{callset}.log",
    conda:
        "../../../envs/gatk4.yaml"
    threads: 1
    resources:
        mem_mb=4000,
    params:
        java=java,
        snps="results/variant_recalibration/{callset}.snps",
        indels="results/variant_recalibration/{callset}.indels",
        snp_sensitivity=config["vqsr"]["snps"]["sensitivity"],
        indel_sensitivity=config["vqsr"]["indels"]["sensitivity"],
    shell:
        bound(
            "apply_variant_recalibration",
            """
            gatk --java-options {params.java:q} ApplyVQSR -R {input.fasta:q} -V {input.vcf:q} -mode SNP \\
                --recal-file {params.snps:q}.recal --tranches-file {params.snps:q}.tranches \\
                --truth-sensitivity-filter-level {params.snp_sensitivity} \\
                --tmp-dir {resources.tmpdir:q} -O {output.snps:q}
            gatk --java-options {params.java:q} ApplyVQSR -R {input.fasta:q} -V {output.snps:q} -mode INDEL \\
                --recal-file {params.indels:q}.recal --tranches-file {params.indels:q}.tranches \\
                --truth-sensitivity-filter-level {params.indel_sensitivity} \\
                --tmp-dir {resources.tmpdir:q} -O {output.vcf:q}
            """,
        )
