"""The pipelines: their steps, what of their results is compared, what scales with threads.

All in which pipelines differ for the lab is here. A workflow that is not ours is a pipeline of which no more than its
name is known: its steps stand in the records of its runs.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from gpd.text.formats import of_reads

GIGABASES_PER_X = 3.1  # of a human genome
HUMAN_30X_GIGABASES = 30 * GIGABASES_PER_X
ALIKE = 0.9  # of these: a sample with less is called by its size
LEAST_ALIKE = 0.1  # of these: from a sample with less nothing of a whole genome follows
# of a genome's CPU time at 30x, what does not grow with its bases: by the laws of the recorded rehearsal a genome takes
# 2,645 s without reads, and 332,148 s with 93 Gb of them (docs/evidence/rehearsal.md; test_rehearsal_record.py)
FIXED = 2_645 / 332_148


def human_30x_per_day(gigabases_per_day: float | None, of_a_sample: float | None, fraction: float) -> float | None:
    """Return how many human genomes at 30x the gigabases of a day are.

    None where the samples that were measured had less than LEAST_ALIKE of one's gigabases, or were a `fraction` of
    others.
    """
    if gigabases_per_day is None or of_a_sample is None or fraction < 1:
        return None
    whole = of_a_sample >= LEAST_ALIKE * HUMAN_30X_GIGABASES
    return gigabases_per_day / HUMAN_30X_GIGABASES if whole else None


def scaling_error(of_a_sample: float) -> float:
    """The relative standard error of 30x equivalents from samples of so many gigabases: time is taken to grow as bases
    do, and FIXED of it does not. 0 for samples of about a whole genome."""
    whole = of_a_sample >= ALIKE * HUMAN_30X_GIGABASES
    return 0.0 if whole else FIXED * (HUMAN_30X_GIGABASES / of_a_sample - 1)


@dataclass(frozen=True)
class ComparedOutput:
    """A kind of output that runs of the same samples have in common: a file below results/, and what it is read as."""

    kind: str
    path: str
    form: str


@dataclass(frozen=True)
class Pipeline:
    """One pipeline. Steps are in order; paths are relative to a run's results/, with {sample} in them.

    `alternatives` stand in another step's place, and are shown only where they ran. `unavoidable` is what every sample
    goes through, or its cohort for it, however the pipeline is configured, but for the steps that fall away with a rule
    of `without`. `scaling` are rules of single samples that
    use more than one thread well, with GATK 4 and HISAT2, and the most that they do. `cohort_outputs` are kinds of
    outputs of several samples, with the folders where they are looked for: the first that has any. `read_count`: where
    reads are counted, if not with the alignments. `genomes`: its samples are, so human equivalents mean something.
    `conditions`: it compares samples of two, unless it stops after the step `quantify`. `rules` are those of a step,
    where it has others than the one of its name. `threaded`: whose tools use more than one thread, by what keys of the
    configuration choose. `of_cohort` are steps that take all samples at once, whatever the configuration. `preset`: the
    one of runs whose records name none.
    """

    name: str
    steps: tuple[str, ...]
    unavoidable: frozenset[str]
    scaling: Mapping[str, int]
    daily: str
    outputs: tuple[ComparedOutput, ...]
    cohort_outputs: Mapping[str, tuple[str, ...]]
    alternatives: frozenset[str] = field(default=frozenset(), kw_only=True)
    read_count: str | None = field(default=None, kw_only=True)
    genomes: bool = field(default=False, kw_only=True)
    conditions: bool = field(default=False, kw_only=True)
    rules: Mapping[str, tuple[str, ...]] = field(default_factory=dict, kw_only=True)
    threaded: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict, kw_only=True)
    of_cohort: frozenset[str] = field(default=frozenset(), kw_only=True)
    without: Mapping[str, frozenset[str]] = field(default_factory=dict, kw_only=True)
    preset: str | None = field(default=None, kw_only=True)

    def daily_of(self, fraction: float) -> str:
        """What is counted a day where this share of each sample's reads is measured, which is no whole genome."""
        return self.daily if fraction == 1 else f"samples a day {of_reads(fraction)}"

    def rules_of(self, step: str) -> tuple[str, ...]:
        """The rules that a step may consist of, with any tool."""
        return self.rules.get(step, (step,))

    def steps_of(self, rules: Iterable[str]) -> list[str]:
        """The steps that these rules are of, in order; what two steps share counts for neither."""
        of_steps = Counter(chain.from_iterable(map(self.rules_of, self.steps)))
        own = {rule for rule in rules if of_steps[rule] == 1}
        return [step for step in self.steps if own.intersection(self.rules_of(step))]

    def step_of(self, rule: str) -> str:
        """The step that a rule belongs to; a rule without one is its own."""
        return next((step for step in self.steps if rule in self.rules_of(step)), rule)

    def uses_threads(self, step: str, config: Mapping[str, Any]) -> bool:
        """Whether a step's tools, as configured, use more than one thread."""
        return any(config[key] == value and step in steps for (key, value), steps in self.threaded.items())


OF_FINAL_CALLS = (
    "consequences",
    "normalise",
    "apply_variant_recalibration",
    "score_variant_annotations",
    "hard_filter",
)  # rules, the last one first
GERMLINE = Pipeline(
    name="germline",
    steps=(
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
        "train_variant_annotations",
        "score_variant_annotations",
    ),
    alternatives=frozenset({"hard_filter", "train_variant_annotations", "score_variant_annotations"}),
    unavoidable=frozenset({"map_and_sort", "mark_duplicates", "haplotype_caller", "genotype_gvcfs"}),
    scaling={"map_and_sort": 64, "take_alignment": 4, "mark_duplicates": 13},
    daily="genomes a day",
    outputs=(
        ComparedOutput("gvcf", "haplotype_caller/{sample}.g.vcf.gz", "vcf"),
        ComparedOutput("reblocked gvcf", "reblock_gvcf/{sample}.g.vcf.gz", "vcf"),
    ),
    cohort_outputs={"calls": (*OF_FINAL_CALLS, "genotype_gvcfs", "call_variants")},
    genomes=True,
    rules={
        "map_and_sort": ("map_and_sort", "take_alignment", "trim"),
        "base_recalibration": ("base_recalibrator", "base_recalibration"),
        "haplotype_caller": ("calibrate_dragstr_model", "haplotype_caller", "call_variants", "reblock_gvcf"),
        "genotype_gvcfs": ("genomics_db_import", "genotype_interval", "gather_genotypes", "genotype_gvcfs"),
        "hard_filter": ("hard_filter_interval", "gather_hard_filter", "hard_filter"),
        "variant_recalibration": ("sites_only", "gather_sites", "variant_recalibration"),
        "apply_variant_recalibration": ("recalibrate_interval", "gather_recalibrated", "apply_variant_recalibration"),
        "train_variant_annotations": (
            *("sites_only", "gather_sites"),
            *("extract_variant_annotations", "train_variant_annotations"),
        ),
        "score_variant_annotations": ("score_interval", "gather_scores", "score_variant_annotations"),
    },
    threaded={
        ("pipeline", "germline"): frozenset({"map_and_sort", "haplotype_caller"}),
        ("duplicates", "sambamba"): frozenset({"mark_duplicates"}),
        ("realigner", "gatk3"): frozenset({"realigner_targets"}),
        ("gatk", "gatk3"): frozenset({"base_recalibration", "genotype_gvcfs"}),
    },
    without={"call_variants": frozenset({"genotype_gvcfs"})},
    preset="gatk-best-practices",
)

TUXEDO = Pipeline(
    name="tuxedo",
    steps=("align", "assemble", "merge", "quantify", "differential_expression", "visualize"),
    unavoidable=frozenset({"align", "quantify"}),
    scaling={"align": 16, "assemble": 16, "quantify": 16},
    daily="samples a day",
    outputs=(
        ComparedOutput("alignments", "samtools_stats/{sample}.txt", "statistics"),
        ComparedOutput("assembly", "assemble/{sample}.gtf", "assembly"),
    ),
    cohort_outputs={"expression": ("differential_expression",)},
    read_count="align/{sample}.json",
    conditions=True,
    rules={"align": ("tophat2", "align", "trim")},
    threaded={
        ("pipeline", "tuxedo"): frozenset({"assemble", "merge", "quantify", "differential_expression"}),
        ("aligner", "hisat2"): frozenset({"align"}),
    },
    of_cohort=frozenset({"merge", "differential_expression", "visualize"}),
)


class Pipelines(dict[str, Pipeline]):
    """Ours by name. Any other name is that of a workflow that is not ours, of which nothing else is known."""

    def __missing__(self, name: str) -> Pipeline:
        return Pipeline(name, (), frozenset(), {}, "samples a day", (), {})


PIPELINES = Pipelines({pipeline.name: pipeline for pipeline in (GERMLINE, TUXEDO)})


def in_order(name: str) -> tuple[int, str]:
    """Where a pipeline stands in a list: ours in their order, then others by name."""
    return (list(PIPELINES).index(name), "") if name in PIPELINES else (len(PIPELINES), name)


ALTERNATIVES = frozenset(chain.from_iterable(pipeline.alternatives for pipeline in PIPELINES.values()))
UNAVOIDABLE = frozenset(chain.from_iterable(pipeline.unavoidable for pipeline in PIPELINES.values()))


def unavoidable(rules: Iterable[str]) -> frozenset[str]:
    """The steps that no configuration with these rules does without."""
    without = {rule: steps for pipeline in PIPELINES.values() for rule, steps in pipeline.without.items()}
    return UNAVOIDABLE.difference(*(without.get(rule, ()) for rule in rules))


def share(n: int, cores: int) -> dict[str, int]:
    """Threads by rule where each of n samples has an even share of the cores."""
    scaling = {rule: most for pipeline in PIPELINES.values() for rule, most in pipeline.scaling.items()}
    return {rule: min(most, max(1, cores // n)) for rule, most in scaling.items()}
