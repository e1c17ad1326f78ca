# Which sample is wrong: a row for each with a verdict; and expression by gene, of which some of it is. None holds up a step,
# unless samples fail by their quality, too (failed_samples).

FIGURES = "quality/rna_figures.py"
group_of = {row["sample_name"]: row["condition"] for row in cohort.samples}
COUNTS = expand("results/gene_counts/{sample}.tsv", sample=samples)
of_alignments = [f"results/{rule}/{{sample}}.json" for rule in ("align", "read_strands", "read_features")]
of_samples = [*of_alignments, *(["results/assemble/skipped/{sample}.gtf"] if assembled else [])]
of_all = ["results/expression/gene_counts.tsv", "results/expression/gene_tpm.tsv"]  # and nothing of what is compared
measured = [*expand(of_samples, sample=samples), *of_all, *of_trimming]
measured_names = [
    *(f"{name}:{group_of[name]}" for name in samples * len(of_samples)),
    *["all"] * len(of_all),
    *(f"{sample}:{group_of[sample]}" for sample, _ in trimmed_units),
]
# by list_files, some with names before them
listed, listed_names = {"qc": measured, "expression": COUNTS}, {"qc": measured_names}
opened_first = {
    **({"genes": GENE_TABLE, "tests": f"{COMPARISON}/gene_exp.diff"} if compared else {}),
    **({"plots": Path("results/visualize", CONTRAST).as_posix()} if config["stop_after"] == "visualize" else {}),
    "counts": of_all[0],
    "alignments": FINAL_BAM,
}
targets, called_in, SEX_CONTIGS, UNJUDGED_SEX = "", [], "", ""
# Cuffdiff leaves cores idle for most of its time: what it does not wait for runs beside it, or where nothing else can
beside_comparison = ["read_features", "gene_counts", "samtools_stats"] if compared else []
postponed = {workflow.modifier.modify_rulename(name) for name in beside_comparison}


rule read_features:
    """What a sample's reads lie on, and what they tell of its library."""
    input:
        bam="results/align/{sample}.bam",
        bai="results/align/{sample}.bam.bai",
        genes=GENES,
    output:
        "results/read_features/{sample}.json",
    log:
        "logs/read_features/{sample}.log",
    conda:
        "../../../envs/samtools.yaml"
    resources:
        mem_mb=2000,
        pinned_step="qc",
    params:
        **scripts("tuxedo/read_features.py"),
    shell:
        """
        {params.read_features} --genes {input.genes:q} --bam {input.bam:q} >{output:q} 2>{log:q}
        """


rule gene_counts:
    """Reads, of pairs fragments, that lie on exons of one gene alone and have no other place: for DESeq2 and edgeR."""
    input:
        bam="results/align/{sample}.bam",
        bai="results/align/{sample}.bam.bai",
        genes=GENES,
        strands="results/read_strands/{sample}.json",
    output:
        "results/gene_counts/{sample}.tsv",
    log:
        "logs/gene_counts/{sample}.log",
    conda:
        "../../../envs/subread.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        pinned_step="qc",
    params:
        **scripts("tuxedo/library_type.py", "tuxedo/expression.py"),
        pairs=lambda wildcards: "-p --countReadPairs" if is_paired(wildcards.sample) else "",
    # featureCounts takes a file without alignments for another library than was said
    shell:
        r"""
        (
            tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
            strand=$({params.library_type} featurecounts <{input.strands:q})
            {params.expression} exons <{input.genes:q} >"$tmp/exons.saf"
            samtools idxstats {input.bam:q} >"$tmp/contigs"
            if awk '$3 + $4 {{ found = 1 }} END {{ exit !found }}' "$tmp/contigs"; then
                featureCounts -T {threads} {params.pairs} -s "$strand" -F SAF -a "$tmp/exons.saf" \
                    --tmpDir "$tmp" -o "$tmp/counts" {input.bam:q}
                {params.expression} table --exons "$tmp/exons.saf" --counts "$tmp/counts" >{output:q}
            else
                {params.expression} table --exons "$tmp/exons.saf" >{output:q}
            fi
        ) &>{log:q}
        """


rule expression:
    """A matrix of the counts of all samples, and one of TPM."""
    input:
        COUNTS,
        files="results/expression/files.txt",
        genes=GENES,
    output:
        counts="results/expression/gene_counts.tsv",
        tpm="results/expression/gene_tpm.tsv",
        genes="results/expression/genes.tsv",
    log:
        "logs/expression/expression.log",
    conda:
        "../../../envs/samtools.yaml"
    resources:
        mem_mb=2000,
        pinned_step="qc",
    params:
        **scripts("tuxedo/expression.py"),
    shell:
        r"""
        {params.expression} matrices --annotation {input.genes:q} --files {input.files:q} \
            --counts {output.counts:q} --tpm {output.tpm:q} --genes {output.genes:q} &>{log:q}
        """
