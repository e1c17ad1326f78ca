# Step 7, of a sample alone.


rule genotype_gvcfs:
    input:
        **reference,
        **DBSNP,
        **gvcf_of(called_by, "{callset}"),
        intervals=regions,
        called=CALLED,
    output:
        **calls_of("genotype_gvcfs"),
    conda:
        "../../../envs/gatk4.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        shard_mib=1,
    params:
        **own_arguments("genotype_gvcfs"),
        java=java,
    shell:
        scattered(
            "genotype_gvcfs",
            """
            gatk --java-options "{params.java}" GenotypeGVCFs -R {input.fasta:q} -V {input.gvcf:q} "${{regions[@]}}" \\
                --tmp-dir "$TMPDIR" -O "$shard"
            """.replace("GenotypeGVCFs", with_arguments("genotype_gvcfs", "GenotypeGVCFs", NAMES_IDS)),
            gather=GATHER_VCF,
            over="{input.gvcf:q}",
            whole="{output.vcf:q}",
            suffix=".vcf.gz",
            n_free="{input.called:q}",
            options="--intervals={input.intervals:q} --clip {input.fasta:q}",
        )
