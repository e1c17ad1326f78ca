# Step 9: SNPs, then indels. As published: 1 core.


rule apply_variant_recalibration:
    """GATK ApplyVQSR, with `filter: vqsr`: VQSR's verdict of SNPs, then of indels, in FILTER."""
    input:
        **reference,
        **calls_of(genotyped_by),
        **models(),
    output:
        **made_calls("apply_variant_recalibration"),
        snps=temp("results/apply_variant_recalibration/snps/{callset}.vcf.gz"),
        snps_tbi=temp("results/apply_variant_recalibration/snps/{callset}.vcf.gz.tbi"),
    log:
        "logs/apply_variant_recalibration/{callset}.log",
    conda:
        f"../../../envs/{config['gatk']}.yaml"
    threads: 1
    resources:
        mem_mb=4000,
    params:
        **started("ApplyVQSR"),
        snp_sensitivity=config["vqsr"]["snps"]["sensitivity"],
        indel_sensitivity=config["vqsr"]["indels"]["sensitivity"],
    shell:
        by_gatk(
            gatk4=r"""
        (
            gatk --java-options "{params.java}" ApplyVQSR -R {input.fasta:q} -V {input.vcf:q} -mode SNP \
                --recal-file {input.snps_recal:q} --tranches-file {input.snps_tranches:q} \
                --truth-sensitivity-filter-level {params.snp_sensitivity} \
                --tmp-dir "$TMPDIR" -O {output.snps:q}
            gatk --java-options "{params.java}" ApplyVQSR -R {input.fasta:q} -V {output.snps:q} -mode INDEL \
                --recal-file {input.indels_recal:q} --tranches-file {input.indels_tranches:q} \
                --truth-sensitivity-filter-level {params.indel_sensitivity} \
                --tmp-dir "$TMPDIR" -O {output.vcf:q}
        ) &> {log:q}
        """,
            gatk3=r"""
        (
            {params.gatk3} -T ApplyRecalibration -R {input.fasta:q} -input {input.vcf:q} \
                -recalFile {input.snps_recal:q} -tranchesFile {input.snps_tranches:q} -mode SNP \
                --ts_filter_level {params.snp_sensitivity} -o {output.snps:q}
            {params.gatk3} -T ApplyRecalibration -R {input.fasta:q} -input {output.snps:q} \
                -recalFile {input.indels_recal:q} -tranchesFile {input.indels_tranches:q} -mode INDEL \
                --ts_filter_level {params.indel_sensitivity} -o {output.vcf:q}
        ) &> {log:q}
        """,
        )
