# The final alignments as CRAM (alignment_format: cram), off the way from reads to calls.


rule alignment:
    """The final alignments as CRAM, with `alignment_format: cram`: off the way from reads to calls."""
    input:
        **reference,
        **alignment_of(aligned_by),
        counts=unit_counts,
    output:
        cram=result("results/alignment/{sample}.cram"),
        crai=result("results/alignment/{sample}.cram.crai"),
    log:
        "logs/alignment/{sample}.log",
    conda:
        "../../../envs/samtools.yaml"
    threads: 4
    resources:
        mem_mb=2000,
    params:
        **checks("reads/count_reads.py"),
    # CRAM 3.0: later versions of samtools write 3.1, which GATK cannot read
    shell:
        r"""
        (
            samtools view --output-fmt cram,version=3.0 -@ {threads} -T {input.fasta:q} --write-index \
                -o {output.cram:q} {input.bam:q}
            {params.count_reads} sample --bam {output.cram:q} {input.counts:q}
        ) &>{log:q}
        """
