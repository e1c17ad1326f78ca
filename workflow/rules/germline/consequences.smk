# After the filter, with `annotation`: what variants do to genes. Another annotator is a rule of the same form.


rule gene_models:
    """The genes of `annotation` as bcftools csq wants them: Ensembl's names of features, the reference's of contigs."""
    input:
        annotation=config["annotation"],
        fai=reference["fai"],
    output:
        "results/reference/gene_models.gff3",
    log:
        "logs/gene_models/genes.log",
    conda:
        "../../../envs/bcftools.yaml"
    resources:
        mem_mb=1000,
        pinned_step="reference",
    params:
        **scripts("germline/gene_models.py"),
    shell:
        """
        (
            gzip -cdf -- {input.annotation:q} | {params.gene_models} --fai {input.fai:q} >{output:q}
        ) 2>{log:q}
        """


rule consequences:
    """bcftools csq, with `annotation`: the final calls, with the consequences of each variant in INFO/BCSQ."""
    input:
        **calls_of(normalised_by),
        fasta=reference["fasta"],
        fai=reference["fai"],
        genes="results/reference/gene_models.gff3",
    output:
        **made_calls("consequences"),
    log:
        "logs/consequences/{callset}.log",
    conda:
        "../../../envs/bcftools.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        pinned_step=filter_step,
    # each variant by itself: which of them lie on one chromosome is not known of most
    shell:
        r"""
        (
            bcftools csq --local-csq --phase a --fasta-ref {input.fasta:q} --gff-annot {input.genes:q} \
                -Oz -o {output.vcf:q} {input.vcf:q}
            bcftools index --tbi {output.vcf:q}
        ) &>{log:q}
        """
