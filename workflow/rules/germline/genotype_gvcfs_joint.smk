# Step 7, of all samples. They go through GenomicsDB rather than CombineGVCFs: its memory and time a sample stay flat
# as the cohort grows, where CombineGVCFs reads and rewrites every sample's GVCF in one stream. Each interval has a database.
# A database that is kept takes up new samples alone (scripts/germline/genomics_db.py). Snakemake's own flag for outputs that jobs
# update, update(), would copy all of it before each job, and a copy that a killed run leaves behind stops the next one.

DATABASE = directory("results/genomics_db_import/{interval}")


rule genomics_db_import:
    """GATK GenomicsDBImport, with `calling: joint`: the GenomicsDB of an interval, which stays with `genomicsdb: kept`."""
    input:
        samples="results/genomics_db_import/files.txt",
        gvcfs=expand(FINAL_GVCF, sample=samples),
        tbis=expand(f"{FINAL_GVCF}.tbi", sample=samples),
        wide=WIDE,
        gates=gates(),
    output:
        DATABASE if config["genomicsdb"] == "kept" else temp(DATABASE),
    log:
        "logs/genomics_db_import/{interval}.log",
    conda:
        "../../../envs/gatk4.yaml"
    threads: 1
    resources:
        mem_mb=4000,  # for a batch of 50 samples, however many there are
        pinned_step="genotype_gvcfs",
    params:
        **scripts("germline/genomics_db.py"),
        java=java("GenomicsDBImport", **NATIVE),
        # of the input, as far as Snakemake knows: whether a database stays changes no result
        kept=lambda wildcards, input: "--kept" if config["genomicsdb"] == "kept" else "",
    # htslib reads GVCFs in about half of the CPU time that GATK's own reader takes. No other process opens the
    # workspace, so it needs no locks, which shared file systems are slow at. GATK joins contigs into partitions only where
    # all are whole, and those of an interval of many are.
    shell:
        r"""
        (
            join=()
            [ "$(wc -l <{input.wide:q})" -le 25 ] || join=(--merge-contigs-into-num-partitions 25)
            {params.genomics_db} {output:q} --samples {input.samples:q} -L {input.wide:q} {params.kept} -- \
                gatk --java-options "{params.java}" GenomicsDBImport "${{join[@]}}" --batch-size 50 \
                --bypass-feature-reader --genomicsdb-shared-posixfs-optimizations --tmp-dir "$TMPDIR"
        ) &>{log:q}
        """


rule genotype_interval:
    """GenotypeGVCFs of an interval of a joint call set."""
    input:
        **reference,
        **DBSNP,
        workspace="results/genomics_db_import/{interval}",
        interval=INTERVAL,
        wide=WIDE,
    output:
        temp("results/genotype_interval/{interval}.vcf.gz"),
    log:
        "logs/genotype_interval/{interval}.log",
    conda:
        "../../../envs/gatk4.yaml"
    threads: 1
    resources:
        mem_mb=4000 + 2 * len(samples),
        pinned_step="genotype_gvcfs",
    params:
        **own_arguments("genotype_gvcfs"),
        dbsnp=names_ids,
        java=java("GenotypeGVCFs", **NATIVE),
        # Where the import of a new sample failed, Snakemake has noted its small inputs as seen, and would find nothing due
        gvcfs=callset_gvcfs,
    # Of the wider interval, records that start in this one stay; its file has a line a contig, counted from 0.
    shell:
        r"""
        (
            gatk --java-options "{params.java}" GenotypeGVCFs {params.dbsnp} {params.own} -R {input.fasta:q} -V gendb://{input.workspace:q}/workspace \
                -L {input.wide:q} --variant-output-filtering STARTS_IN --create-output-variant-index false \
                --tmp-dir "$TMPDIR" -O {output:q}
            if ! cmp -s {input.interval:q} {input.wide:q}; then
                tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
                bgzip -dc {output:q} \
                    | awk -F '\t' 'NR == FNR {{ start[$1] = $2; end[$1] = $3; next }} \
                        /^#/ || ($1 in start && $2 > start[$1] + 0 && $2 <= end[$1] + 0)' {input.interval:q} - \
                    | bgzip -c >"$tmp/own.vcf.gz"
                mv "$tmp/own.vcf.gz" {output:q}
            fi
        ) &>{log:q}
        """
