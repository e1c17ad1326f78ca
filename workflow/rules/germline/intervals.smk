# The N-free intervals of the genome, and of the regions that are called of it, over which steps scatter; how shards are gathered.

# by what samples are judged: the targets as they were given, for beside them less was captured
TARGETS = "results/reference/target_intervals.bed" if padding else CALLED


rule padded_intervals:
    """The user's intervals, each extended on both sides."""
    input:
        **reference,
        intervals=config["intervals"] or [],
    output:
        "results/reference/padded_intervals.bed",
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
        {params.n_free} {input.fasta:q} {input.fai:q} {input.intervals:q} {params.padding} >{output:q} 2>{log:q}
        """


rule target_intervals:
    """The user's intervals without padding, as `n_free_intervals` has those that are called."""
    input:
        **reference,
        intervals=config["intervals"] or [],
    output:
        "results/reference/target_intervals.bed",
    log:
        "logs/target_intervals/genome.log",
    conda:
        "../../../envs/samtools.yaml"
    resources:
        mem_mb=1000,
        pinned_step="reference",
    params:
        **scripts("intervals/n_free.py"),
    shell:
        """
        {params.n_free} {input.fasta:q} {input.fai:q} {input.intervals:q} >{output:q} 2>{log:q}
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
