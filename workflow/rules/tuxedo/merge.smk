# Step 3. One set of transcripts for all samples, with the annotation's names where it knows them.


rule merge:
    """Cuffmerge, not with `assembly: reference_only`: one set of transcripts for all samples, with the annotation's
    names."""
    input:
        assemblies=expand("results/assemble/{sample}.gtf", sample=samples),
        genes=GENES,
        fasta="results/reference/genome.fa",
        gates=gates(),
    output:
        result("results/merge/transcripts.gtf"),
    log:
        "logs/merge/transcripts.log",
    conda:
        "../../../envs/cufflinks.yaml"
    threads: 8
    resources:
        mem_mb=8000,
    shell:
        r"""
        (
            tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
            printf '%s\n' {input.assemblies:q} >"$tmp/assemblies.txt"
            cuffmerge -p {threads} --ref-gtf {input.genes:q} --ref-sequence {input.fasta:q} \
                -o "$tmp" "$tmp/assemblies.txt"
            mv "$tmp/merged.gtf" {output:q}
        ) &>{log:q}
        """
