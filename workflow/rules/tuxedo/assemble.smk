# Step 2. Each sample's transcripts, guided by the annotation or without it (assembly: guided, de_novo).


rule assemble:
    """Cufflinks, not with `assembly: reference_only`: the sample's transcripts, and loci that it passed over."""
    input:
        bam="results/align/{sample}.bam",
        strands="results/read_strands/{sample}.json",
        genes=GENES,
        fasta="results/reference/genome.fa",
        mask=mask,
    output:
        gtf="results/assemble/{sample}.gtf",
        skipped="results/assemble/skipped/{sample}.gtf",
    log:
        "logs/assemble/{sample}.log",
    conda:
        "../../../envs/cufflinks.yaml"
    threads: 16
    resources:
        mem_mb=8000,
    params:
        **scripts("tuxedo/library_type.py"),
        guide='--GTF-guide "$genes"' if config["assembly"] == "guided" else "",
        library=LIBRARY,
        passed_over=PASSED_OVER,
    shell:
        r"""
        (
            tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
            library=$({params.library_type} library {wildcards.sample:q} <{input.strands:q})
            genes={input.genes:q} fasta={input.fasta:q} mask={input.mask:q}
            cufflinks --quiet --no-update-check -p {threads} --library-type "$library" {params.library} {params.guide} \
                {params.passed_over} -o "$tmp" {input.bam:q}
            mv "$tmp/skipped.gtf" {output.skipped:q}
            mv "$tmp/transcripts.gtf" {output.gtf:q}
        ) &>{log:q}
        """
