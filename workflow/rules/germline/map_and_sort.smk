# Step 1. One job a unit (lane), or a chunk of one: each unit has its own read group; mark_duplicates joins them.
# As published: all cores of a socket.


rule map_and_sort:
    input:
        reads=unit_reads,
        reference="results/reference/genome.fa",
        dict="results/reference/genome.dict",
        index=bwa_files,
        checked=checked,
    output:
        bam=temp("results/map_and_sort/{sample}/{unit}.bam"),
        bai=temp("results/map_and_sort/{sample}/{unit}.bam.bai"),
        counts="results/map_and_sort/{sample}/{unit}.json",
    log:
        "logs/map_and_sort/{sample}/{unit}.log",
    conda:
        f"../../../envs/{config['mapper']}.yaml"
    threads: mapping_threads("map_and_sort", 32)
    resources:
        mem_mb=mapping_mem_mb,
        within_h=0,
    params:
        index=index_prefix,
        bwa=bwa,
        guard=index_guard,
        read_group=read_group,
        streams=streams,
        reads=unit_reads,
    shell:
        bound(
            "map_and_sort",
            mapping("""
            stream() {{ reads stream --counts "$TMPDIR" "$1"; }}
            unpack() {{ reads stream --counts "$TMPDIR" --reference {input.reference:q} "$1"; }}
            {params.bwa} mem -t {threads} -Y -K BASES -R {params.read_group:q} "$index" {params.streams}
            """),
            before="{params.guard}",
        )


rule map_chunk:
    """A chunk of a unit that several jobs map (map_chunks): of N chunks, each is every N-th of bwa's batches.

    Each job reads the whole unit; grep removes the placeholders of other chunks' reads (batches() in reads.py).
    """
    input:
        reads=unit_reads,
        reference="results/reference/genome.fa",
        dict="results/reference/genome.dict",
        index=bwa_files,
        checked=checked,
    output:
        bam=temp("results/map_chunk/{sample}/{unit}/{shard}.bam"),
        bai=temp("results/map_chunk/{sample}/{unit}/{shard}.bam.bai"),
        counts="results/map_chunk/{sample}/{unit}/{shard}.json",
    log:
        "logs/map_chunk/{sample}/{unit}/{shard}.log",
    conda:
        f"../../../envs/{config['mapper']}.yaml"
    threads: mapping_threads("map_chunk", 8)
    resources:
        mem_mb=mapping_mem_mb,
        within_h=0,
    params:
        index=index_prefix,
        bwa=bwa,
        guard=index_guard,
        read_group=read_group,
        source=chunk_source,
        stdin=lambda wildcards: "--stdin" if units[wildcards.sample][wildcards.unit]["bam"] else "",
        interleaved=lambda wildcards: "-p" if units[wildcards.sample][wildcards.unit]["bam"] else "",
        reads=unit_reads,
    shell:
        bound(
            "map_and_sort",
            mapping(
                """
            {params.source} reads chunk --counts "$TMPDIR" --chunk {wildcards.shard} --batch-bases BASES \\
                {params.stdin} {input.reads:q} \\
                -- {params.bwa} mem -t {threads} -Y -K BASES -R {params.read_group:q} {params.interleaved} "$index" \\
            | LC_ALL=C grep -av $'^~~*\\t'
            """,
                chunk="--chunk {wildcards.shard} ",
            ),
            rule="map_chunk",
            before="{params.guard}",
        )


rule take_alignment:
    """A unit that comes aligned (bam_input: keep): decoded, counted, not mapped again."""
    input:
        reads=unit_reads,
        reference="results/reference/genome.fa",
        dict="results/reference/genome.dict",
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
            OF_REFERENCE
            samtools view -u -@ {threads} --reference {input.reference:q} {input.reads:q} \\
            | tee >(samtools flagstat -O json - > "$TMPDIR/flagstat"; true) \\
            | samtools view --output-fmt bam,level=1 -@ {threads} -o {output.bam:q} -
            {params.python} "$GPD_READS" unit --counts "$TMPDIR" --output {output.counts:q}
            """.replace("OF_REFERENCE", of_reference("{input.reads:q}")),
            rule="take_alignment",
        )
