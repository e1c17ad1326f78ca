# Step 6. Plots and the table of significant genes. plots.tsv names each plot, and why one could not be drawn.


rule visualize:
    """cummeRbund: plots, and `gene_exp.significant.tsv`; `plots.tsv` names each plot, and why one could not be drawn."""
    input:
        [f"{COMPARISON}/{table}" for table in TABLES],
    output:
        report(
            directory(result(for_multiqc(Path("results/visualize", CONTRAST).as_posix()))),
            patterns=["{plot}.png", "{table}.tsv"],
            category="Differential expression",
            caption="../../report/visualize.rst",
        ),
    log:
        f"logs/visualize/{CONTRAST or 'cummerbund'}.log",
    conda:
        "../../../envs/cummerbund.yaml"
    threads: 1
    resources:
        mem_mb=4000,
    params:
        **scripts("tuxedo/cummerbund.R"),
        fdr=config["cuffdiff"]["fdr"],
        top_genes=config["visualize"]["top_genes"],
        contrast=lambda wildcards: wildcards.get("contrast", ""),
    # cummeRbund keeps its database in the folder of the tables, so it gets a copy.
    shell:
        """
        (
            tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
            cp -- {input:q} "$tmp"
            mkdir -p {output:q}
            Rscript --vanilla {params.cummerbund} "$tmp" {output:q} {params.fdr} {params.top_genes} {params.contrast}
        ) &>{log:q}
        """
