# Which sample is wrong: a row for each with a verdict. It holds up no step, unless samples that fail shall be dropped or stop
# the run (qc.action). What it reads of reads, duplicates and variants stands in samtools_stats, mark_duplicates and bcftools_stats.

environment |= dict(
    GPD_FIGURES=source("quality/figures.py"),
    GPD_GENOTYPES=source("quality/genotypes.py"),
    GPD_HAPLOID=source("quality/haploid.py"),
    GPD_IDENTITY=source("quality/identity.py"),
    GPD_LANES=source("quality/lanes.py"),
)
COMMON_SITES = [indexed("common_sites", config["common_sites"], KNOWN)] if config["common_sites"] else []
RAREST = 0.2  # allele frequency up to which CalculateContamination takes sites, as GATK's own default
IDENTITY_SITES = 20_000  # that a sample's call set gives about; a genome has a SNP in 1,000 bases

of_alignments = [
    *("results/samtools_stats/{sample}.txt", "results/mark_duplicates/{sample}.txt"),
    *("results/depth/{sample}.txt", "results/depth/distribution/{sample}.txt"),
    *(["results/contamination/{sample}.tsv", "results/lanes/{sample}.tsv"] if COMMON_SITES else []),
]
of_calls = [
    *(["results/haploid_calls/{callset}.tsv"] if has_haploid_calls else []),  # to be added to the next ones
    *("results/bcftools_stats/{callset}.txt", "results/bcftools_stats/all_records/{callset}.txt"),
    *novel.values(),
    *([] if COMMON_SITES else ["results/call_genotypes/allele_balance/{callset}.tsv"]),
]
genotypes = (
    expand("results/contamination/genotypes/{sample}.tsv", sample=samples)
    if COMMON_SITES
    else expand("results/call_genotypes/{callset}.tsv", callset=callsets)
)
KNOWN_GENOTYPES = [path] if (path := config["qc"]["known_genotypes"]) else []
group_of = sexes
PAIRS = "results/identity/pairs.tsv"
measured = [
    *(expand(path, sample=samples) for path in of_alignments),
    *(expand(path, callset=callsets) for path in of_calls),
    [PAIRS],
]
measured_names = [
    *(f"{name}:{sexes[name]}" for name in samples * len(of_alignments)),
    *callsets * len(of_calls),
    "all",
]
targets = "--targets" if of_targets() else ""
called_in = [TARGETS]
sexual = config["qc"]["sex_contigs"]
SEX_CONTIGS = f"--sex-contigs {shlex.quote(json.dumps(dict(zip('xy', sexual))))}" if sexual else ""
UNJUDGED_SEX = "--unjudged-sex warn" if isinstance(config["ploidy_regions"], dict) else ""  # it decides the ploidy


rule depth:
    """Over the targets, or the called bases of a genome; where mates overlap, once."""
    input:
        **alignment_of(aligned_by),
        called=TARGETS,
    output:
        summary="results/depth/{sample}.txt",
        distribution="results/depth/distribution/{sample}.txt",
    log:
        "logs/depth/{sample}.log",
    conda:
        "../../../envs/mosdepth.yaml"
    threads: 1
    resources:
        mem_mb=depth_mb,
    # more digits than two, of shares
    shell:
        bound(
            "qc",
            """
            cut -f 1-3 {input.called:q} > "$TMPDIR/called.bed"
            export MOSDEPTH_PRECISION=6
            mosdepth --no-per-base --by "$TMPDIR/called.bed" "$TMPDIR/depth" {input.bam:q}
            cat "$TMPDIR/depth.mosdepth.summary.txt" > {output.summary:q}
            cat "$TMPDIR/depth.mosdepth.region.dist.txt" > {output.distribution:q}
            """,
            rule="depth",
        )


rule contamination:
    """By the alleles of reads at common sites, which also tell who a sample is of."""
    input:
        **alignment_of(aligned_by),
        sites=COMMON_SITES,
        sites_index=[f"{vcf}.tbi" for vcf in COMMON_SITES],
    output:
        table="results/contamination/{sample}.tsv",
        genotypes="results/contamination/genotypes/{sample}.tsv",
    log:
        "logs/contamination/{sample}.log",
    conda:
        "../../../envs/gatk4.yaml"
    threads: 1
    resources:
        mem_mb=2000,
    params:
        java=java,
        rarest=RAREST,
    shell:
        bound(
            "qc",
            """
            gatk --java-options "{params.java}" GetPileupSummaries -I {input.bam:q} -V {input.sites:q} -L {input.sites:q} \\
                --maximum-population-allele-frequency 1 --tmp-dir "$TMPDIR" -O "$TMPDIR/all.table"
            awk -F '\\t' 'NF < 6 || $6 == "allele_frequency" || $6 <= {params.rarest}' "$TMPDIR/all.table" \\
                 > "$TMPDIR/rare.table"
            gatk --java-options "{params.java}" CalculateContamination -I "$TMPDIR/rare.table" --tmp-dir "$TMPDIR" \\
                -O {output.table:q}
            {params.python} "$GPD_GENOTYPES" pileups --sample {wildcards.sample:q} "$TMPDIR/all.table" \\
                > {output.genotypes:q}
            """,
            rule="contamination",
        )


rule lanes:
    """Whether all lanes of a sample are of one person: their reads at common sites, by read group."""
    input:
        **alignment_of(aligned_by),
        fasta=reference["fasta"],
        fai=reference["fai"],
        sites=COMMON_SITES,
        sites_index=[f"{vcf}.tbi" for vcf in COMMON_SITES],
    output:
        "results/lanes/{sample}.tsv",
    log:
        "logs/lanes/{sample}.log",
    conda:
        "../../../envs/gatk4.yaml"
    resources:
        mem_mb=1000,
    # read groups are lanes, and each becomes a sample; bcftools takes no names with blanks, nor lanes.py with commas
    shell:
        bound(
            "qc",
            r"""
            bcftools query -f '%CHROM\t%POS\t%REF\t%ALT\n' {input.sites:q} > "$TMPDIR/sites"
            samtools view -H {input.bam:q} | sed -n 's/^@RG.*\tID:\([^\t ,]*\)\(\t.*\)\?$/\1/p' \
            > "$TMPDIR/lanes"
            if [ "$(wc -l < "$TMPDIR/lanes")" -gt 1 ]; then
                awk '{{ print $0 "\t" NR }}' "$TMPDIR/lanes" > "$TMPDIR/groups"
                bcftools mpileup --no-BAQ -q 20 -Q 20 -d 1000 -a FORMAT/AD -f {input.fasta:q} -R {input.sites:q} \
                    -G "$TMPDIR/groups" -Ou {input.bam:q} \
                | bcftools query -f '%CHROM\t%POS\t%REF\t%ALT[\t%AD]\n' - > "$TMPDIR/counts"
            else
                : > "$TMPDIR/counts"
            fi
            {params.python} "$GPD_LANES" --lanes "$(paste -s -d , "$TMPDIR/lanes")" --sites "$TMPDIR/sites" \
                < "$TMPDIR/counts" > {output:q}
            """,
            rule="lanes",
        )


rule call_genotypes:
    """SNPs of a call set, where no common sites are given: the balance of alleles, and who a sample is of."""
    input:
        vcf=calls,
    output:
        genotypes="results/call_genotypes/{callset}.tsv",
        balance="results/call_genotypes/allele_balance/{callset}.tsv",
    log:
        "logs/call_genotypes/{callset}.log",
    conda:
        "../../../envs/bcftools.yaml"
    resources:
        mem_mb=2000,
    params:
        every=lambda wildcards: max(1, called_bases() // 1000 // IDENTITY_SITES),
        common=" && INFO/AF>=0.05 && INFO/AF<=0.95" if config["calling"] == "joint" else "",
    shell:
        bound(
            "qc",
            r"""
            bcftools query -l {input.vcf:q} > "$TMPDIR/samples"
            bcftools query -i 'TYPE="snp" && N_ALT=1 && (FILTER="PASS" || FILTER="."){params.common}' \
                -f '%CHROM\t%POS[\t%GT:%AD]\n' {input.vcf:q} \
            | {params.python} "$GPD_GENOTYPES" calls --every {params.every} --samples "$TMPDIR/samples" \
                --genotypes {output.genotypes:q} --balance {output.balance:q}
            """,
            rule="call_genotypes",
        )


rule haploid_calls:
    """SNPs and indels among haploid calls, which bcftools stats does not tell apart."""
    input:
        vcf=calls,
        tbi=f"{calls}.tbi",
        ploidy=[] if called_haploid else ploidy_files(),
    output:
        "results/haploid_calls/{callset}.tsv",
    log:
        "logs/haploid_calls/{callset}.log",
    conda:
        "../../../envs/bcftools.yaml"
    resources:
        mem_mb=1000,
    # where all is haploid the whole call set, else the regions that are: as those of a name without .bed, counted from 1
    shell:
        bound(
            "qc",
            r"""
            for file in {input.ploidy:q}; do
                case "$file" in *.bed) shift=1 ;; *) shift=0 ;; esac
                awk -v shift="$shift" '!/^(#|@|track |browser )/ && NF {{ print $1 "\t" $2 + shift "\t" $3 }}' "$file"
            done > "$TMPDIR/regions"
            only=()
            if [ -s "$TMPDIR/regions" ]; then only=(-R "$TMPDIR/regions"); fi
            bcftools query "${{only[@]}}" -i 'GT="A"' -f '[%SAMPLE\t%FILTER\t%ID\t%REF\t%ALT\t%GT\n]' {input.vcf:q} \
            | {params.python} "$GPD_HAPLOID" > {output:q}
            """,
            rule="haploid_calls",
        )


rule identity_files:
    input:
        genotypes,
    output:
        temp("results/identity/files.txt"),
    log:
        "logs/identity/files.log",
    localrule: True
    conda:
        "../../../envs/samtools.yaml"
    script:
        "../../scripts/list_inputs.sh"


rule identity:
    """All pairs of samples: who is one person, or of the first degree; and whose known genotypes each has."""
    input:
        genotypes,
        files="results/identity/files.txt",
        known=KNOWN_GENOTYPES,
    output:
        PAIRS,
    log:
        "logs/identity/identity.log",
    conda:
        "../../../envs/bcftools.yaml"
    resources:
        mem_mb=2000,
    shell:
        bound(
            "qc",
            r"""
            for known in {input.known:q}; do
                bcftools query -l "$known" | paste -s
                bcftools query -i 'N_ALT<2 && (TYPE="snp" || TYPE="ref")' -f '%CHROM\t%POS[\t%GT]\n' "$known"
            done \
            | {params.python} "$GPD_IDENTITY" {input.files:q} > {output:q}
            """,
            rule="identity",
            inputs="@{input.files:q}",
        )


rule sex_check:
    """Where regions of other ploidy are given by sex, whether they are the sample's: else its calls would be wrong."""
    input:
        **alignment_of(aligned_by),
        called=N_FREE,
    output:
        "results/sex_check/{sample}.tsv",
    log:
        "logs/sex_check/{sample}.log",
    conda:
        "../../../envs/samtools.yaml"
    resources:
        mem_mb=1000,
    params:
        sex_contigs=SEX_CONTIGS,
        sex=lambda wildcards: sexes[wildcards.sample],
        unjudged="warn" if config["qc"]["action"] == "warn" else "fail",
    # reads by contig, of the index: nothing is to be read
    shell:
        bound(
            "qc",
            """
            mkdir "$TMPDIR/contig_reads"
            samtools idxstats {input.bam:q} > "$TMPDIR/contig_reads/all.txt"
            printf '%s\\t%s\\n' {wildcards.sample:q}:{params.sex:q} "$TMPDIR/contig_reads/all.txt" > "$TMPDIR/files.tsv"
            {params.python} "$GPD_FIGURES" --files "$TMPDIR/files.tsv" --called {input.called:q} {params.sex_contigs} \\
                > "$TMPDIR/figures.json"
            {params.python} "$GPD_VERDICTS" gate --columns "$GPD_COLUMNS" --figures "$TMPDIR/figures.json" \\
                --thresholds '{{}}' --key ploidy_regions --unjudged-sex {params.unjudged} > {output:q}
            """,
            rule="sex_check",
        )
