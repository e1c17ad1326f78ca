#!/usr/bin/env python3
"""Compare the calls of each sample of a demo with its truth, allele by allele; print a table as JSON.

Both sides are normalised first (split into biallelic records, left-aligned, trimmed), since one indel has
many spellings. An allele counts as found when chromosome, position, reference and alternative allele agree.
Genotypes are not compared: a heterozygous call of a homozygous variant is a true positive here.
"""

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import filterfalse
from pathlib import Path

from demo_germline.tools import ToolError, run

CALLS = Path("results") / "apply_variant_recalibration" / "cohort.vcf.gz"

Allele = tuple[str, int, str, str]


@dataclass(frozen=True)
class Counts:
    """Alleles found, called in error, and missed."""

    true_positives: int
    false_positives: int
    false_negatives: int

    @property
    def recall(self) -> float | None:
        """Share of the true alleles that were called; None where the truth has none."""
        return self.true_positives / true if (true := self.true_positives + self.false_negatives) else None

    @property
    def precision(self) -> float | None:
        """Share of the called alleles that are true; None where nothing was called."""
        return self.true_positives / called if (called := self.true_positives + self.false_positives) else None


@dataclass(frozen=True)
class Comparison:
    """Counts of one sample; `indel` holds everything that is not one base for one base."""

    sample: str
    snp: Counts
    indel: Counts


def compare_calls(calls_vcf: Path, truth_vcf: Path, reference: Path, sample: str) -> Comparison:
    """Count the alleles that `sample` carries in the calls, the truth, or both. Raises ToolError.

    Only records whose FILTER is PASS or missing count. A truth file with a single sample is that sample's
    truth, whatever name it bears.
    """
    names = _samples(truth_vcf)
    truth = _alleles(truth_vcf, reference, names[0] if len(names) == 1 else sample)
    calls = _alleles(calls_vcf, reference, sample)
    return Comparison(
        sample,
        snp=_count(filter(_is_snp, calls), filter(_is_snp, truth)),
        indel=_count(filterfalse(_is_snp, calls), filterfalse(_is_snp, truth)),
    )


def _alleles(vcf: Path, reference: Path, sample: str) -> set[Allele]:
    if sample not in _samples(vcf):
        raise ToolError(f"{vcf}: has no sample {sample}")
    passed = _bcftools(vcf, "view", "-f", "PASS,.", "-s", sample, str(vcf))
    normal = _bcftools(vcf, "norm", "-m", "-any", "-f", str(reference), "-", data=passed)
    # only now: of a split record, the sample may carry one allele and not the other
    columns = "%CHROM\t%POS\t%REF\t%ALT\n"
    table = _bcftools(vcf, "query", "-i", 'GT="alt"', "-f", columns, "-", data=normal)
    rows = (line.split("\t") for line in table.splitlines())
    # a spanning deletion (*) and symbolic alleles name no sequence to compare
    return {(c, int(p), ref.upper(), alt.upper()) for c, p, ref, alt in rows if alt[0] not in "*<"}


def _samples(vcf: Path) -> list[str]:
    return _bcftools(vcf, "query", "-l", str(vcf)).splitlines()


def _bcftools(vcf: Path, *arguments: str, data: str = "") -> str:
    try:
        return run(["bcftools", *arguments], data.encode()).decode()
    except ToolError as error:
        raise ToolError(f"{vcf}: {error}") from error


def _is_snp(allele: Allele) -> bool:
    return len(allele[2]) == len(allele[3]) == 1


def _count(calls: Iterable[Allele], truth: Iterable[Allele]) -> Counts:
    called, true = set(calls), set(truth)
    return Counts(len(called & true), len(called - true), len(true - called))


def compare_demo(folder: Path) -> list[Comparison]:
    """Each sample's filtered calls against its truth."""
    truths = sorted(path for path in (folder / "truth").glob("*.vcf.gz") if path.name != "population.vcf.gz")
    names = [(truth, truth.name.removesuffix(".vcf.gz")) for truth in truths]
    return [compare_calls(folder / CALLS, truth, folder / "genome.fa", name) for truth, name in names]


def table(comparisons: Iterable[Comparison]) -> dict[str, object]:
    """Calls against truth, a row a sample and kind of variant."""
    rows = [
        (
            *(comparison.sample, kind),
            *map(str, (counts.true_positives, counts.false_positives, counts.false_negatives)),
            *("" if share is None else f"{share:.4f}" for share in (counts.recall, counts.precision)),
        )
        for comparison in comparisons
        for kind, counts in (("SNP", comparison.snp), ("indel", comparison.indel))
    ]
    heads = ("sample", "kind", "found", "false", "missed", "recall", "precision")
    return {"caption": "Filtered calls against the simulated truth", "heads": heads, "rows": rows, "words": 2}


def main() -> int:
    try:
        print(json.dumps(table(compare_demo(Path(sys.argv[1])))))
    except ToolError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
