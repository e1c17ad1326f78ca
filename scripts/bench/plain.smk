# The germline workflow as plain Snakemake, for the plan's bench: the same rules, files, threads, memory and environments, but
# for lists of files, and nothing else: no checks of inputs, no choices by size or configuration, no launcher.
import csv
from collections import defaultdict

with open("config/units.tsv", newline="") as table:
    rows = list(csv.DictReader(table, delimiter="\t"))
units = defaultdict(dict)
for row in rows:
    units[row["sample_name"]][row["unit_name"]] = row

GENOME = "results/reference/genome.fa"
DICT = "results/reference/genome.dict"
REFERENCE = [GENOME, f"{GENOME}.fai", DICT]
INDEX = expand("{genome}.{part}", genome=GENOME, part=("amb", "ann", "bwt", "pac", "sa", "alt"))
KNOWN = ["results/reference/vcf/known_sites_1.vcf.gz", "results/reference/vcf/known_sites_1.vcf.gz.tbi"]
N_FREE = "results/reference/n_free.bed"
CALLS = "results/hard_filter/{sample}.vcf.gz"
MEASURED = [
    *("results/samtools_stats/{sample}.txt", "results/mark_duplicates/{sample}.txt"),
    *("results/depth/{sample}.txt", "results/depth/distribution/{sample}.txt"),
    *("results/bcftools_stats/{sample}.txt", "results/bcftools_stats/all_records/{sample}.txt"),
    "results/call_genotypes/allele_balance/{sample}.tsv",
]


def of_units(pattern):
    return lambda wildcards: [pattern.format(sample=wildcards.sample, unit=unit) for unit in units[wildcards.sample]]


rule all:
    input:
        expand("results/base_recalibration/{sample}.{ending}", sample=units, ending=("bam", "bai")),
        expand("results/haplotype_caller/{sample}.g.vcf.gz{index}", sample=units, index=("", ".tbi")),
        expand(CALLS + "{index}", sample=units, index=("", ".tbi")),
        "results/multiqc/multiqc_report.html",


rule reference:
    input:
        "genome.fa",
    output:
        REFERENCE,
        N_FREE,
    resources:
        mem_mb=1000,
    shell:
        "true {input} {output}"


rule bwa_index:
    input:
        GENOME,
    output:
        INDEX,
    resources:
        mem_mb=8000,
    shell:
        "true {input} {output}"


rule indexed_vcf:
    input:
        "known.vcf",
    output:
        KNOWN,
    resources:
        mem_mb=1000,
    shell:
        "true {input} {output}"


rule map_and_sort:
    input:
        fastqs=lambda wildcards: [units[wildcards.sample][wildcards.unit][column] for column in ("fq1", "fq2")],
        reference=[GENOME, DICT],
        index=INDEX,
    output:
        bam=temp("results/map_and_sort/{sample}/{unit}.bam"),
        bai=temp("results/map_and_sort/{sample}/{unit}.bam.bai"),
        counts="results/map_and_sort/{sample}/{unit}.json",
    log:
        "logs/map_and_sort/{sample}/{unit}.log",
    conda:
        "../../envs/bwa.yaml"
    threads: 32
    resources:
        mem_mb=8000,
    shell:
        "true {input} {output} {log} {threads}"


rule mark_duplicates:
    input:
        bams=of_units("results/map_and_sort/{sample}/{unit}.bam"),
        counts=of_units("results/map_and_sort/{sample}/{unit}.json"),
    output:
        bam=temp("results/mark_duplicates/{sample}.bam"),
        bai=temp("results/mark_duplicates/{sample}.bam.bai"),
        metrics="results/mark_duplicates/{sample}.txt",
    log:
        "logs/mark_duplicates/{sample}.log",
    conda:
        "../../envs/sambamba.yaml"
    threads: 13
    resources:
        mem_mb=8000,
    shell:
        "true {input} {output} {log} {threads}"


rule base_recalibrator:
    input:
        bam="results/mark_duplicates/{sample}.bam",
        bai="results/mark_duplicates/{sample}.bam.bai",
        reference=REFERENCE,
        known=KNOWN,
        n_free=N_FREE,
    output:
        "results/base_recalibrator/{sample}.table",
    log:
        "logs/base_recalibrator/{sample}.log",
    conda:
        "../../envs/gatk4.yaml"
    resources:
        mem_mb=4000,
    shell:
        "true {input} {output} {log}"


rule base_recalibration:
    input:
        bam="results/mark_duplicates/{sample}.bam",
        bai="results/mark_duplicates/{sample}.bam.bai",
        table="results/base_recalibrator/{sample}.table",
        reference=REFERENCE,
        n_free=N_FREE,
    output:
        bam="results/base_recalibration/{sample}.bam",
        bai="results/base_recalibration/{sample}.bai",
    log:
        "logs/base_recalibration/{sample}.log",
    conda:
        "../../envs/gatk4.yaml"
    resources:
        mem_mb=4000,
    shell:
        "true {input} {output} {log}"


rule haplotype_caller:
    input:
        bam="results/base_recalibration/{sample}.bam",
        bai="results/base_recalibration/{sample}.bai",
        reference=REFERENCE,
        n_free=N_FREE,
    output:
        vcf="results/haplotype_caller/{sample}.g.vcf.gz",
        tbi="results/haplotype_caller/{sample}.g.vcf.gz.tbi",
    log:
        "logs/haplotype_caller/{sample}.log",
    conda:
        "../../envs/gatk4.yaml"
    resources:
        mem_mb=6000,
    shell:
        "true {input} {output} {log}"


rule genotype_gvcfs:
    input:
        vcf="results/haplotype_caller/{sample}.g.vcf.gz",
        tbi="results/haplotype_caller/{sample}.g.vcf.gz.tbi",
        reference=REFERENCE,
        n_free=N_FREE,
    output:
        vcf="results/genotype_gvcfs/{sample}.vcf.gz",
        tbi="results/genotype_gvcfs/{sample}.vcf.gz.tbi",
    log:
        "logs/genotype_gvcfs/{sample}.log",
    conda:
        "../../envs/gatk4.yaml"
    resources:
        mem_mb=6000,
    shell:
        "true {input} {output} {log}"


rule hard_filter:
    input:
        vcf="results/genotype_gvcfs/{sample}.vcf.gz",
        tbi="results/genotype_gvcfs/{sample}.vcf.gz.tbi",
        reference=REFERENCE,
    output:
        vcf=CALLS,
        tbi=f"{CALLS}.tbi",
    log:
        "logs/hard_filter/{sample}.log",
    conda:
        "../../envs/gatk4.yaml"
    resources:
        mem_mb=3000,
    shell:
        "true {input} {output} {log}"


rule samtools_stats:
    input:
        bam="results/base_recalibration/{sample}.bam",
        bai="results/base_recalibration/{sample}.bai",
        genome=GENOME,
    output:
        "results/samtools_stats/{sample}.txt",
    log:
        "logs/samtools_stats/{sample}.log",
    conda:
        "../../envs/samtools.yaml"
    resources:
        mem_mb=1000,
    shell:
        "true {input} {output} {log}"


rule bcftools_stats:
    input:
        vcf=CALLS,
        tbi=f"{CALLS}.tbi",
    output:
        called="results/bcftools_stats/{sample}.txt",
        all_records="results/bcftools_stats/all_records/{sample}.txt",
    log:
        "logs/bcftools_stats/{sample}.log",
    conda:
        "../../envs/bcftools.yaml"
    resources:
        mem_mb=1000,
    shell:
        "true {input} {output} {log}"


rule depth:
    input:
        bam="results/base_recalibration/{sample}.bam",
        bai="results/base_recalibration/{sample}.bai",
        n_free=N_FREE,
    output:
        summary="results/depth/{sample}.txt",
        distribution="results/depth/distribution/{sample}.txt",
    log:
        "logs/depth/{sample}.log",
    conda:
        "../../envs/mosdepth.yaml"
    resources:
        mem_mb=2000,
    shell:
        "true {output} {log}"


rule call_genotypes:
    input:
        CALLS,
    output:
        genotypes="results/call_genotypes/{sample}.tsv",
        balance="results/call_genotypes/allele_balance/{sample}.tsv",
    log:
        "logs/call_genotypes/{sample}.log",
    conda:
        "../../envs/bcftools.yaml"
    resources:
        mem_mb=2000,
    shell:
        "true {output} {log}"


rule identity:
    input:
        expand("results/call_genotypes/{sample}.tsv", sample=units),
    output:
        "results/identity/pairs.tsv",
    log:
        "logs/identity/identity.log",
    conda:
        "../../envs/samtools.yaml"
    resources:
        mem_mb=2000,
    shell:
        "true {output} {log}"


rule quality:
    input:
        expand(MEASURED, sample=units),
        "results/identity/pairs.tsv",
        N_FREE,
    output:
        table="results/qc/samples.tsv",
        scores="results/qc/robust_z.tsv",
        multiqc="results/qc/samples_mqc.tsv",
    log:
        "logs/quality/quality.log",
    conda:
        "../../envs/samtools.yaml"
    resources:
        mem_mb=2000,
    shell:
        "true {output} {log}"


rule multiqc:
    input:
        expand("results/samtools_stats/{sample}.txt", sample=units),
        expand("results/mark_duplicates/{sample}.txt", sample=units),
        expand("results/base_recalibrator/{sample}.table", sample=units),
        expand("results/bcftools_stats/{of}{sample}.txt", of=("", "all_records/"), sample=units),
        "results/qc/samples_mqc.tsv",
    output:
        "results/multiqc/multiqc_report.html",
    log:
        "logs/multiqc/multiqc.log",
    conda:
        "../../envs/multiqc.yaml"
    resources:
        mem_mb=2000,
    shell:
        "true {output} {log}"
