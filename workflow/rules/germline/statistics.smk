# Statistics of calls, for the MultiQC page and the samples' verdicts. None of them holds up a step.
import re

# of variants that pass the filters and that dbSNP does not name; an --include of stats itself leaves out genotypes
novel = dict(novel="results/bcftools_stats/novel/{callset}.txt") if dbsnp else {}


rule bcftools_stats:
    """Statistics of variants that pass the filters, and of all records, whose Ti/Tv is not that of the calls in use."""
    input:
        calls,
    output:
        **novel,
        passed=for_multiqc("results/bcftools_stats/{callset}.txt"),
        all=for_multiqc("results/bcftools_stats/all_records/{callset}.txt"),
    log:
        "logs/bcftools_stats/{callset}.log",
    conda:
        "../../../envs/bcftools.yaml"
    resources:
        mem_mb=1000,
        pinned_step="qc",
    params:
        novel=lambda wildcards, output: output.get("novel", ""),
    # MultiQC names what it shows by the file on the line ID
    shell:
        r"""
        (
            bcftools stats --apply-filters PASS,. --samples - {input:q} >{output.passed:q}
            bcftools stats --samples - {input:q} \
                | sed 's/^ID\t0\t.*/ID\t0\tall records of {wildcards.callset}/' >{output.all:q}
            for novel in {params.novel:q}; do
                bcftools view --include 'ID="."' -Ou {input:q} \
                    | bcftools stats --apply-filters PASS,. --samples - - >"$novel"
            done
        ) &>{log:q}
        """


# filters that take true variants, too: those of these annotations
COSTLY = re.compile(r"\b(SOR|MQ|QD)\b")
costly_filters = [
    f"{GATK_MODE[kind]}_{name}"
    for kind, filters in config["hard_filters"].items()
    for name, expression in filters.items()
    if config["filter"] == "hard" and COSTLY.search(expression)
]


rule filtered_alone:
    """Variants that a hard filter by SOR, MQ or QD takes alone, with `filter: hard`."""
    input:
        calls,
    output:
        "results/filtered_alone/{callset}.tsv",
    log:
        "logs/filtered_alone/{callset}.log",
    conda:
        "../../../envs/bcftools.yaml"
    resources:
        mem_mb=1000,
        pinned_step="qc",
    params:
        filters=" ".join(costly_filters),
    # a line a filter: its name, how many it takes alone, and of how many
    shell:
        r"""
        (
            bcftools query -f '%FILTER\n' {input:q} \
                | awk -v names={params.filters:q} '{{ count[$0]++ }} END {{
                    many = split(names, name, " ")
                    for (i = 1; i <= many; i++) print name[i] "\t" (count[name[i]] + 0) "\t" NR
                }}' >{output:q}
        ) &>{log:q}
        """
