# Statistics for the MultiQC page. None of them holds up a step.


rule samtools_stats:
    input:
        bam="results/base_recalibration/{sample}.bam",
    output:
        "results/samtools_stats/{sample}.txt",
    log:
        "logs/samtools_stats/{sample}.log",
    conda:
        "../../../envs/samtools.yaml"
    resources:
        mem_mb=1000,
    shell:
        bound("qc", "samtools stats {input.bam:q} > {output:q}", rule="samtools_stats")


rule bcftools_stats:
    input:
        calls,
    output:
        "results/bcftools_stats/{callset}.txt",
    log:
        "logs/bcftools_stats/{callset}.log",
    conda:
        "../../../envs/bcftools.yaml"
    resources:
        mem_mb=1000,
    shell:
        bound("qc", "bcftools stats --samples - {input:q} > {output:q}", rule="bcftools_stats")
