# Statistics for the MultiQC page. None of them holds up a step.


rule bcftools_stats:
    """Of variants that pass the filters, and of all records, whose Ti/Tv is not that of the calls in use."""
    input:
        calls,
    output:
        passed="results/bcftools_stats/{callset}.txt",
        all="results/bcftools_stats/all_records/{callset}.txt",
    conda:
        "../../../envs/bcftools.yaml"
    resources:
        mem_mb=1000,
    # MultiQC names what it shows by the file on the line ID
    shell:
        bound(
            "qc",
            r"""
            bcftools stats --apply-filters PASS,. --samples - {input:q} > {output.passed:q}
            bcftools stats --samples - {input:q} \
            | sed 's/^ID\t0\t.*/ID\t0\tall records of {wildcards.callset}/' > {output.all:q}
            """,
            rule="bcftools_stats",
        )
