# Which sample is wrong: a row for each with a verdict. It holds up no step, unless samples that fail shall be dropped or stop
# the run (failed_samples). What it reads of reads, duplicates and variants stands in samtools_stats, mark_duplicates and bcftools_stats.

FIGURES = "quality/figures.py"
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
    *(["results/filtered_alone/{callset}.tsv"] if costly_filters else []),
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
opened_first = {
    "calls": calls.replace("{callset}", "cohort" if config["calling"] == "joint" else "{sample}"),
    "alignments": "results/alignment/{sample}.cram" if config["alignment_format"] == "cram" else FINAL_BAM,
}
PAIRS = "results/identity/pairs.tsv"
measured = [*expand(of_alignments, sample=samples), *expand(of_calls, callset=callsets), PAIRS, *of_trimming]
measured_names = [
    *(f"{name}:{sexes[name]}" for name in samples * len(of_alignments)),
    *callsets * len(of_calls),
    "all",
    *(f"{sample}:{sexes[sample]}" for sample, _ in trimmed_units),
]
# by list_files, some with names before them
listed = {"qc": measured, "identity": genotypes, "genomics_db_import": expand(FINAL_GVCF, sample=samples)}
listed_names = {"qc": measured_names, "genomics_db_import": samples}
postponed = set()  # rules that go last (priorities.smk): none, so that a sample's files are gone soon
targets = "--targets" if of_targets() else ""
called_in = [TARGETS]
sexual = config["qc"]["sex_contigs"]
SEX_CONTIGS = f"--sex-contigs {shlex.quote(json.dumps(dict(zip('xy', sexual))))}" if sexual else ""
UNJUDGED_SEX = "--unjudged-sex warn" if isinstance(config["ploidy_regions"], dict) else ""  # it decides the ploidy


rule depth:
    """Depth by mosdepth, over the targets, or the called bases of a genome; where mates overlap, once."""
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
        pinned_step="qc",
    # more digits than two, of shares
    shell:
        """
        (
            tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
            cut -f 1-3 {input.called:q} >"$tmp/called.bed"
            export MOSDEPTH_PRECISION=6
            mosdepth --no-per-base --by "$tmp/called.bed" "$tmp/depth" {input.bam:q}
            cat "$tmp/depth.mosdepth.summary.txt" >{output.summary:q}
            cat "$tmp/depth.mosdepth.region.dist.txt" >{output.distribution:q}
        ) &>{log:q}
        """


rule contamination:
    """Contamination, with `common_sites`: by the alleles of reads there, which also tell the person a sample is of."""
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
        pinned_step="qc",
    params:
        **scripts("quality/genotypes.py"),
        java=java("GetPileupSummaries"),
        estimating=java("CalculateContamination"),
        rarest=RAREST,
    shell:
        r"""
        (
            tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
            gatk --java-options "{params.java}" GetPileupSummaries -I {input.bam:q} -V {input.sites:q} -L {input.sites:q} \
                --maximum-population-allele-frequency 1 --tmp-dir "$tmp" -O "$tmp/all.table"
            awk -F '\t' 'NF < 6 || $6 == "allele_frequency" || $6 <= {params.rarest}' "$tmp/all.table" \
                >"$tmp/rare.table"
            gatk --java-options "{params.estimating}" CalculateContamination -I "$tmp/rare.table" --tmp-dir "$tmp" \
                -O {output.table:q}
            {params.genotypes} pileups --sample {wildcards.sample:q} "$tmp/all.table" \
                >{output.genotypes:q}
        ) &>{log:q}
        """


rule lanes:
    """Whether all lanes of a sample are of one person, with `common_sites`: their reads there, by read group."""
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
        pinned_step="qc",
    params:
        **scripts("quality/lanes.py"),
    # read groups are lanes, and each becomes a sample; bcftools takes no names with blanks, nor lanes.py with commas
    shell:
        r"""
        (
            tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
            bcftools query -f '%CHROM\t%POS\t%REF\t%ALT\n' {input.sites:q} >"$tmp/sites"
            samtools view -H {input.bam:q} | sed -n 's/^@RG.*\tID:\([^\t ,]*\)\(\t.*\)\?$/\1/p' \
                >"$tmp/lanes"
            if [ "$(wc -l <"$tmp/lanes")" -gt 1 ]; then
                awk '{{ print $0 "\t" NR }}' "$tmp/lanes" >"$tmp/groups"
                bcftools mpileup --no-BAQ -q 20 -Q 20 -d 1000 -a FORMAT/AD -f {input.fasta:q} -R {input.sites:q} \
                    -G "$tmp/groups" -Ou {input.bam:q} \
                    | bcftools query -f '%CHROM\t%POS\t%REF\t%ALT[\t%AD]\n' - >"$tmp/counts"
            else
                : >"$tmp/counts"
            fi
            {params.lanes} --lanes "$(paste -s -d , "$tmp/lanes")" --sites "$tmp/sites" \
                <"$tmp/counts" >{output:q}
        ) &>{log:q}
        """


rule call_genotypes:
    """SNPs of a call set, without `common_sites`: the balance of alleles, and the person a sample is of."""
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
        pinned_step="qc",
    params:
        **scripts("quality/genotypes.py"),
        every=lambda wildcards: max(1, called_bases() // 1000 // IDENTITY_SITES),
        common=" && INFO/AF>=0.05 && INFO/AF<=0.95" if config["calling"] == "joint" else "",
    shell:
        r"""
        (
            tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
            bcftools query -l {input.vcf:q} >"$tmp/samples"
            bcftools query -i 'TYPE="snp" && N_ALT=1 && (FILTER="PASS" || FILTER="."){params.common}' \
                -f '%CHROM\t%POS[\t%GT:%AD]\n' {input.vcf:q} \
                | {params.genotypes} calls --every {params.every} --samples "$tmp/samples" \
                    --genotypes {output.genotypes:q} --balance {output.balance:q}
        ) &>{log:q}
        """


rule haploid_calls:
    """SNPs and indels among haploid calls, which bcftools stats does not tell apart; with `ploidy_regions`."""
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
        pinned_step="qc",
    params:
        **scripts("quality/haploid.py"),
    # where all is haploid the whole call set, else the regions that are: as those of a name without .bed, counted from 1
    shell:
        r"""
        (
            tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
            for file in {input.ploidy:q}; do
                case "$file" in *.bed) shift=1 ;; *) shift=0 ;; esac
                awk -v shift="$shift" '!/^(#|@|track |browser )/ && NF {{ print $1 "\t" $2 + shift "\t" $3 }}' "$file"
            done >"$tmp/regions"
            only=()
            if [ -s "$tmp/regions" ]; then only=(-R "$tmp/regions"); fi
            bcftools query "${{only[@]}}" -i 'GT="A"' -f '[%SAMPLE\t%FILTER\t%ID\t%REF\t%ALT\t%GT\n]' {input.vcf:q} \
                | {params.haploid} >{output:q}
        ) &>{log:q}
        """


rule identity:
    """Pairs of samples that are one person or of the first degree; with `qc.known_genotypes` whose genotypes each has."""
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
        pinned_step="qc",
    params:
        **scripts("quality/identity.py"),
    shell:
        r"""
        (
            for known in {input.known:q}; do
                bcftools query -l "$known" | paste -s
                bcftools query -i 'N_ALT<2 && (TYPE="snp" || TYPE="ref")' -f '%CHROM\t%POS[\t%GT]\n' "$known"
            done \
                | {params.identity} {input.files:q} >{output:q}
        ) &>{log:q}
        """


rule sex_check:
    """With `ploidy_regions` by sex, whether they are the sample's sex: else its calls would be wrong."""
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
        pinned_step="qc",
    params:
        **scripts("quality/verdicts.py", figures=FIGURES, columns=COLUMNS),
        sex_contigs=SEX_CONTIGS,
        sex=lambda wildcards: sexes[wildcards.sample],
        unjudged="fail" if by_quality else "warn",
    # reads by contig, of the index: nothing is to be read
    shell:
        r"""
        (
            tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
            mkdir "$tmp/contig_reads"
            samtools idxstats {input.bam:q} >"$tmp/contig_reads/all.txt"
            printf '%s\t%s\n' {wildcards.sample:q}:{params.sex:q} "$tmp/contig_reads/all.txt" >"$tmp/files.tsv"
            {params.figures} --files "$tmp/files.tsv" --called {input.called:q} {params.sex_contigs} \
                >"$tmp/figures.json"
            {params.verdicts} gate --columns {params.columns} --figures "$tmp/figures.json" \
                --key ploidy_regions --unjudged-sex {params.unjudged} >{output:q}
        ) &>{log:q}
        """
