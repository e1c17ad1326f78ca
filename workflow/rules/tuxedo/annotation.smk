# The annotation in the form that all tools read, and what the aligners take from it: made once, outside every timing.


rule annotation:
    """GTF of the contigs that the reference has; GFF3 is converted."""
    input:
        annotation=config["annotation"],
        fai="results/reference/genome.fa.fai",
    output:
        GENES,
    log:
        "logs/annotation/genes.log",
    conda:
        "../../../envs/gffread.yaml"
    resources:
        mem_mb=1000,
    # gffread reads no compressed files; GTF does not pass through it, which would lose attributes.
    shell:
        bound(
            "reference",
            """
            gzip -cdf -- {input.annotation:q} > "$TMPDIR/annotation"
            genes=$TMPDIR/annotation names=
            if grep -m 1 -qE '^##gff-version 3|^[^#].*\t(ID|Parent|Name)=' "$TMPDIR/annotation"; then
                echo "GFF3: gffread converts it to GTF" >&2
                gffread "$TMPDIR/annotation" -T -o "$TMPDIR/genes.gtf"
                genes=$TMPDIR/genes.gtf names=yes
            fi
            {params.python} "$GPD_ANNOTATION" genes --fai {input.fai:q} ${{names:+--gff3 "$TMPDIR/annotation"}} \\
                < "$genes" > {output:q}
            """,
            rule="annotation",
        )


rule mask:
    """Loci whose alignments Cufflinks' tools ignore."""
    input:
        mask=list(filter(None, [config["mask"]])),
        genes=GENES if config["mask_biotypes"] else [],
        fai="results/reference/genome.fa.fai",
    output:
        MASK,
    log:
        "logs/mask/mask.log",
    conda:
        "../../../envs/gffread.yaml"
    resources:
        mem_mb=1000,
    params:
        biotypes=config["mask_biotypes"],
    shell:
        bound(
            "reference",
            """
            for mask in {input.mask:q}; do
                gzip -cdf -- "$mask" | {params.python} "$GPD_ANNOTATION" genes --fai {input.fai:q}
            done > {output:q}
            for genes in {input.genes:q}; do
                {params.python} "$GPD_ANNOTATION" masked {params.biotypes:q} < "$genes"
            done >> {output:q}
            """,
            rule="mask",
        )
