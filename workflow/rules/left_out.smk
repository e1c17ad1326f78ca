# Samples of the tables that the results are without (config: leave_out). Where none ever was, there is no such file; once it
# is there it is kept up to date, so that it does not name a sample that is back.
LEFT_OUT = "results/left_out.tsv"


def told_of_left_out():
    return [LEFT_OUT] if config["leave_out"] or Path(LEFT_OUT).exists() else []


rule left_out:
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
