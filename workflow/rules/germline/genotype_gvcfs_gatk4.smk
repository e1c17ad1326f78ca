# Step 7, GATK 4. A joint call set goes through GenomicsDB rather than CombineGVCFs: its memory and time a sample stay
# flat as the cohort grows, where CombineGVCFs reads and rewrites every sample's GVCF in one stream.
# Whole contigs are imported, whatever the intervals: the GVCFs hold nothing outside of those, GATK merges contigs into
# partitions only where they are whole, and an assembly may have thousands.
# A database that is kept takes up new samples alone (scripts/genomics_db.py). Snakemake's own flag for outputs that jobs
# update, update(), would copy all of it before each job, and a copy that a killed run leaves behind stops the next one.

environment |= dict(GPD_GENOMICS_DB=source("genomics_db.py"), GPD_GENOMICSDB=config["genomicsdb"])


rule sample_map:
    """The cohort's GVCFs by name: a file, for they would not fit on a command line."""
    input:
        expand("results/haplotype_caller/{sample}.g.vcf.gz", sample=samples),
    output:
        temp("results/genomics_db_import/samples.tsv"),
    log:
        "logs/genomics_db_import/samples.log",
    localrule: True
    conda:
        "../../../envs/gatk4.yaml"
    params:
        names=names_of_input,
    script:
        "../../scripts/list_inputs.sh"


rule genomics_db_import:
    input:
        samples="results/genomics_db_import/samples.tsv",
        gvcfs=expand("results/haplotype_caller/{sample}.g.vcf.gz", sample=samples),
        tbis=expand("results/haplotype_caller/{sample}.g.vcf.gz.tbi", sample=samples),
        contigs="results/reference/genome.bed",
        stretches=STRETCHES,
    output:
        kept_database(directory("results/genomics_db_import/cohort")),
    log:
        "logs/genomics_db_import/cohort.log",
    conda:
        "../../../envs/gatk4.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        c1_below_mib=1,  # nothing that is sized here: 0 would leave the JVM as it comes
        piece_mib=1,
    params:
        java=java_native,
    # htslib reads GVCFs in about half of the CPU time that GATK's own reader takes. No other process opens the
    # workspace, so it needs no locks, which shared file systems are slow at.
    shell:
        scattered(
            "genotype_gvcfs",
            """
            mkdir -p "$(dirname "$piece")"
            {params.python} "$GPD_GENOMICS_DB" grow "$piece" --kept {output:q}.kept/current/"$number" \\
                --samples {input.samples:q} "${{regions[@]}}" -- \\
                gatk --java-options "{params.java}" GenomicsDBImport \\
                ${{contigs:+--merge-contigs-into-num-partitions 25}} --batch-size 50 \\
                --bypass-feature-reader --genomicsdb-shared-posixfs-optimizations --tmp-dir "$TMPDIR"
            """,
            gather="""
            mkdir -p {output:q}
            find "$folder" -maxdepth 1 '(' -name '*[0-9].bed' -o -name '*[0-9].json' ')' -exec cp -t {output:q} -- {{}} +
            find "$folder" -maxdepth 1 -name '*[0-9]' -exec mv -t {output:q} -- {{}} +
            """,
            finish="""
            {params.python} "$GPD_GENOMICS_DB" keep {output:q}
            """,
            over="{input.gvcfs[0]:q}",
            piece="{output:q}/1",
            suffix="",
            stretches="{input.stretches:q}",
            options="--intervals={input.contigs:q} --cut-as {output:q}.kept/current",
            rule="genomics_db_import",
            inputs="@{input.samples:q}",
        )


# a cohort's GenomicsDB has a workspace a piece, and each is genotyped as a piece
if config["calling"] == "joint":
    SOURCE, OVER, PARTS = 'gendb://{input.workspace:q}/"$part"', "{input.workspace:q}", "{input.workspace:q}"
else:
    SOURCE, OVER, PARTS = "{input.gvcf:q}", "{input.gvcf:q}", ""


rule genotype_gvcfs:
    input:
        unpack(gvcf_source),
        **reference,
        intervals=regions,
        called=CALLED,
    output:
        vcf="results/genotype_gvcfs/{callset}.vcf.gz",
        tbi="results/genotype_gvcfs/{callset}.vcf.gz.tbi",
    log:
        "logs/genotype_gvcfs/{callset}.log",
    conda:
        "../../../envs/gatk4.yaml"
    threads: 1
    resources:
        mem_mb=6000,
        c1_below_mib=4,
        piece_mib=1,
    params:
        java=java_gatk4,
        # Where the import of a new sample failed, Snakemake has noted its small inputs as seen, and would find nothing due
        gvcfs=callset_gvcfs,
    shell:
        scattered(
            "genotype_gvcfs",
            """
            gatk --java-options "{params.java}" GenotypeGVCFs -R {input.fasta:q} -V SOURCE "${{regions[@]}}" \\
                --tmp-dir "$TMPDIR" -O "$piece"
            """.replace("SOURCE", SOURCE),
            gather=GATHER_VCF,
            over=OVER,
            piece="{output.vcf:q}",
            suffix=".vcf.gz",
            stretches="{input.called:q}",
            options=f"--intervals={{input.intervals:q}} --clip {{input.fasta:q}} --parts={PARTS}",
        )
