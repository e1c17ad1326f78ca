# Step 2, samtools. Its markdup goes by tags that fixmate gave to mates where they were mapped (mapping.smk), and knows no
# libraries (inputs.py). Supplementary alignments of a duplicate are marked too, for which all alignments pass through a
# temporary file. Pixels within which a duplicate is an optical one: those of patterned flow cells.
OPTICAL = 2500
LONGEST_READ = 1000  # how far behind a read's own place another may begin, with what is clipped of it


rule mark_duplicates:
    """sambamba or samtools markdup: joins the lanes and counts duplicates. With `bqsr: none` its alignments are the
    final ones."""
    input:
        bams=unit_bams,
        counts=unit_counts,
    output:
        **made_alignment("mark_duplicates"),
        metrics=for_multiqc("results/mark_duplicates/{sample}.txt"),
    log:
        "logs/mark_duplicates/{sample}.log",
    conda:
        "../../../envs/samtools.yaml"
    threads: 13
    resources:
        mem_mb=2000,
    params:
        **checks("reads/count_reads.py"),
        min_mapped=min_mapped,
        optical=OPTICAL,
        longest_read=LONGEST_READ,
        is_final=is_final("mark_duplicates"),
    # MultiQC finds these metrics where they are JSON, which older releases of samtools do not write. Paths stay out of them.
    shell:
        r"""
        (
            tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
            {params.count_reads} mapped --least {params.min_mapped} {wildcards.sample:q} {input.counts:q}
            samtools merge -c -p -u -@ $(({threads} - 1)) - {input.bams:q} \
                | samtools markdup -S -d {params.optical} -l {params.longest_read} -@ $(({threads} - 1)) -T "$tmp/marked" \
                    -f {output.metrics:q} -O bam,level=1 --write-index - {output.bam:q}##idx##{output.bai:q}
            sed -i -e '1s/.*/{{"COMMAND": "samtools markdup -S -d {params.optical}"/' -e '2,$s/\(.*\): /, "\1": /' -e '$s/$/}}/' \
                {output.metrics:q}
            if {params.is_final}; then {params.count_reads} sample --bam {output.bam:q} {input.counts:q}; fi
        ) &>{log:q}
        """
