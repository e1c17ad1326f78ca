# Step 1. One job a unit (lane): each has its own read group; mark_duplicates joins them.
# As published: all cores of a socket.


rule map_and_sort:
    input:
        reads=unit_reads,
        reference="results/reference/genome.fa",
        index=bwa_files,
    output:
        bam=temp("results/map_and_sort/{sample}/{unit}.bam"),
        bai=temp("results/map_and_sort/{sample}/{unit}.bam.bai"),
        counts="results/map_and_sort/{sample}/{unit}.json",
    log:
        "logs/map_and_sort/{sample}/{unit}.log",
    conda:
        "../../../envs/bwa.yaml"
    threads: 32
    resources:
        mem_mb=24000,
    params:
        index=lambda wildcards, input: input.index[0].removesuffix(".amb"),
        read_group=read_group,
        streams=streams,
        reads=unit_reads,
    # bwa reads through reads.py, which counts records, while flagstat counts what goes to the sorter. The sorter sees
    # the end of its input only when flagstat has closed the pipe too, so that count is whole by then.
    shell:
        bound(
            "map_and_sort",
            """
            counts=$(mktemp -d -p {resources.tmpdir:q}); trap 'rm -rf "$counts"' EXIT
            reads() {{ {params.python} "$GPD_READS" "$@"; }}
            stream() {{ reads stream --counts "$counts" "$1"; }}
            unpack() {{
                samtools collate --reference {input.reference:q} -u -O "$1" "$counts/collate" \\
                | samtools fastq -n - \\
                | reads stream --counts "$counts" --stdin "$1"
            }}
            bwa mem -t {threads} -Y -K 100000000 -R {params.read_group:q} {params.index:q} {params.streams} \\
            | samtools view -u - \\
            | tee >(samtools flagstat -O json - > "$counts/flagstat"; true) \\
            | sambamba sort -t {threads} -m $(({resources.mem_mb} / 4))M -l 1 --tmpdir {resources.tmpdir:q} \\
                -o {output.bam:q} /dev/stdin
            reads unit --counts "$counts" --output {output.counts:q} {input.reads:q}
            """,
        )


rule take_alignment:
    """A unit that comes aligned (bam_input: keep): decoded, counted, not mapped again."""
    input:
        reads=unit_reads,
        reference="results/reference/genome.fa",
    output:
        bam=temp("results/take_alignment/{sample}/{unit}.bam"),
        counts="results/take_alignment/{sample}/{unit}.json",
    log:
        "logs/take_alignment/{sample}/{unit}.log",
    conda:
        "../../../envs/bwa.yaml"
    threads: 4
    resources:
        mem_mb=4000,
    shell:
        bound(
            "map_and_sort",
            """
            counts=$(mktemp -d -p {resources.tmpdir:q}); trap 'rm -rf "$counts"' EXIT
            samtools view -u -@ {threads} --reference {input.reference:q} {input.reads:q} \\
            | tee >(samtools flagstat -O json - > "$counts/flagstat"; true) \\
            | samtools view --output-fmt bam,level=1 -@ {threads} -o {output.bam:q} -
            {params.python} "$GPD_READS" unit --counts "$counts" --output {output.counts:q}
            """,
            rule="take_alignment",
        )
