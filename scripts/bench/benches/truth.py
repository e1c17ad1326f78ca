"""Calls of the benches' cohorts against what is known of their samples."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benches.cohorts import Real, Simulated
from gpd.paths import ROOT
from gpd.processes import output_of

sys.path.insert(0, str(ROOT / "resources" / "demo" / "germline"))

from compare_calls import Counts, compare_calls

GENOME = "results/reference/genome.fa"
CHR20_TRUTH, CHR20_REGIONS = "NA12878.truth.1100kb.vcf.gz", "NA12878.confident.10.0-10.1M.1100kb.bed"
TRUTHS = {"germline_chr20": (CHR20_TRUTH, CHR20_REGIONS), "germline_chr22": ("NA12878.GIAB.chr22_40kb.vcf.gz", None)}
COUNTS = {"found": "true_positives", "missed": "false_negatives", "false": "false_positives"}


def truth_of(cohort: Simulated | Real, pool: Path, sample: str) -> tuple[Path, Path | None]:
    """The VCF that a sample's calls are held against, and the regions outside of which nothing counts."""
    if isinstance(cohort, Simulated):
        return pool / f"truth/{sample}.vcf.gz", None
    vcf, regions = TRUTHS[cohort.name]
    folder = cohort.data / "truth"
    return folder / vcf, folder / regions if regions else None


def inside(vcf: Path, regions: Path | None, output: Path) -> Path:
    """The records of a VCF inside of the regions."""
    if not regions:
        return vcf
    output_of(["bcftools", "view", "-T", str(regions), "-O", "z", "-o", str(output), str(vcf)])
    return output


def held_against_truth(cohort: Simulated | Real, run: Path, called: Mapping[str, Path]) -> dict[str, Counts]:
    """SNPs and indels found, called in error, and missed, added up over samples, whose call sets `called` has."""
    found = []
    for sample, vcf in called.items():
        truth, regions = truth_of(cohort, run.parent / "pool", sample)
        ours, true = (inside(each, regions, run / f"{each.parent.name}.vcf.gz") for each in (vcf, truth))
        found.append(compare_calls(ours, true, run / GENOME, sample))
    return {"SNP": total([each.snp for each in found]), "indel": total([each.indel for each in found])}


def total(counts: Sequence[Counts]) -> Counts:
    """The sums of counts."""
    return Counts(**{field: sum(getattr(each, field) for each in counts) for field in COUNTS.values()})
