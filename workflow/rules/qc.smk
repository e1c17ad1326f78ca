# One page for all samples. The list of its files goes through a file: a cohort's would not fit on a command line.

RATES = "results/mapping_rates/mapping_rates_mqc.tsv"


rule samtools_stats:
    input:
        bam=FINAL_BAM,
    output:
        "results/samtools_stats/{sample}.txt",
    conda:
        "../../envs/samtools.yaml"
    resources:
        mem_mb=1000,
    shell:
        bound("qc", "samtools stats {input.bam:q} > {output:q}", rule="samtools_stats")


rule mapping_rates_files:
    input:
        mapping_statistics(),
    output:
        temp("results/mapping_rates/files.txt"),
    log:
        "logs/mapping_rates_files/files.log",
    localrule: True
    conda:
        "../../envs/samtools.yaml"
    params:
        names=lambda wildcards, input: samples * (len(input) // len(samples)),
    script:
        "../scripts/list_inputs.sh"


rule mapping_rates:
    """All samples in one table for the MultiQC page, and a warning of those whose reads map badly."""
    input:
        mapping_statistics(),
        files="results/mapping_rates/files.txt",
    output:
        RATES,
    log:
        "logs/mapping_rates/mapping_rates.log",
    localrule: True
    conda:
        "../../envs/samtools.yaml"
    shell:
        """
        {params.exports}
        {params.python} "$GPD_MAPPING_RATES" report --log {log:q} {input.files:q} >{output:q}
        """


rule multiqc_files:
    input:
        statistics(),
        RATES,
    output:
        temp("results/multiqc/files.txt"),
    log:
        "logs/multiqc/files.log",
    localrule: True
    conda:
        "../../envs/multiqc.yaml"
    script:
        "../scripts/list_inputs.sh"


rule multiqc:
    input:
        statistics(),
        RATES,
        files="results/multiqc/files.txt",
    output:
        report("results/multiqc/multiqc.html", category="Quality control", caption="../report/multiqc.rst"),
    log:
        "logs/multiqc/multiqc.log",
    conda:
        "../../envs/multiqc.yaml"
    resources:
        mem_mb=2000,
    shell:
        bound(
            "qc",
            """
            multiqc --force --no-ansi --no-data-dir --cl-config 'custom_content: {{order: [quality]}}' \\
                --file-list {input.files:q} --filename {output:q}
            """,
            rule="multiqc",
            inputs="@{input.files:q}",
        )
