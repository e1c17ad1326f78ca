# Steps 3 and 4: GATK 4 has no indel realigner. As published: 32 cores, and 1, for IndelRealigner knows no threads.


rule realigner_targets:
    """GATK 3 RealignerTargetCreator, with `realigner: gatk3`: where reads are to be aligned anew."""
    input:
        **reference,
        bam="results/mark_duplicates/{sample}.bam",
        bai="results/mark_duplicates/{sample}.bam.bai",
        known=known_indels,
        intervals=regions,
        called=CALLED,
    output:
        "results/realigner_targets/{sample}.intervals",
    log:
        "logs/realigner_targets/{sample}.log",
    conda:
        "../../../envs/gatk3.yaml"
    threads: 32
    resources:
        mem_mb=gatk3_mb,
        shard_mib=16,
    params:
        **scatter_parameters(),
        **GATK3,
        known=lambda wildcards, input: repeat("-known", input.known),
    shell:
        r"""
        {params.scatter} --over {input.bam:q} --intervals {input.called:q} --regions={input.intervals:q} \
            --suffix .intervals --gather lines --out {output:q} --log {log:q} {params.scattering} -- \
            {params.gatk3} -T RealignerTargetCreator -nt @threads -R {input.fasta:q} -I {input.bam:q} \
            {params.known} @regions -o @shard &>{log:q}
        """


rule realign_indels:
    """GATK 3 IndelRealigner, with `realigner: gatk3`; with `bqsr: none` its alignments are the final ones."""
    input:
        **reference,
        bam="results/mark_duplicates/{sample}.bam",
        bai="results/mark_duplicates/{sample}.bam.bai",
        targets="results/realigner_targets/{sample}.intervals",
        known=known_indels,
        n_free=N_FREE,
        counts=unit_counts,
    output:
        **made_alignment("realign_indels"),
    log:
        "logs/realign_indels/{sample}.log",
    conda:
        "../../../envs/gatk3.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        shard_mib=16,
    params:
        **scatter_parameters(),
        **checks("reads/count_reads.py"),
        **GATK3,
        is_final=is_final("realign_indels"),
        known=lambda wildcards, input: repeat("-known", input.known),
    shell:
        r"""
        (
            {params.scatter} --over {input.bam:q} --intervals {input.n_free:q} --unmapped --copied \
                --suffix .bam --gather bam --out {output.bam:q} --log {log:q} {params.scattering} -- \
                {params.gatk3} -T IndelRealigner -R {input.fasta:q} -I {input.bam:q} {params.known} \
                @regions -targetIntervals {input.targets:q} -o @shard
            if {params.is_final}; then {params.count_reads} sample --bam {output.bam:q} {input.counts:q}; fi
        ) &>{log:q}
        """
