# A verdict for each sample, and one page for all.

PAGE = "results/multiqc/multiqc.html"
opened_first |= {"page": PAGE, "samples": "results/qc/samples.tsv"}
# by this line `gpd run` tells where they are when it ends
say("results: " + ", ".join(f"{kind} {place(path)}" for kind, path in opened_first.items()))


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


rule quality:
    """A verdict and the [figures](quality.md) of each sample: a table, which is on the MultiQC page, too."""
    input:
        measured,
        files="results/qc/files.txt",
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
        groups=group_of,
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


listed |= dict(multiqc=expanded(shown))  # after every rule that marks an output for it


rule multiqc:
    """One page with the statistics of all samples."""
    input:
        expanded(shown),
        files="results/multiqc/files.txt",
    output:
        report(PAGE, category="Quality control", caption="../report/multiqc.rst"),
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
            --cl-config 'show_analysis_paths: false' \
            --file-list {input.files:q} --filename {output:q} &>{log:q}
        """


rule list_files:
    """The files of all samples, one a line: a cohort's would not fit on the command line of a step."""
    input:
        lambda wildcards: listed[wildcards.folder],
    output:
        temp("results/{folder}/files.txt"),
    log:
        "logs/list_files/{folder}.log",
    wildcard_constraints:
        folder="|".join(listed),
    localrule: True
    conda:
        "../../envs/samtools.yaml"
    params:
        names=lambda wildcards, input: listed_names.get(wildcards.folder, []),
    script:
        "../scripts/list_inputs.sh"
