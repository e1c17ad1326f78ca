# One page for all samples. The list of its files goes through a file: a cohort's would not fit on a command line.


rule multiqc_files:
    input:
        statistics(),
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
            "multiqc --force --no-ansi --no-data-dir --file-list {input.files:q} --filename {output:q}",
            rule="multiqc",
            inputs="@{input.files:q}",
        )
