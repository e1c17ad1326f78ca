"""Compares two call sets record by record: alleles, filters, genotypes, and what else records say."""

import subprocess
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

COLUMNS = r"%CHROM\t%POS\t%REF\t%ALT\t%FILTER\t%QUAL\t%INFO[\t%GT]\n"
IN_RESULTS = ("missing", "added", "FILTER", "genotypes")

# CHROM, POS, REF, ALT, number among equal records -> a value a field; INFO also by key
Calls = Mapping[tuple[str, ...], Mapping[str, str]]


class CallDifference(Counter[str]):
    """How many of the first call set's `records` are missing, added or differ in a field; sums up."""

    @property
    def in_results(self) -> int:
        """Differences that change results; 0 means the same records, filters and genotypes."""
        return sum(self[name] for name in IN_RESULTS)

    def __str__(self) -> str:
        """What differs besides: QUAL, and keys of INFO."""
        others = sorted(name for name in self.keys() - {"records", *IN_RESULTS} if self[name])
        return ", ".join(f"{name} {self[name]:,}" for name in others) or "none"


def compare(first: Path, second: Path) -> CallDifference:
    """How the second VCF differs from the first; both are of the same samples."""
    return difference(*(parse(_query(vcf)) for vcf in (first, second)))


def difference(first: Calls, second: Calls) -> CallDifference:
    both = first.keys() & second.keys()
    found = CallDifference(records=len(first), missing=len(first) - len(both), added=len(second) - len(both))
    for key in both:
        one, other = first[key], second[key]
        found.update(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    return found


def _query(vcf: Path) -> str:
    return subprocess.run(
        ["bcftools", "query", "-f", COLUMNS, vcf], stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def parse(table: str) -> Calls:
    """The records that bcftools query printed in COLUMNS; equal ones are numbered."""
    found: dict[tuple[str, ...], dict[str, str]] = {}
    repeated: Counter[tuple[str, ...]] = Counter()
    for line in table.splitlines():
        *key, verdict, quality, info, genotypes = line.split("\t", 7)
        fields = dict(entry.partition("=")[::2] for entry in info.split(";"))
        fields |= {"FILTER": verdict, "QUAL": quality, "genotypes": genotypes}
        found[*key, str(repeated[*key])] = fields
        repeated[*key] += 1
    return found
