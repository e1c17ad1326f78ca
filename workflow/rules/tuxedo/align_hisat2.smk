# Step 1, HISAT2: what a bare machine runs. All lanes of a sample at once.


rule splice_sites:
    """The splice sites of the annotation, for HISAT2."""
    input:
        GENES,
    output:
        "results/reference/splice_sites.tsv",
    log:
        "logs/splice_sites/genes.log",
    conda:
        "../../../envs/hisat2.yaml"
    resources:
        mem_mb=2000,
        pinned_step="reference",
    params:
        **scripts("tuxedo/annotation.py"),
    shell:
        """
        {params.annotation} splice-sites <{input:q} >{output:q} 2>{log:q}
        """


rule hisat2_index:
    """HISAT2's index."""
    input:
        "results/reference/genome.fa",
    output:
        multiext("results/reference/genome", *HISAT2_INDEX),
    log:
        "logs/hisat2_index/genome.log",
    conda:
        "../../../envs/hisat2.yaml"
    threads: 8
    resources:
        mem_mb=8000,
        pinned_step="reference",
    params:
        index=lambda wildcards, output: index_prefix(output),
    shell:
        "hisat2-build-s --quiet -p {threads} {input:q} {params.index:q} &> {log:q}"


rule align:
    """HISAT2, or TopHat2 with Bowtie2: the alignments of all lanes, with counts of their reads."""
    input:
        reads=sample_reads,
        trimmed=trim_counts,
        splice_sites="results/reference/splice_sites.tsv",
        index=multiext("results/reference/genome", *HISAT2_INDEX),
    output:
        bam=result("results/align/{sample}.bam"),
        bai=result("results/align/{sample}.bam.bai"),
        counts="results/align/{sample}.json",
        summary=for_multiqc("results/align/{sample}.summary.txt"),
    log:
        "logs/align/{sample}.log",
    conda:
        "../../../envs/hisat2.yaml"
    threads: 16
    resources:
        mem_mb=16000,
    params:
        **checks("reads/count_reads.py"),
        index=lambda wildcards, input: index_prefix(input.index),
        reads=hisat2_reads,
        files=sample_reads,  # in order: what follows from `input` makes nothing again where it changes
        strandness=hisat2_strandness,
        lanes=lanes,
        min_mapped=min_mapped,
        trimmed=trimmed_lanes,
    # HISAT2 reads through count_reads.py, which counts records, while flagstat counts what goes to the sorter. The script
    # named hisat2 takes no pipes, and would hand the paths to a shell unquoted; hisat2-align-s is what it starts.
    shell:
        r"""
        (
            tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
            reads() {{ {params.count_reads} "$@"; }}
            stream() {{ reads stream --names --counts "$tmp" "$1"; }}
            hisat2-align-s -p {threads} --dta-cufflinks {params.strandness} \
                --rg-id {wildcards.sample:q} --rg SM:{wildcards.sample:q} \
                --known-splicesite-infile {input.splice_sites:q} --new-summary --summary-file {output.summary:q} \
                -x {params.index:q} {params.reads} \
                | samtools view -u - \
                | tee >(
                    samtools flagstat -O json - >"$tmp/flagstat"
                    true
                ) \
                | samtools sort -@ {threads} -m $(({resources.mem_mb} / 4 / {threads}))M -T "$tmp/sort" \
                    -o {output.bam:q} -
            samtools index {output.bam:q}
            reads unit --counts "$tmp" --lanes {params.lanes} --output {output.counts:q} {params.trimmed} {input.reads:q}
            reads mapped --least {params.min_mapped} {wildcards.sample:q} {output.counts:q}
        ) &>{log:q}
        """
