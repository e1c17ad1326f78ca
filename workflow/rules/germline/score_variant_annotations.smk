# Step 9 with VETS: SNPs, then indels.


rule score_variant_annotations:
    """GATK ScoreVariantAnnotations, with `filter: vets`: the final calls, with scores, and low ones named in FILTER."""
    input:
        **reference,
        **calls_of(genotyped_by),
        **forests(),
    output:
        **made_calls("score_variant_annotations"),
    log:
        "logs/score_variant_annotations/{callset}.log",
    conda:
        "../../../envs/vets.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards: model_mb(),
    params:
        **scored(),
        java=java("ScoreVariantAnnotations", **NATIVE),
    # GATK leaves FILTER as it was, empty, where the score is high enough
    shell:
        r"""
        (
            tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
            gatk --java-options "{params.java}" ScoreVariantAnnotations -R {input.fasta:q} -V {input.vcf:q} \
                {params.snps} --model-prefix {params.forests:q} --tmp-dir "$TMPDIR" -O "$tmp/snps"
            gatk --java-options "{params.java}" ScoreVariantAnnotations -R {input.fasta:q} -V "$tmp/snps.vcf.gz" \
                {params.indels} --model-prefix {params.forests:q} --tmp-dir "$TMPDIR" -O "$tmp/indels"
            bgzip -dc "$tmp/indels.vcf.gz" \
                | sed -E '/^#/!s/^(([^\t]*\t){{6}})\.\t/\1PASS\t/' \
                | bgzip -c >{output.vcf:q}
            tabix -p vcf {output.vcf:q}
        ) &>{log:q}
        """
