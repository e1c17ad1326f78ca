#!/usr/bin/env bash
# A line for each input file of a rule; where its parameter `names` has a name for each, that goes before it, and a tab.
# Snakemake writes the lists into the script itself: those of a large cohort would not fit on a command line.
set -euo pipefail
exec 2>"${snakemake_log[0]}"

read -ra names <<<"${snakemake_params[names]-}"
for ((number = 0; number < ${#snakemake_input[@]}; number++)); do
    printf '%s%s\n' "${names[number]:+${names[number]}$'\t'}" "${snakemake_input[$number]}"
done >"${snakemake_output[0]}"
