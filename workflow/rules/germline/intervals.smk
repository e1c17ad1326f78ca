# The N-free intervals of the genome, and of the regions that are called of it, over which steps scatter.

# by what samples are judged: the targets as they were given, for beside them less was captured
TARGETS = "results/reference/target_intervals.bed" if padding else CALLED


rule padded_intervals:
    """The user's intervals, each extended on both sides; and as they are, in the form of `n_free_intervals`."""
    input:
        **reference,
        intervals=config["intervals"] or [],
    output:
        padded="results/reference/padded_intervals.bed",
        targets="results/reference/target_intervals.bed",
    log:
        "logs/padded_intervals/genome.log",
    conda:
        "../../../envs/samtools.yaml"
    resources:
        mem_mb=1000,
        pinned_step="reference",
    params:
        **scripts("intervals/n_free.py"),
        padding=padding,
    shell:
        """
        (
            {params.n_free} {input.fasta:q} {input.fai:q} {input.intervals:q} {params.padding} >{output.padded:q}
            {params.n_free} {input.fasta:q} {input.fai:q} {input.intervals:q} >{output.targets:q}
        ) 2>{log:q}
        """


rule called_contigs:
    """Those that are called where no intervals are given and some contigs are left out (calling_contigs)."""
    input:
        reference["fai"],
    output:
        CALLED_CONTIGS,
    log:
        "logs/called_contigs/genome.log",
    conda:
        "../../../envs/samtools.yaml"
    resources:
        mem_mb=1000,
        pinned_step="reference",
    params:
        **scripts("intervals/primary.py"),
    shell:
        """
        {params.primary} {input:q} >{output:q} 2>{log:q}
        """


rule n_free_intervals:
    """The intervals without N of the genome, and of what is called of it, over which steps scatter."""
    input:
        **reference,
        intervals=regions,
    output:
        genome=N_FREE,
        called=CALLED,
    log:
        "logs/n_free_intervals/genome.log",
    conda:
        "../../../envs/samtools.yaml"
    resources:
        mem_mb=1000,
        pinned_step="reference",
    params:
        **scripts("intervals/n_free.py"),
    shell:
        """
        (
            {params.n_free} {input.fasta:q} {input.fai:q} >{output.genome:q}
            {params.n_free} {input.fasta:q} {input.fai:q} {input.intervals:q} >{output.called:q}
        ) &>{log:q}
        """
