# Fewer and longer blocks of the reference in a sample's GVCF (reblock: true), as the Broad Institute's pipelines have them. What
# --do-qual-score-approximation would add is for GnarlyGenotyper; GenotypeGVCFs drops it.


rule reblock_gvcf:
    """GATK ReblockGVCF, with `reblock: true`: fewer and longer blocks of the reference in the sample's GVCF."""
    input:
        **reference,
        **gvcf_of("haplotype_caller"),
    output:
        **lasting(gvcf_of("reblock_gvcf"), True),
    log:
        "logs/reblock_gvcf/{sample}.log",
    conda:
        "../../../envs/gatk4.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        pinned_step="haplotype_caller",
    params:
        **own_arguments("reblock_gvcf"),
        java=java("ReblockGVCF"),
    shell:
        r"""
        gatk --java-options "{params.java}" ReblockGVCF {params.own} -R {input.fasta:q} -V {input.gvcf:q} \
            --floor-blocks -GQB 20 -GQB 30 -GQB 40 --tmp-dir "$TMPDIR" -O {output.gvcf:q} &>{log:q}
        """
