# Step 4. A sample's fragments a transcript, in Cufflinks' own binary form (CXB).


rule quantify:
    """Cuffquant: a sample's fragments a transcript, in its binary form."""
    input:
        bam="results/align/{sample}.bam",
        strands="results/read_strands/{sample}.json",
        transcripts=transcripts,
        fasta="results/reference/genome.fa",
        mask=mask,
    output:
        result("results/quantify/{sample}.cxb"),
    log:
        "logs/quantify/{sample}.log",
    conda:
        "../../../envs/cufflinks.yaml"
    threads: 16
    resources:
        mem_mb=8000,
    params:
        **scripts("tuxedo/library_type.py"),
        library=LIBRARY,
        passed_over=PASSED_OVER,
    shell:
        r"""
        (
            tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
            library=$({params.library_type} library {wildcards.sample:q} <{input.strands:q})
            fasta={input.fasta:q} mask={input.mask:q}
            cuffquant --quiet --no-update-check -p {threads} --library-type "$library" {params.library} \
                {params.passed_over} -o "$tmp" {input.transcripts:q} {input.bam:q}
            mv "$tmp/abundances.cxb" {output:q}
        ) &>{log:q}
        """
