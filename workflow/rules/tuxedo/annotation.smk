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
        pinned_step="reference",
    params:
        **scripts("tuxedo/annotation.py"),
    # gffread reads no compressed files; GTF does not pass through it, which would lose attributes.
    shell:
        r"""
        (
            tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
            gzip -cdf -- {input.annotation:q} >"$tmp/annotation"
            genes=$tmp/annotation names=
            if grep -m 1 -qE '^##gff-version 3|^[^#].*\t(ID|Parent|Name)=' "$tmp/annotation"; then
                echo "GFF3: gffread converts it to GTF" >&2
                gffread "$tmp/annotation" -T -o "$tmp/genes.gtf"
                genes=$tmp/genes.gtf names=yes
            fi
            {params.annotation} genes --fai {input.fai:q} ${{names:+--gff3 "$tmp/annotation"}} \
                <"$genes" >{output:q}
        ) &>{log:q}
        """


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
        pinned_step="reference",
    params:
        **scripts("tuxedo/annotation.py"),
        biotypes=config["mask_biotypes"],
    shell:
        """
        (
            for mask in {input.mask:q}; do
                gzip -cdf -- "$mask" | {params.annotation} genes --fai {input.fai:q}
            done >{output:q}
            for genes in {input.genes:q}; do
                {params.annotation} masked {params.biotypes:q} <"$genes"
            done >>{output:q}
        ) &>{log:q}
        """
