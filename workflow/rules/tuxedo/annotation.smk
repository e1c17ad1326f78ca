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
            work=$(mktemp -d -p {resources.tmpdir:q}); trap 'rm -rf "$work"' EXIT
            gzip -cdf -- {input.annotation:q} > "$work/annotation"
            genes=$work/annotation names=
            if grep -m 1 -qE '^##gff-version 3|^[^#].*\t(ID|Parent|Name)=' "$work/annotation"; then
                echo "GFF3: gffread converts it to GTF" >&2
                gffread "$work/annotation" -T -o "$work/genes.gtf"
                genes=$work/genes.gtf names=yes
            fi
            {params.python} "$GPD_ANNOTATION" genes --fai {input.fai:q} ${{names:+--gff3 "$work/annotation"}} \\
                < "$genes" > {output:q}
            """,
            rule="annotation",
        )
