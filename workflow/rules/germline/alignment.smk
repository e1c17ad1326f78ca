# The final alignments as CRAM (alignment_format: cram), off the way from reads to calls.


rule alignment:
    input:
        **reference,
        **alignment_of(aligned_by),
        counts=unit_counts,
    output:
        cram="results/alignment/{sample}.cram",
        crai="results/alignment/{sample}.cram.crai",
    conda:
        "../../../envs/samtools.yaml"
    threads: 4
    resources:
        mem_mb=2000,
    shell:
        bound(
            "alignment",
            """
            samtools view -C -@ {threads} -T {input.fasta:q} --write-index -o {output.cram:q} {input.bam:q}
            """,
        )
