# Which sample is wrong: a row for each with a verdict; and expression by gene, of which some of it is. None holds up a step.

environment |= dict(
    GPD_FIGURES=source("quality/rna_figures.py"),
    GPD_MATRICES=source("tuxedo/expression.py"),
    GPD_READ_FEATURES=source("tuxedo/read_features.py"),
)
condition_of = {row["sample_name"]: row["condition"] for row in cohort.samples}
of_samples = [f"results/{rule}/{{sample}}.json" for rule in ("align", "read_strands", "read_features")]
of_all = [
    *("results/expression/gene_counts.tsv", "results/expression/gene_tpm.tsv"),
    *(["results/skipped_loci/skipped_loci_mqc.tsv"] if assembled or compared else []),
]
measured = [*(expand(path, sample=samples) for path in of_samples), *of_all]
measured_names = [*(f"{name}:{condition_of[name]}" for name in samples * len(of_samples)), *["all"] * len(of_all)]
targets, called_in = "", []


rule read_features:
    """What a sample's reads lie on, and what they tell of its library."""
    input:
        bam="results/align/{sample}.bam",
        bai="results/align/{sample}.bam.bai",
        genes=GENES,
    output:
        "results/read_features/{sample}.json",
    conda:
        "../../../envs/samtools.yaml"
    resources:
        mem_mb=2000,
    shell:
        bound(
            "qc",
            """
            {params.python} "$GPD_READ_FEATURES" --genes {input.genes:q} --bam {input.bam:q} > {output:q}
            """,
            rule="read_features",
        )


rule gene_expression:
    """Counts and TPM by gene. Cuffnorm wants two samples: it gets the one twice, so that nothing is scaled."""
    input:
        cxb="results/quantify/{sample}.cxb",
        transcripts=transcripts,
    output:
        "results/gene_expression/{sample}.tsv",
    conda:
        "../../../envs/cufflinks.yaml"
    threads: 1
    resources:
        mem_mb=4000,
    params:
        library=config["strandedness"],
    shell:
        bound(
            "qc",
            """
            cuffnorm --quiet --no-update-check -p {threads} --library-type {params.library} -L sample,again \\
                --library-norm-method classic-fpkm -o "$TMPDIR" {input.transcripts:q} {input.cxb:q} {input.cxb:q}
            {params.python} "$GPD_MATRICES" sample "$TMPDIR" > {output:q}
            """,
            rule="gene_expression",
        )


rule expression:
    input:
        expand("results/gene_expression/{sample}.tsv", sample=samples),
    output:
        counts="results/expression/gene_counts.tsv",
        tpm="results/expression/gene_tpm.tsv",
        genes="results/expression/genes.tsv",
    log:
        "logs/expression/expression.log",
    conda:
        "../../../envs/samtools.yaml"
    resources:
        mem_mb=1000,
    shell:
        bound(
            "qc",
            """
            {params.python} "$GPD_MATRICES" matrices --counts {output.counts:q} --tpm {output.tpm:q} \\
                --genes {output.genes:q} {input:q}
            """,
            rule="expression",
        )
