# Step 8: SNPs and indels get a model each, of the unfiltered calls. As published: 1 core.


rule variant_recalibration:
    """GATK VariantRecalibrator, with `filter: vqsr`: models of SNPs and of indels, and their tranches."""
    input:
        unpack(training_sets),
        **reference,
        **calls_of("sites_only" if joint else genotyped_by),
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
        mem_mb=lambda wildcards: model_mb(),
    params:
        **started("VariantRecalibrator"),
        gatk_mode=lambda wildcards: GATK_MODE[wildcards.mode],
        resources=resource_arguments(by_gatk("--resource", "-resource"), "known", "training", "truth", "prior"),
        resource_settings=lambda wildcards: config["vqsr"][wildcards.mode]["resources"],
        annotations=lambda wildcards: repeat("-an", config["vqsr"][wildcards.mode]["annotations"]),
        tranches=tranches,
        gaussians=gaussians,
    # fewer Gaussians only where GATK says that there was too little for so many: any other failure stands
    shell:
        by_gatk(
            gatk4=r"""
        fit() {{
            gatk --java-options "{params.java}" VariantRecalibrator -R {input.fasta:q} -V {input.vcf:q} \
                {params.resources} {params.annotations} {params.tranches} -mode {params.gatk_mode} \
                --max-gaussians "$gaussians" --tmp-dir "$TMPDIR" \
                -O {output.recal:q} --tranches-file {output.tranches:q}
        }}
        """,
            gatk3=r"""
        fit() {{
            {params.gatk3} -T VariantRecalibrator -R {input.fasta:q} -input {input.vcf:q} \
                {params.resources} {params.annotations} {params.tranches} -mode {params.gatk_mode} \
                --maxGaussians "$gaussians" -recalFile {output.recal:q} -tranchesFile {output.tranches:q}
        }}
        """,
        )
        + r"""
        (
            tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
            tried=
            for gaussians in {params.gaussians}; do
                tried+=" $gaussians" status=0
                fit 2>&1 | tee "$tmp/output" || status=$?
                if [ "$status" = 0 ]; then
                    echo "VQSR: the model for the {wildcards.mode} of {wildcards.callset} has $gaussians Gaussians" \
                        "at most (tried:$tried)"
                    exit
                fi
                grep -qiE 'No data found|failed to converge|NaN LOD value' "$tmp/output" || exit "$status"
            done
            echo "error: VQSR found no model for the {wildcards.mode} of {wildcards.callset} (Gaussians tried:$tried)," \
                "whose call set has $(bcftools index --nrecords {input.vcf:q}) variants; it wants thousands of each" \
                "kind. Lower vqsr.{wildcards.mode}.max_gaussians where fewer were not tried, else set filter: hard in" \
                "the config. GATK's own reason stands above." >&2
            exit "$status"
        ) &>{log:q}
        """
