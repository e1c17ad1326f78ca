# The intervals that a joint call set is made in with GATK 4, and how what they leave becomes one. Each is jobs of its own:
# they spread over nodes, and a retry repeats one interval. Their number is known before the reference is looked into. It stays as
# samples join: another makes the call set again, and all of a GenomicsDB.

joint_calling = load(source("intervals/joint_calling.py"))
INTERVALS = config["joint_intervals"]
if INTERVALS == "auto":
    serve = joint_calling.how_many(called_bases(), len(samples))
    INTERVALS = joint_calling.number_there(place("results/reference/intervals")) or serve
    if serve >= 2 * INTERVALS:
        say(
            f"joint_intervals: auto: there are {INTERVALS} as of the call set before, though {serve} would serve so many"
            f" samples better; joint_intervals: {serve} imports and genotypes all anew"
        )
joint_intervals = [f"{number}of{INTERVALS}" for number in range(1, INTERVALS + 1)]
INTERVAL = "results/reference/intervals/{interval}.bed"  # a line a contig
WIDE = "results/reference/intervals/{interval}.wide.bed"  # what is imported and genotyped so that all in it is known


rule joint_intervals:
    """The intervals that a joint call set is made in, and wider ones, so that all in them is known."""
    input:
        genome=N_FREE,
        called=CALLED,
    output:
        intervals=expand(INTERVAL, interval=joint_intervals),
        wide=expand(WIDE, interval=joint_intervals),
    log:
        "logs/joint_intervals/genome.log",
    conda:
        "../../../envs/samtools.yaml"
    resources:
        mem_mb=1000,
        pinned_step="reference",
    params:
        **scripts("intervals/joint_calling.py"),
        how_many=INTERVALS,
        folder=lambda wildcards, output: os.path.dirname(output.intervals[0]),
    shell:
        r"""
        {params.joint_calling} {input.genome:q} {input.called:q} {params.how_many} \
            {params.folder:q} &>{log:q}
        """


rule gather_genotypes:
    """What was made by interval of a joint call set, as one."""
    input:
        vcfs=expand("results/genotype_interval/{interval}.vcf.gz", interval=joint_intervals),
    output:
        **made_calls("genotype_gvcfs", "cohort"),
    log:
        "logs/gather_genotypes/cohort.log",
    conda:
        "../../../envs/gatk4.yaml"
    resources:
        mem_mb=1000,
        pinned_step="genotype_gvcfs",
    shell:
        """
        (
            bcftools concat --naive -O z -o {output.vcf:q} {input.vcfs:q}
            bcftools index --tbi {output.vcf:q}
        ) &>{log:q}
        """
