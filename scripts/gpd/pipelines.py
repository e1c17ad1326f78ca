"""The named steps of each pipeline, in order: the one place that spells them for tables."""

# in place of another step, and shown only where they ran
ALTERNATIVES = frozenset({"hard_filter"})

STEPS: dict[str, tuple[str, ...]] = {
    "germline": (
        "map_and_sort",
        "mark_duplicates",
        "realigner_targets",
        "realign_indels",
        "base_recalibration",
        "haplotype_caller",
        "genotype_gvcfs",
        "hard_filter",
        "variant_recalibration",
        "apply_variant_recalibration",
    ),
    "tuxedo": ("align", "assemble", "merge", "quantify", "differential_expression", "visualize"),
}

# what every sample goes through, or its cohort for it, however the pipeline is configured
UNAVOIDABLE = frozenset(
    {
        *("map_and_sort", "mark_duplicates", "base_recalibration", "haplotype_caller", "genotype_gvcfs"),
        *("align", "quantify"),
    }
)
