# After the filter, with `normalise`: each variant as others write it, so that call sets and databases can be compared.

# of one site's alleles: as they are, a record each, or SNPs in one record and indels in one
MULTIALLELIC = {"align": "", "split": "--multiallelics -any", "join": "--multiallelics +both"}


rule normalise:
    """bcftools norm, with `normalise`: the filtered calls with indels as far left as they go, and sites with several
    alleles split or joined."""
    input:
        **calls_of(filtered_by),
        fasta=reference["fasta"],
        fai=reference["fai"],
    output:
        **made_calls("normalise"),
    log:
        "logs/normalise/{callset}.log",
    conda:
        "../../../envs/bcftools.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        pinned_step=filter_step,
    params:
        multiallelic=MULTIALLELIC[config["normalise"]],
    # an indel may move before other records
    shell:
        r"""
        (
            tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
            bcftools norm --fasta-ref {input.fasta:q} {params.multiallelic} -Ou {input.vcf:q} \
                | bcftools sort --max-mem $(({resources.mem_mb} / 2))M --temp-dir "$tmp/sort" -Oz -o {output.vcf:q} -
            bcftools index --tbi {output.vcf:q}
        ) &>{log:q}
        """
