# Statistics for the MultiQC page, and what the reads say about their library. None of them holds up a step.


rule read_strands:
    """The strand of its genes that a sample's reads come from."""
    input:
        bam="results/align/{sample}.bam",
        bai="results/align/{sample}.bam.bai",
        genes=GENES,
    output:
        "results/read_strands/{sample}.json",
    log:
        "logs/read_strands/{sample}.log",
    conda:
        "../../../envs/samtools.yaml"
    resources:
        mem_mb=1000,
        pinned_step="qc",
    params:
        **scripts("tuxedo/strandedness.py"),
        declared=config["strandedness"],
    shell:
        r"""
        {params.strandedness} --declared {params.declared} --genes {input.genes:q} \
            --bam {input.bam:q} >{output:q} 2>{log:q}
        """


rule library_type:
    """The one library type of all samples: what takes them together waits for it."""
    input:
        expand("results/read_strands/{sample}.json", sample=samples),
    output:
        LIBRARY_TYPE,
    log:
        "logs/library_type/library_type.log",
    conda:
        "../../../envs/samtools.yaml"
    resources:
        mem_mb=1000,
        pinned_step="qc",
    params:
        **scripts("tuxedo/library_type.py"),
    shell:
        r"""
        (
            printf '%s\n' {input:q} | {params.library_type} libraries >{output:q}
        ) 2>{log:q}
        """


rule strandedness:
    """All samples in one table for the MultiQC page, and a warning where one contradicts the config."""
    input:
        expand("results/read_strands/{sample}.json", sample=samples),
    output:
        for_multiqc("results/strandedness/strandedness_mqc.tsv"),
    log:
        "logs/strandedness/strandedness.log",
    localrule: True
    conda:
        "../../../envs/samtools.yaml"
    params:
        **scripts("tuxedo/library_type.py"),
        names=names_of_input,
    shell:
        r"""
        paste <(printf '%s\n' {params.names:q}) <(printf '%s\n' {input:q}) \
            | {params.library_type} report --log {log:q} >{output:q}
        """
