# Step 3. GATK 3 only: GATK 4 has no indel realigner. As published: 32 cores.


rule realigner_targets:
    input:
        **reference,
        bam="results/mark_duplicates/{sample}.bam",
        bai="results/mark_duplicates/{sample}.bam.bai",
        known=known_indels,
        intervals=regions,
    output:
        "results/realigner_targets/{sample}.intervals",
    log:
        "logs/realigner_targets/{sample}.log",
    conda:
        "../../../envs/gatk3.yaml"
    threads: 32
    resources:
        mem_mb=16000,
    params:
        gatk3=gatk3,
        gatk3_jar=config["gatk3_jar"],
        known=lambda wildcards, input: repeat("-known", input.known),
        intervals=intervals,
    shell:
        bound(
            "realigner_targets",
            """
            {params.gatk3} -T RealignerTargetCreator -nt {threads} -R {input.fasta:q} -I {input.bam:q} \\
                {params.known} {params.intervals} -o {output:q}
            """,
        )
