# Step 3. One set of transcripts for all samples, with the annotation's names where it knows them.


rule merge:
    input:
        assemblies=expand("results/assemble/{sample}.gtf", sample=samples),
        genes=GENES,
        fasta="results/reference/genome.fa",
    output:
        "results/merge/transcripts.gtf",
    log:
        "logs/merge/transcripts.log",
    conda:
        "../../../envs/cufflinks.yaml"
    threads: 8
    resources:
        mem_mb=8000,
    shell:
        bound(
            "merge",
            """
            work=$(mktemp -d -p {resources.tmpdir:q}); trap 'rm -rf "$work"' EXIT
            printf '%s\\n' {input.assemblies:q} > "$work/assemblies.txt"
            cuffmerge -p {threads} --ref-gtf {input.genes:q} --ref-sequence {input.fasta:q} \\
                -o "$work" "$work/assemblies.txt"
            mv "$work/merged.gtf" {output:q}
            """,
        )
