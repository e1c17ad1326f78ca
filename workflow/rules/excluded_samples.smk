# Samples of the tables that the results are without (config: leave_out).


rule left_out:
    """The samples of the tables that the results are without. Once it is there it is kept up to date."""
    input:
        cohort_results(),
    output:
        LEFT_OUT,
    log:
        "logs/left_out/left_out.log",
    localrule: True
    conda:
        "../../envs/samtools.yaml"
    params:
        names=config["leave_out"],
    shell:
        "printf '%s\\n' sample_name {params.names:q} > {output:q} 2> {log:q}"
