# Where the genome, and the regions that are called of it, may be cut into pieces. Outside every timing.


rule stretches:
    input:
        **reference,
        intervals=regions,
    output:
        genome="results/reference/stretches.bed",
        called="results/reference/called_stretches.bed",
    log:
        "logs/stretches/genome.log",
    conda:
        "../../../envs/samtools.yaml"
    resources:
        mem_mb=1000,
    params:
        regions=lambda wildcards, input: repeat("--regions", input.intervals),
    shell:
        bound(
            "reference",
            """
            {params.python} "$GPD_STRETCHES" {input.fasta:q} {input.fai:q} > {output.genome:q}
            {params.python} "$GPD_STRETCHES" {input.fasta:q} {input.fai:q} {params.regions} > {output.called:q}
            """,
            rule="stretches",
        )
