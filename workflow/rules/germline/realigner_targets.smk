# Step 3. GATK 3 only: GATK 4 has no indel realigner. As published: 32 cores.


rule realigner_targets:
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
        mem_mb=16000,
        piece_mib=16,
    params:
        gatk3=gatk3,
        gatk3_jar=config["gatk3_jar"],
        known=lambda wildcards, input: repeat("-known", input.known),
    shell:
        scattered(
            "realigner_targets",
            """
            {params.gatk3} -T RealignerTargetCreator -nt $GPD_THREADS -R {input.fasta:q} -I {input.bam:q} \\
                {params.known} "${{regions[@]}}" -o "$piece"
            """,
            gather="""
            xargs -d '\\n' -a "$list" cat -- > {output:q}
            """,
            over="{input.bam:q}",
            piece="{output:q}",
            suffix=".intervals",
            stretches="{input.called:q}",
            options="--intervals={input.intervals:q} --exact",
        )
