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


rule skipped_loci:
    """The loci that Cufflinks' tools passed over: listed, counted for the MultiQC page, and warned of."""
    input:
        skipped=expand("results/assemble/skipped/{sample}.gtf", sample=samples) if assembled else [],
        compared=(
            expand(
                "results/differential_expression/{table}",
                table=["gene_exp.diff", "read_groups.info", "genes.read_group_tracking"],
            )
            if compared
            else []
        ),
    output:
        loci="results/skipped_loci/skipped_loci.tsv",
        table="results/skipped_loci/skipped_loci_mqc.tsv",
    log:
        "logs/skipped_loci/skipped_loci.log",
    localrule: True
    conda:
        "../../../envs/samtools.yaml"
    params:
        **scripts("tuxedo/skipped_loci.py"),
        names=names_of_input,
        most=config["max_bundle_frags"],
        compared=lambda wildcards, input: repeat("--compared", {str(Path(path).parent) for path in input.compared}),
    shell:
        r"""
        paste <(printf '%s\n' {params.names:q}) <(printf '%s\n' {input.skipped:q}) \
            | {params.skipped_loci} --most {params.most} {params.compared} \
                --loci {output.loci:q} --log {log:q} >{output.table:q}
        """


rule strandedness:
    """All samples in one table for the MultiQC page, and a warning where one contradicts the config."""
    input:
        expand("results/read_strands/{sample}.json", sample=samples),
    output:
        "results/strandedness/strandedness_mqc.tsv",
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
