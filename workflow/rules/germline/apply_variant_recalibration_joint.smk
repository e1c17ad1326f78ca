# Step 9, by interval: excess heterozygosity, as the models were fitted without it, then SNPs, then indels.


rule recalibrate_interval:
    """ApplyVQSR to an interval of a joint call set."""
    input:
        **reference,
        **calls_of("genotype_gvcfs", "cohort"),
        **models("cohort"),
        interval=INTERVAL,
    output:
        marked=temp("results/recalibrate_interval/marked/{interval}.vcf.gz"),
        marked_tbi=temp("results/recalibrate_interval/marked/{interval}.vcf.gz.tbi"),
        snps=temp("results/recalibrate_interval/snps/{interval}.vcf.gz"),
        snps_tbi=temp("results/recalibrate_interval/snps/{interval}.vcf.gz.tbi"),
        vcf=temp("results/recalibrate_interval/{interval}.vcf.gz"),
    log:
        "logs/recalibrate_interval/{interval}.log",
    conda:
        "../../../envs/gatk4.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        pinned_step="apply_variant_recalibration",
    params:
        java=java("ApplyVQSR"),
        excess_het=EXCESS_HET,
        snp_sensitivity=config["vqsr"]["snps"]["sensitivity"],
        indel_sensitivity=config["vqsr"]["indels"]["sensitivity"],
    shell:
        r"""
        (
            gatk --java-options "{params.java}" VariantFiltration -R {input.fasta:q} -V {input.vcf:q} -L {input.interval:q} --variant-output-filtering STARTS_IN \
                {params.excess_het} --tmp-dir "$TMPDIR" -O {output.marked:q}
            gatk --java-options "{params.java}" ApplyVQSR -R {input.fasta:q} -V {output.marked:q} -mode SNP \
                --recal-file {input.snps_recal:q} --tranches-file {input.snps_tranches:q} \
                --truth-sensitivity-filter-level {params.snp_sensitivity} \
                --tmp-dir "$TMPDIR" -O {output.snps:q}
            gatk --java-options "{params.java}" ApplyVQSR -R {input.fasta:q} -V {output.snps:q} -mode INDEL \
                --recal-file {input.indels_recal:q} --tranches-file {input.indels_tranches:q} \
                --truth-sensitivity-filter-level {params.indel_sensitivity} \
                --create-output-variant-index false --tmp-dir "$TMPDIR" -O {output.vcf:q}
        ) &>{log:q}
        """


use rule gather_genotypes as gather_recalibrated with:
    input:
        vcfs=expand("results/recalibrate_interval/{interval}.vcf.gz", interval=joint_intervals),
    output:
        **made_calls("apply_variant_recalibration", "cohort"),
    log:
        "logs/gather_recalibrated/cohort.log",
    resources:
        mem_mb=1000,
        pinned_step="apply_variant_recalibration",
