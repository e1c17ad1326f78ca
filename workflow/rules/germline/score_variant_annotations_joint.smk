# Step 9 with VETS, by interval: excess heterozygosity, as the models were fitted without it, then SNPs, then indels.


rule score_interval:
    """ScoreVariantAnnotations of an interval of a joint call set."""
    input:
        **reference,
        **calls_of("genotype_gvcfs", "cohort"),
        **forests("cohort"),
        interval=INTERVAL,
    output:
        temp("results/score_interval/{interval}.vcf.gz"),
    log:
        "logs/score_interval/{interval}.log",
    conda:
        "../../../envs/vets.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        pinned_step="score_variant_annotations",
    params:
        **scored(),
        java=java("ScoreVariantAnnotations", **NATIVE),
        excess_het=EXCESS_HET,
    shell:
        r"""
        (
            tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
            gatk --java-options "{params.java}" VariantFiltration -R {input.fasta:q} -V {input.vcf:q} -L {input.interval:q} --variant-output-filtering STARTS_IN \
                {params.excess_het} --tmp-dir "$TMPDIR" -O "$tmp/marked.vcf.gz"
            gatk --java-options "{params.java}" ScoreVariantAnnotations -R {input.fasta:q} -V "$tmp/marked.vcf.gz" \
                {params.snps} --model-prefix {params.forests:q} --tmp-dir "$TMPDIR" -O "$tmp/snps"
            gatk --java-options "{params.java}" ScoreVariantAnnotations -R {input.fasta:q} -V "$tmp/snps.vcf.gz" \
                {params.indels} --model-prefix {params.forests:q} --tmp-dir "$TMPDIR" -O "$tmp/indels"
            mv "$tmp/indels.vcf.gz" {output:q}
        ) &>{log:q}
        """


use rule gather_genotypes as gather_scores with:
    input:
        vcfs=expand("results/score_interval/{interval}.vcf.gz", interval=joint_intervals),
    output:
        **made_calls("score_variant_annotations", "cohort"),
    log:
        "logs/gather_scores/cohort.log",
    resources:
        mem_mb=1000,
        pinned_step="score_variant_annotations",
