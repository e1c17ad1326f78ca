# Step 1. One job a unit (lane): each has its own read group; mark_duplicates joins them.
# As published: all cores of a socket.


rule map_and_sort:
    """bwa mem (or bwa-mem4, bwa-mem2), samtools and sambamba sort in one pipe: a lane's alignments, with counts of its
    reads."""
    input:
        reads=lane_reads,
        trimmed=trim_counts,
        reference=decoded_with,
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
        f"../../../envs/{mapper.conda}.yaml"
    threads: mapping_threads
    resources:
        mem_mb=mapping_mem_mb,
        even_share=1,  # few lanes share all cores
    params:
        **checks("reads/count_reads.py", "checks/same_genome.py"),
        **own_arguments("map_and_sort"),
        batch=BATCH_BASES,
        to_bam=TO_BAM[config["duplicates"]],
        index=index_prefix,
        bwa=bwa,
        read_group=read_group,
        streams=streams,
        reads=unit_reads,
        trimmed=trimmed_lanes,
    # bwa reads through reads.py, which counts records, while flagstat counts what goes to the sorter. The sorter sees the
    # end of its input only when flagstat has closed the pipe too, so that count is whole by then.
    # bwa takes whatever index anybody on the machine has put into shared memory under the last part of its prefix. So it
    # gets the index by links under a name drawn for this job alone, which also hide what else lies beside a user's index.
    shell:
        r"""
        (
            tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
            reads() {{ {params.count_reads} "$@"; }}
            prefix={params.index:q}
            index=$(mktemp -u -p "$tmp" bwa-XXXXXXXXXXXX)
            for file in {input.index:q}; do ln -s "$(realpath -- "$file")" "$index${{file#"$prefix"}}"; done
            stream() {{ reads stream --counts "$tmp" "$1"; }}
            unpack() {{ reads stream --counts "$tmp" --reference {input.reference:q} "$1"; }}
            {params.bwa} mem -t {threads} -Y -K {params.batch} {params.own} -R {params.read_group:q} "$index" {params.streams} \
                | {params.to_bam} \
                | tee >(
                    samtools flagstat -O json - >"$tmp/flagstat"
                    true
                ) \
                | sambamba sort -t {threads} -m $(({resources.mem_mb} / 4))M -l 1 --tmpdir "$tmp" \
                    -o {output.bam:q} /dev/stdin
            samtools view -H {output.bam:q} \
                | {params.same_genome} header --dict {input.dict:q} {output.bam:q}
            reads unit --counts "$tmp" --output {output.counts:q} {params.trimmed} {input.reads:q}
        ) &>{log:q}
        """


rule take_alignment:
    """A unit that comes aligned, with `bam_input: keep`: decoded, counted, not mapped again."""
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
        pinned_step="map_and_sort",
    params:
        **checks("checks/same_genome.py", "reads/count_reads.py"),
    shell:
        r"""
        (
            tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
            samtools view -H {input.reads:q} \
                | {params.same_genome} header --dict {input.dict:q} {input.reads:q}
            samtools view -u -@ {threads} --reference {input.reference:q} {input.reads:q} \
                | tee >(
                    samtools flagstat -O json - >"$tmp/flagstat"
                    true
                ) \
                | samtools view --output-fmt bam,level=1 -@ {threads} -o {output.bam:q} -
            {params.count_reads} unit --counts "$tmp" --output {output.counts:q}
        ) &>{log:q}
        """
