# Step 4. GATK 3 only. IndelRealigner knows no threads: as published, 1 core.


rule realign_indels:
    input:
        **reference,
        bam="results/mark_duplicates/{sample}.bam",
        bai="results/mark_duplicates/{sample}.bam.bai",
        targets="results/realigner_targets/{sample}.intervals",
        known=known_indels,
        stretches=STRETCHES,
    output:
        bam=temp("results/realign_indels/{sample}.bam"),
        bai=temp("results/realign_indels/{sample}.bai"),
    log:
        "logs/realign_indels/{sample}.log",
    conda:
        "../../../envs/gatk3.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        piece_mib=16,
    params:
        gatk3=gatk3,
        gatk3_jar=config["gatk3_jar"],
        known=lambda wildcards, input: repeat("-known", input.known),
    shell:
        scattered(
            "realign_indels",
            """
            {params.gatk3} -T IndelRealigner -R {input.fasta:q} -I {input.bam:q} {params.known} \\
                "${{regions[@]}}" -targetIntervals {input.targets:q} -o "$piece"
            """,
            gather=GATHER_BAM,
            over="{input.bam:q}",
            piece="{output.bam:q}",
            suffix=".bam",
            stretches="{input.stretches:q}",
            options="--exact --unmapped --copied",
        )
