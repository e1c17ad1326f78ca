# There are such loci where transcripts are assembled or compared.

LISTING = ("gene_exp.diff", "read_groups.info", "genes.read_group_tracking")  # tables that tell of them


rule skipped_loci:
    """The loci that Cufflinks' tools passed over: listed, counted by sample, and warned of."""
    input:
        skipped=expand("results/assemble/skipped/{sample}.gtf", sample=samples) if assembled else [],
        compared=expanded([f"{COMPARISON}/{table}" for table in LISTING]) if compared else [],
    output:
        loci=result("results/skipped_loci/skipped_loci.tsv"),
        counts=result("results/skipped_loci/counts.tsv"),
    log:
        "logs/skipped_loci/skipped_loci.log",
    localrule: True
    conda:
        "../../../envs/samtools.yaml"
    params:
        **scripts("tuxedo/skipped_loci.py"),
        names=names_of_input,
        most=config["max_bundle_frags"],
        compared=lambda wildcards, input: repeat(
            "--compared", dict.fromkeys(Path(path).parent for path in input.compared)
        ),
    shell:
        r"""
        paste <(printf '%s\n' {params.names:q}) <(printf '%s\n' {input.skipped:q}) \
            | {params.skipped_loci} --most {params.most} {params.compared} \
                --loci {output.loci:q} --log {log:q} >{output.counts:q}
        """
