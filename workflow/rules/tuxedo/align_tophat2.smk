# Step 1, TopHat 2 with Bowtie 2: as published. All lanes of a sample at once.

if workflow.resource_settings.overwrite_threads.get("tophat2", 1) != 1:
    sys.exit("set-threads: tophat2: with more than one thread TopHat loses spliced reads in silence: remove it")


rule bowtie2_index:
    """Bowtie2's indexes, with `aligner: tophat2`."""
    input:
        "results/reference/genome.fa",
    output:
        BOWTIE2_INDEX,
    log:
        "logs/bowtie2_index/genome.log",
    conda:
        "../../../envs/tophat.yaml"
    resources:
        mem_mb=8000,
        pinned_step="reference",
    params:
        index=lambda wildcards, output: index_prefix(output),
    # TopHat looks for the sequences beside their index.
    shell:
        """
        (
            ln -sf ../genome.fa {params.index:q}.fa
            bowtie2-build --quiet {input:q} {params.index:q}
        ) &>{log:q}
        """


rule tophat2:
    """TopHat2, with `aligner: tophat2`: what it aligned and what it did not."""
    input:
        reads=sample_reads,
        genes=GENES,
        index=BOWTIE2_INDEX,
    output:
        mapped=temp("results/tophat2/{sample}/accepted_hits.bam"),
        unmapped=temp("results/tophat2/{sample}/unmapped.bam"),
        summary=for_multiqc("results/align/{sample}.align_summary.txt"),  # which MultiQC knows by its name
    log:
        "logs/tophat2/{sample}.log",
    conda:
        "../../../envs/tophat.yaml"
    threads: 1
    resources:
        mem_mb=16000,
        pinned_step="align",
    params:
        index=lambda wildcards, input: index_prefix(input.index),
        links=tophat_links,
        reads=tophat_reads,
        files=sample_reads,  # in order: what follows from `input` makes nothing again where it changes
        own=shlex.join(shlex.split(config["extra"]["tophat2"])),
        library=config["strandedness"].replace("auto", "fr-unstranded"),
        novel="--no-novel-juncs" if config["assembly"] == "reference_only" else "",
    shell:
        r"""
        (
            tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
            {params.links}
            tophat2 -p {threads} {params.own} --library-type {params.library} -G {input.genes:q} \
                {params.novel} -o "$tmp/out" {params.index:q} {params.reads} \
                || {{ status=$?; (cd "$tmp/out/logs" && tail -n 5 *prep_reads*.log) >&2 || true; exit $status; }}
            mv "$tmp/out/align_summary.txt" {output.summary:q}
            mv "$tmp/out/accepted_hits.bam" {output.mapped:q}
            if [ -e "$tmp/out/unmapped.bam" ]; then # not where all reads map
                mv "$tmp/out/unmapped.bam" {output.unmapped:q}
            else
                : >{output.unmapped:q}
            fi
        ) &>{log:q}
        """


rule align:
    """HISAT2, or TopHat2 with Bowtie2: the alignments of all lanes, with counts of their reads."""
    input:
        mapped="results/tophat2/{sample}/accepted_hits.bam",
        unmapped="results/tophat2/{sample}/unmapped.bam",
        reads=sample_reads,
        trimmed=trim_counts,
    output:
        bam=result("results/align/{sample}.bam"),
        bai=result("results/align/{sample}.bam.bai"),
        counts="results/align/{sample}.json",
    log:
        "logs/align/{sample}.log",
    conda:
        "../../../envs/samtools.yaml"
    resources:
        mem_mb=1000,
    params:
        **checks("reads/count_reads.py"),
        lanes=lanes,
        min_mapped=min_mapped,
        trimmed=trimmed_lanes,
    shell:
        r"""
        (
            tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
            reads() {{ {params.count_reads} "$@"; }}
            for fastq in {input.reads:q}; do reads stream --counts "$tmp" "$fastq" | wc -l; done
            {{ samtools view -h {input.mapped:q}; [ ! -s {input.unmapped:q} ] || samtools view {input.unmapped:q}; }} \
                | samtools flagstat -O json - >"$tmp/flagstat"
            reads unit --counts "$tmp" --lanes {params.lanes} --output {output.counts:q} {params.trimmed} {input.reads:q} \
                || {{ echo "error: TopHat lost reads of {wildcards.sample}, or they are damaged (see above)" >&2; exit 1; }}
            reads mapped --least {params.min_mapped} {wildcards.sample:q} {output.counts:q}
            cp {input.mapped:q} {output.bam:q}
            samtools index {output.bam:q}
        ) &>{log:q}
        """
