# What DRAGEN mode knows of errors in short tandem repeats (STRs): where the reference has some, and how often each sample errs
# there. It is for HaplotypeCaller (dragen_mode: true).


rule compose_str_table:
    """GATK ComposeSTRTableFile, with `dragen_mode: true`: the short tandem repeats of the reference."""
    input:
        **reference,
    output:
        STR_TABLE,
    log:
        "logs/compose_str_table/genome.log",
    conda:
        "../../../envs/gatk4.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        pinned_step="reference",
    params:
        java=java("ComposeSTRTableFile", walked=genome_bytes),
    shell:
        """
        gatk --java-options "{params.java}" ComposeSTRTableFile -R {input.fasta:q} --tmp-dir "$TMPDIR" -O {output:q} &>{log:q}
        """


rule calibrate_dragstr_model:
    """GATK CalibrateDragstrModel, with `dragen_mode: true`: how often the sample's reads err in tandem repeats."""
    input:
        **reference,
        **alignment_of(aligned_by),
        str_table=STR_TABLE,
    output:
        "results/calibrate_dragstr_model/{sample}.txt",
    log:
        "logs/calibrate_dragstr_model/{sample}.log",
    conda:
        "../../../envs/gatk4.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        pinned_step="haplotype_caller",
    params:
        java=java("CalibrateDragstrModel"),
    shell:
        r"""
        gatk --java-options "{params.java}" CalibrateDragstrModel -R {input.fasta:q} -I {input.bam:q} \
            --str-table-path {input.str_table:q} --tmp-dir "$TMPDIR" -O {output:q} &>{log:q}
        """
