# What the reads say about their library.


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
