# One page for all samples. The list of its files goes through a file: a cohort's would not fit on a command line.


rule samtools_stats:
    """Statistics of the final alignments."""
    input:
        bam=FINAL_BAM,
    output:
        for_multiqc("results/samtools_stats/{sample}.txt"),
    log:
        "logs/samtools_stats/{sample}.log",
    conda:
        "../../envs/samtools.yaml"
    resources:
        mem_mb=1000,
        pinned_step="qc",
    shell:
        "samtools stats {input.bam:q} > {output:q} 2> {log:q}"


rule mapping_rates_files:
    """The list of files for `mapping_rates`."""
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
        for_multiqc("results/mapping_rates/mapping_rates_mqc.tsv"),
    log:
        "logs/mapping_rates/mapping_rates.log",
    localrule: True
    conda:
        "../../envs/samtools.yaml"
    params:
        **checks("reads/mapping_rates.py"),
    shell:
        """
        {params.mapping_rates} report --log {log:q} {input.files:q} >{output:q}
        """


rule quality_files:
    """The list of files for `quality`."""
    input:
        measured,
    output:
        temp("results/qc/files.tsv"),
    log:
        "logs/quality/files.log",
    localrule: True
    conda:
        "../../envs/samtools.yaml"
    params:
        names=measured_names,
    script:
        "../scripts/list_inputs.sh"


rule quality:
    """A verdict and the [figures](quality.md) of each sample: a table, and a page with pictures, which needs no network."""
    input:
        measured,
        files="results/qc/files.tsv",
        called=called_in,
    output:
        table="results/qc/samples.tsv",
        scores="results/qc/robust_z.tsv",
        multiqc=for_multiqc("results/qc/samples_mqc.tsv"),
    log:
        "logs/quality/quality.log",
    conda:
        "../../envs/samtools.yaml"
    resources:
        mem_mb=2000,
        pinned_step="qc",
    params:
        **scripts("quality/verdicts.py", figures=FIGURES, columns=COLUMNS, limits=LIMITS),
        called=called,
        sex_contigs=SEX_CONTIGS,
        unjudged_sex=UNJUDGED_SEX,
        thresholds=THRESHOLDS,
        targets=targets,
    shell:
        r"""
        (
            tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
            {params.figures} --files {input.files:q} {params.called} {params.targets} {params.sex_contigs} >"$tmp/figures.json"
            {params.verdicts} table --columns {params.columns} --figures "$tmp/figures.json" \
                --limits {params.limits} --thresholds {params.thresholds:q} {params.targets} \
                {params.unjudged_sex} --table {output.table:q} --scores {output.scores:q} --multiqc {output.multiqc:q}
        ) &>{log:q}
        """


rule quality_gate:
    """With `failed_samples` by quality: fails where a sample does, by its alignments alone. What takes all samples waits for it."""
    input:
        measured=of_alignments,
        called=called_in,
    output:
        "results/quality_gate/{sample}.tsv",
    log:
        "logs/quality_gate/{sample}.log",
    conda:
        "../../envs/samtools.yaml"
    resources:
        mem_mb=1000,
        pinned_step="qc",
    params:
        **scripts("quality/verdicts.py", figures=FIGURES, columns=COLUMNS, limits=LIMITS),
        called=called,
        sex_contigs=SEX_CONTIGS,
        unjudged_sex=UNJUDGED_SEX,
        group=lambda wildcards: group_of[wildcards.sample],
        thresholds=THRESHOLDS,
        targets=targets,
    shell:
        r"""
        (
            tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
            for file in {input.measured:q}; do printf '%s\t%s\n' {wildcards.sample:q}:{params.group:q} "$file"; done >"$tmp/files.tsv"
            {params.figures} --files "$tmp/files.tsv" {params.called} {params.targets} {params.sex_contigs} >"$tmp/figures.json"
            {params.verdicts} gate --columns {params.columns} --figures "$tmp/figures.json" \
                --limits {params.limits} --thresholds {params.thresholds:q} {params.targets} {params.unjudged_sex} >{output:q}
        ) &>{log:q}
        """


# after every rule that marks an output for it
rule multiqc_files:
    """The list of files for `multiqc`."""
    input:
        expanded(shown),
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
    """One page with the statistics of all samples."""
    input:
        expanded(shown),
        files="results/multiqc/files.txt",
    output:
        report("results/multiqc/multiqc.html", category="Quality control", caption="../report/multiqc.rst"),
    log:
        "logs/multiqc/multiqc.log",
    conda:
        "../../envs/multiqc.yaml"
    resources:
        mem_mb=600 + 2 * len(samples),  # 16 samples took 180 MiB, 550 took 990
        pinned_step="qc",
    shell:
        r"""
        multiqc --force --no-ansi --no-data-dir --cl-config 'custom_content: {{order: [quality]}}' \
            --file-list {input.files:q} --filename {output:q} &>{log:q}
        """
