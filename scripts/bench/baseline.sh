#!/usr/bin/env bash
# Variant calling as an expert of the tools writes it without a workflow manager: as many samples at once
# as there are cores, one thread a job, JVMs as lean as they come. throughput.py runs it beside the workflow and compares
# the calls of both: it is what the workflow has to beat, and owes nothing to the workflow's rules.
#
#   baseline.sh prepare COHORT                             once: the indexes of COHORT/genome.fa
#   baseline.sh call COHORT OUTPUT JOBS TINY               OUTPUT/SAMPLE/calls.vcf.gz
#
# COHORT is what simulate_cohort.py wrote. TINY: True where the JVM's first compiler alone suits HaplotypeCaller, too.
# All paths are absolute.
set -euo pipefail

# GATK on one thread: walk WALKER ARGUMENTS...
walk() {
    local options="-Xmx3g -XX:+UseSerialGC"
    [ "$1 $tiny" = "HaplotypeCaller False" ] || options+=" -XX:TieredStopAtLevel=1"
    gatk --java-options "$options" "$@"
}

# A sample from its reads to its filtered calls, in a folder of its own.
call() {
    local name=$1 lane fq1 fq2 lanes=()
    mkdir "$name"
    cd "$name"
    while IFS=$'\t' read -r _ lane fq1 fq2 _; do
        bwa mem -t 1 -Y -K 100000000 -R "@RG\tID:$name.$lane\tSM:$name\tLB:$name\tPL:ILLUMINA\tPU:$lane" \
            "$genome" "$cohort/$fq1" "$cohort/$fq2" \
        | samtools view -u - \
        | sambamba sort -t 1 -m 2G -l 1 --tmpdir . -o "$lane.bam" /dev/stdin
        lanes+=("$lane.bam")
    done < <(grep "^$name"$'\t' "$cohort/units.tsv")
    sambamba markdup -t 1 -l 1 --hash-table-size 1048576 --overflow-list-size 600000 --tmpdir . "${lanes[@]}" marked.bam
    rm "${lanes[@]}"
    walk BaseRecalibrator -R "$genome" -I marked.bam --known-sites "$cohort/known/known_sites.vcf.gz" \
        --known-sites "$cohort/known/known_indels.vcf.gz" -O recalibration.table
    walk ApplyBQSR -R "$genome" -I marked.bam --bqsr-recal-file recalibration.table -O recalibrated.bam
    rm marked.bam
    walk HaplotypeCaller -R "$genome" -I recalibrated.bam -ERC GVCF --native-pair-hmm-threads 1 -O calls.g.vcf.gz
    walk GenotypeGVCFs -R "$genome" -V calls.g.vcf.gz -O unfiltered.vcf.gz
    walk VariantFiltration -R "$genome" -V unfiltered.vcf.gz -O calls.vcf.gz \
        --filter-name SNP_QD2 --filter-expression "vc.isSNP() && (QD < 2.0)" \
        --filter-name SNP_QUAL30 --filter-expression "vc.isSNP() && (QUAL < 30.0)" \
        --filter-name SNP_SOR3 --filter-expression "vc.isSNP() && (SOR > 3.0)" \
        --filter-name SNP_FS60 --filter-expression "vc.isSNP() && (FS > 60.0)" \
        --filter-name SNP_MQ40 --filter-expression "vc.isSNP() && (MQ < 40.0)" \
        --filter-name SNP_MQRankSum-12.5 --filter-expression "vc.isSNP() && (MQRankSum < -12.5)" \
        --filter-name SNP_ReadPosRankSum-8 --filter-expression "vc.isSNP() && (ReadPosRankSum < -8.0)" \
        --filter-name INDEL_QD2 --filter-expression "!vc.isSNP() && (QD < 2.0)" \
        --filter-name INDEL_QUAL30 --filter-expression "!vc.isSNP() && (QUAL < 30.0)" \
        --filter-name INDEL_FS200 --filter-expression "!vc.isSNP() && (FS > 200.0)" \
        --filter-name INDEL_ReadPosRankSum-20 --filter-expression "!vc.isSNP() && (ReadPosRankSum < -20.0)"
}

cohort=$2
genome=$cohort/genome.fa
case $1 in
    prepare)
        samtools faidx "$genome"
        samtools dict -o "$cohort/genome.dict" "$genome"
        bwa index "$genome"
        ;;
    call)
        tiny=$5
        mkdir -p "$3"
        cd "$3"
        export -f walk call
        export cohort genome tiny
        tail -n +2 "$cohort/samples.tsv" \
        | xargs -P "$4" -I {} bash -euo pipefail -c 'call "$1" > "$1.log" 2>&1' - {} \
        || { tail -n 5 ./*.log >&2; exit 1; }
        ;;
esac
