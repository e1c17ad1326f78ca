"""Every pair of the config's choices, planned together at least once, and what their GATK commands may not hold."""

import itertools
import subprocess

import pytest
from conftest import Cohort, tiny_cohort
from test_gatk3_commands import gatk3_commands
from test_plan import VETS, VQSR

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("gatk3_command")]  # several dry runs

CHOICES = {
    "calling": ("per_sample", "joint"),
    "intervals": ("", "regions.bed"),
    "filter": ("hard", "vqsr", "vets", "none"),
    "alignment_format": ("bam", "cram"),
    "bam_input": ("keep", "remap"),
    "gatk": ("gatk4", "gatk3"),
    "realigner": ("none", "gatk3"),
    "ploidy_regions": ("", "ploidy.bed"),
    "duplicates": ("sambamba", "samtools"),
    "preset": ("gatk-best-practices", "dragen-gatk"),
    "gvcf": (True, False),
}
REFUSED = (
    {"gatk": "gatk3", "ploidy_regions": "ploidy.bed"},
    {"duplicates": "samtools", "bam_input": "keep"},
    {"gatk": "gatk3", "preset": "dragen-gatk"},
    {"gatk": "gatk3", "gvcf": False},
    {"gatk": "gatk3", "filter": "vets"},
    {"calling": "joint", "gvcf": False},
)
Row = dict[str, str | bool]
CALLERS = {"haplotype_caller", "call_variants"}
WALKS_INTERVALS = {"realigner_targets", "base_recalibrator", *CALLERS, "genotype_gvcfs"}
WIDER = {"genomics_db_import", "genotype_interval"}
OF_INTERVAL = {"hard_filter_interval", "sites_only", "recalibrate_interval", "score_interval"}
GATK3_ONLY = {"-T", "-nt", "-nct", "-o", "--emitRefConfidence", "-knownSites", "--filterName", "--maxGaussians"}


def allowed(row: Row) -> bool:
    return not any(refused.items() <= row.items() for refused in REFUSED)


def pairs(row: Row) -> set:
    return set(itertools.combinations(row.items(), 2))


def covering() -> list[Row]:
    """Rows that hold every allowed pair, each the one that adds the most."""
    rows = [dict(zip(CHOICES, values, strict=True)) for values in itertools.product(*CHOICES.values())]
    held = [(row, pairs(row)) for row in rows if allowed(row)]
    left, chosen = set().union(*(found for _, found in held)), []
    while left:
        row, found = max(held, key=lambda each: len(each[1] & left))
        chosen.append(row)
        left -= found
    return chosen


@pytest.fixture(scope="module")
def cohort(tmp_path_factory: pytest.TempPathFactory) -> Cohort:
    """One sample, of reads and of a BAM file."""
    made = tiny_cohort(tmp_path_factory.mktemp("choices"), samples=["S1"], lanes=1)
    folder = made.folder
    sam = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:chr1\tLN:2000\n@RG\tID:x\tSM:S1\n"
    subprocess.run(["samtools", "view", "-b", "-o", folder / "s1.bam", "-"], input=sam, text=True, check=True)
    made.add_unit("S1", "aligned", bam="s1.bam")
    (folder / "regions.bed").write_text("chr1\t100\t900\nchr1\t1200\t1900\n")
    (folder / "ploidy.bed").write_text("chr1\t0\t500\t1\n")
    (folder / "indels.vcf").write_bytes((folder / "known.vcf").read_bytes())
    made.config |= {"known_indels": ["indels.vcf"], "vqsr": VQSR, "vets": VETS}
    return made


def values_of(words: list[str], flag: str) -> list[str]:
    return [value for word, value in itertools.pairwise(words) if word == flag]


@pytest.mark.parametrize("row", covering(), ids=lambda row: "-".join(map(str, filter(None, row.values()))))
def test_choices_go_together(cohort: Cohort, row: Row) -> None:
    cohort.config |= row
    commands = gatk3_commands(cohort, "gatk")
    for rule, words in ((rule, words) for rule, found in commands.items() for words in found):
        old = words[0] == "gatk3"
        assert old == bool(GATK3_ONLY & set(words)), words
        assert old != bool({"--tmp-dir", "-O"} & set(words)), words
        walks = not {"GatherBQSRReports", "TrainVariantAnnotationsModel"} & set(words)
        assert values_of(words, "-L") == (expected_intervals(rule, row, words) if walks else []), words
        assert ("--ploidy-regions" in words) == (rule in CALLERS and bool(row["ploidy_regions"])), words
        dragen = rule in CALLERS and row["preset"] == "dragen-gatk"
        assert ("--dragen-mode" in words) == dragen, words
    imported = row["calling"] == "joint" and row["gatk"] == "gatk4"
    assert imported == ("genomics_db_import" in commands)
    genotyper = "genotype_interval" if imported else "genotype_gvcfs" if row["gvcf"] else "call_variants"
    (genotyping,) = commands[genotyper]
    assert imported == any(value.startswith("gendb://") for value in values_of(genotyping, "-V"))


def expected_intervals(rule: str, row: Row, words: list[str]) -> list[str]:
    """ApplyVQSR and ScoreVariantAnnotations have what an interval's first walk left."""
    if rule in WIDER or (rule in OF_INTERVAL and "VariantFiltration" in words):
        return [f"results/reference/intervals/1of1{'.wide' if rule in WIDER else ''}.bed"]
    return [row["intervals"]] if row["intervals"] and rule in WALKS_INTERVALS else []


def test_every_allowed_pair_is_in_a_row() -> None:
    rows = covering()
    assert len(rows) <= 12
    planned = set().union(*map(pairs, rows))
    for one, two in itertools.combinations(CHOICES, 2):
        for values in itertools.product(CHOICES[one], CHOICES[two]):
            pair = tuple(zip((one, two), values, strict=True))
            assert pair in planned or dict(pair) in REFUSED
