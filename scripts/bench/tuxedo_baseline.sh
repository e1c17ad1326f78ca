#!/usr/bin/env bash
# Differential expression as an expert of the tools writes it without a workflow manager: as many samples at once as
# there are cores, one thread a job, then Cuffmerge and Cuffdiff on all cores. tuxedo.py runs it beside the workflow and
# compares the genes of both: it is what the workflow has to beat, and owes nothing to the workflow's rules.
#
#   tuxedo_baseline.sh EXPERIMENT REFERENCE OUTPUT JOBS [OPTION...]     OUTPUT/cuffdiff/gene_exp.diff
#
# EXPERIMENT is what simulate_experiment.py wrote; REFERENCE has genome.fa with its index, genes.gtf and
# splice_sites.tsv; OPTIONs are Cuffdiff's. All paths are absolute.
set -euo pipefail

# The files of a sample's lanes: files NAME MATE
files() {
    awk -F '\t' -v name="$1" -v column="$(($2 + 2))" '$1 == name { print $column }' "$experiment/units.tsv" \
    | sed "s|^|$experiment/|" | paste -sd,
}

# A sample from its reads to its transcripts.
assemble() {
    local name=$1
    hisat2 -p 1 --dta-cufflinks --rna-strandness RF --rg-id "$name" --rg "SM:$name" \
        --known-splicesite-infile "$reference/splice_sites.tsv" -x "$reference/genome" \
        -1 "$(files "$name" 1)" -2 "$(files "$name" 2)" \
    | samtools sort -m 2G -o "$name.bam" -
    cufflinks --quiet --no-update-check -p 1 "${library[@]}" --GTF-guide "$reference/genes.gtf" -o "$name" "$name.bam"
}

# How much of it there is of each transcript of the merged ones.
quantify() {
    local name=$1
    cuffquant --quiet --no-update-check -p 1 "${library[@]}" -o "$name" merged/merged.gtf "$name.bam"
}

# A function for each sample, as many at once as there are cores: each FUNCTION
each() {
    xargs -P "$jobs" -I {} bash -euo pipefail -c 'library=($options); "$1" "$2" > "$2.$1.log" 2>&1' - "$1" {} < samples
}

# The counts of a condition's samples: counts CONDITION
counts() {
    awk -F '\t' -v condition="$1" '$2 == condition { print $1 "/abundances.cxb" }' "$experiment/samples.tsv" | paste -sd,
}

compare() {
    local conditions
    mapfile -t conditions < <(tail -n +2 "$experiment/samples.tsv" | cut -f 2 | uniq)
    cuffdiff --no-update-check -p "$jobs" --library-type fr-firststrand --FDR 0.01 "$@" \
        -L "$(IFS=,; echo "${conditions[*]}")" -o cuffdiff merged/merged.gtf \
        "$(counts "${conditions[0]}")" "$(counts "${conditions[1]}")"
}

experiment=$1 reference=$2 output=$3 jobs=$4
options="--library-type fr-firststrand --max-bundle-frags 2000000"
export experiment reference options
export -f files assemble quantify
mkdir "$output"
cd "$output"
tail -n +2 "$experiment/samples.tsv" | cut -f 1 > samples
each assemble || { tail -n 5 ./*.log >&2; exit 1; }
sed 's|$|/transcripts.gtf|' samples > assemblies
cuffmerge -p "$jobs" --ref-gtf "$reference/genes.gtf" --ref-sequence "$reference/genome.fa" -o merged assemblies
each quantify || { tail -n 5 ./*.log >&2; exit 1; }
compare "${@:5}"
