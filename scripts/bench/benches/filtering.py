"""What each hard filter takes of true and of false calls, allele by allele, where the truth is known."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

Allele = tuple[str, str, str, str]
CALLED = "called"  # in place of a filter: all alleles before filters


class FilteredAlleles(NamedTuple):
    """How many true and false alleles a filter took, and how many of them no other one did."""

    true: int
    false: int
    true_alone: int
    false_alone: int


def takings(calls: Path, truth: Path, reference: Path, sample: str, regions: Path | None = None) -> Iterator[str]:
    """A line for all alleles of the sample before filters, and one a filter with what it took."""
    counts = taken(calls, truth, reference, sample, regions)
    yield f"{counts[CALLED].true} true and {counts[CALLED].false} false alleles before filters"
    for name, each in counts.items():
        if name != CALLED:
            alone = f"alone {each.true_alone} true, {each.false_alone} false"
            yield f"{name} took {each.true} true, {each.false} false; {alone}"


def taken(
    calls: Path, truth: Path, reference: Path, sample: str, regions: Path | None = None
) -> dict[str, FilteredAlleles]:
    """By filter what it took of the sample's alleles; first of all what was called."""
    called = read_alleles(calls, reference, sample, regions)
    true = read_alleles(truth, reference, "", regions).keys()
    counts = {CALLED: FilteredAlleles(len(called.keys() & true), len(called.keys() - true), 0, 0)}
    for name in sorted({name for names in called.values() for name in names} - {"PASS", "."}):
        part = {allele for allele, names in called.items() if name in names}
        alone = {allele for allele in part if called[allele] == {name}}
        counts[name] = FilteredAlleles(len(part & true), len(part - true), len(alone & true), len(alone - true))
    return counts


def read_alleles(vcf: Path, reference: Path, sample: str, regions: Path | None) -> dict[Allele, set[str]]:
    """The alleles that the sample (empty: the only one) carries, normalised, each with what its FILTER says."""
    one = subprocess.run(
        ["bcftools", "view", "-O", "u", *(["-s", sample] if sample else []), vcf], check=True, capture_output=True
    )
    normal = subprocess.run(
        ["bcftools", "norm", "-O", "u", "-m", "-any", "-f", reference, "-"],
        input=one.stdout,
        check=True,
        capture_output=True,
    )
    inside = ["-T", regions] if regions else []
    columns = r"%CHROM\t%POS\t%REF\t%ALT\t%FILTER\n"
    rows = subprocess.run(
        ["bcftools", "query", *inside, "-i", 'GT="alt"', "-f", columns, "-"],
        input=normal.stdout,
        check=True,
        capture_output=True,
    ).stdout.decode()
    split = (line.split("\t") for line in rows.splitlines())
    # a spanning deletion (*) names no sequence to compare
    return {tuple(fields): set(names.split(";")) for *fields, names in split if fields[3] != "*"}
