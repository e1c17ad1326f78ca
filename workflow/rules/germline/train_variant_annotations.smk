# Step 8 with VETS (Variant Extract-Train-Score), in VQSR's place: SNPs and indels get an isolation forest each, fitted on those of
# the unfiltered calls that training sets hold.


rule extract_variant_annotations:
    """GATK ExtractVariantAnnotations, with `filter: vets`: the annotations of those calls that training sets hold."""
    input:
        unpack(training_sets),
        **reference,
        **calls_of("sites_only" if joint else genotyped_by),
    output:
        temp("results/extract_variant_annotations/{callset}.{mode}.annot.hdf5"),
    log:
        "logs/extract_variant_annotations/{callset}.{mode}.log",
    conda:
        "../../../envs/gatk4.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards: model_mb(),
        pinned_step="train_variant_annotations",
    params:
        java=java("ExtractVariantAnnotations"),
        gatk_mode=lambda wildcards: GATK_MODE[wildcards.mode],
        no_alleles=NO_ALLELES,
        resources=resource_arguments("--resource", "training", "calibration"),
        resource_settings=lambda wildcards: config["vets"][wildcards.mode]["resources"],
        names=lambda wildcards: " ".join(config["vets"][wildcards.mode]["annotations"]),
        annotations=lambda wildcards: repeat("-A", config["vets"][wildcards.mode]["annotations"]),
    # GATK crashes on a name that the header lacks, and ends well, without a file, where the sets hold no call
    shell:
        r"""
        (
            tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
            bcftools view -h {input.vcf:q} >"$tmp/header"
            for name in {params.names}; do
                if ! grep -q "^##INFO=<ID=$name," "$tmp/header"; then
                    echo "error: vets.{wildcards.mode}.annotations: $name: calls have no such annotation: leave it out" >&2
                    exit 1
                fi
            done
            gatk --java-options "{params.java}" ExtractVariantAnnotations -R {input.fasta:q} -V {input.vcf:q} \
                {params.resources} {params.annotations} --mode {params.gatk_mode} {params.no_alleles} \
                --tmp-dir "$TMPDIR" -O "$tmp/labelled"
            if ! [ -e "$tmp/labelled.annot.hdf5" ]; then
                echo "error: no {wildcards.mode} of {wildcards.callset} are in the sets of vets.{wildcards.mode}.resources:" \
                    "name others, or set filter: hard" >&2
                exit 1
            fi
            mv "$tmp/labelled.annot.hdf5" {output:q}
        ) &>{log:q}
        """


rule train_variant_annotations:
    """GATK TrainVariantAnnotationsModel, with `filter: vets`: isolation forests of SNPs and of indels, and their calibration."""
    input:
        "results/extract_variant_annotations/{callset}.{kind}s.annot.hdf5",
    output:
        scorer="results/train_variant_annotations/{callset}.{kind}.scorer.pkl",
        training="results/train_variant_annotations/{callset}.{kind}.trainingScores.hdf5",
        calibration="results/train_variant_annotations/{callset}.{kind}.calibrationScores.hdf5",
    log:
        "logs/train_variant_annotations/{callset}.{kind}.log",
    conda:
        "../../../envs/vets.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards: model_mb(),
    params:
        java=java("TrainVariantAnnotationsModel", **NATIVE),
        gatk_mode=lambda wildcards: wildcards.kind.upper(),
        prefix=lambda wildcards, output: output.scorer.removesuffix(f".{wildcards.kind}.scorer.pkl"),
    shell:
        r"""
        (
            gatk --java-options "{params.java}" TrainVariantAnnotationsModel --annotations-hdf5 {input:q} \
                --mode {params.gatk_mode} --model-backend PYTHON_IFOREST --tmp-dir "$TMPDIR" -O {params.prefix:q}
            if ! [ -e {output.calibration:q} ]; then
                echo "error: no {wildcards.kind} of {wildcards.callset} is in a set of vets.{wildcards.kind}s.resources with" \
                    "calibration: true, by which the cut-off is chosen: name another set, or set filter: hard" >&2
                exit 1
            fi
        ) &>{log:q}
        """
