# One page for all samples. The list of its files goes through a file: a cohort's would not fit on a command line.

RATES = "results/mapping_rates/mapping_rates_mqc.tsv"

environment |= dict(
    GPD_COLUMNS=source(f"quality/{config['pipeline']}.tsv"),
    GPD_SAMPLES_PAGE=source("quality/page.py"),
    GPD_SAMPLES_TEMPLATE=source("quality/samples.html"),
    GPD_VERDICTS=source("quality/verdicts.py"),
)


rule samtools_stats:
    input:
        bam=FINAL_BAM,
    output:
        "results/samtools_stats/{sample}.txt",
    log:
        "logs/samtools_stats/{sample}.log",
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


rule quality_files:
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
    """A row for each sample, with a verdict."""
    input:
        measured,
        files="results/qc/files.tsv",
        called=called_in,
    output:
        table="results/qc/samples.tsv",
        scores="results/qc/robust_z.tsv",
        multiqc="results/qc/samples_mqc.tsv",
        page=report("results/qc/samples.html", category="Quality control", caption="../report/samples.rst"),
    log:
        "logs/quality/quality.log",
    conda:
        "../../envs/samtools.yaml"
    resources:
        mem_mb=2000,
    params:
        called=called,
        sex_contigs=SEX_CONTIGS,
        unjudged_sex=UNJUDGED_SEX,
        thresholds=THRESHOLDS,
        targets=targets,
    shell:
        bound(
            "qc",
            """
            {params.python} "$GPD_FIGURES" --files {input.files:q} {params.called} {params.targets} {params.sex_contigs} > "$TMPDIR/figures.json"
            {params.python} "$GPD_VERDICTS" table --columns "$GPD_COLUMNS" --figures "$TMPDIR/figures.json" \\
                --thresholds {params.thresholds:q} {params.targets} {params.unjudged_sex} \\
                --table {output.table:q} --scores {output.scores:q} --multiqc {output.multiqc:q}
            {params.python} "$GPD_SAMPLES_PAGE" --columns "$GPD_COLUMNS" --template "$GPD_SAMPLES_TEMPLATE" \\
                {output.table:q} > {output.page:q}
            """,
            rule="quality",
            inputs="{input.called:q} @{input.files:q}",
        )


rule quality_gate:
    """What takes all samples waits for it, where samples that fail are dropped or stop the run: by their alignments alone."""
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
    params:
        called=called,
        sex_contigs=SEX_CONTIGS,
        unjudged_sex=UNJUDGED_SEX,
        group=lambda wildcards: group_of[wildcards.sample],
        thresholds=THRESHOLDS,
        targets=targets,
    shell:
        bound(
            "qc",
            """
            for file in {input.measured:q}; do printf '%s\\t%s\\n' {wildcards.sample:q}:{params.group:q} "$file"; done > "$TMPDIR/files.tsv"
            {params.python} "$GPD_FIGURES" --files "$TMPDIR/files.tsv" {params.called} {params.targets} {params.sex_contigs} > "$TMPDIR/figures.json"
            {params.python} "$GPD_VERDICTS" gate --columns "$GPD_COLUMNS" --figures "$TMPDIR/figures.json" \\
                --thresholds {params.thresholds:q} {params.targets} {params.unjudged_sex} > {output:q}
            """,
            rule="quality_gate",
        )


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
        mem_mb=600 + 2 * len(samples),  # 16 samples took 180 MiB, 550 took 990
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
