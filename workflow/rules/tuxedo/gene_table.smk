# What one opens first of an RNA-Seq run: Cuffdiff's tests under the annotation's names, beside the counts.


rule gene_table:
    """Of each gene and comparison Cuffdiff's test, the annotation's gene_id and name, and the counts of all samples."""
    input:
        tests=f"{COMPARISON}/gene_exp.diff",
        transcripts=transcripts,
        annotation=GENES,
        genes="results/expression/genes.tsv",
        counts="results/expression/gene_counts.tsv",
    output:
        result(GENE_TABLE),
    log:
        f"logs/gene_table/{CONTRAST or 'genes'}.log",
    conda:
        "../../../envs/samtools.yaml"
    resources:
        mem_mb=1000,
        pinned_step="qc",
    params:
        **scripts("tuxedo/gene_table.py"),
    shell:
        """
        {params.gene_table} --tests {input.tests:q} --transcripts {input.transcripts:q} \
            --annotation {input.annotation:q} --genes {input.genes:q} --counts {input.counts:q} >{output:q} 2>{log:q}
        """
