"""What each hard filter takes of true and of false calls, allele by allele, where the truth is known."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

Allele = tuple[str, str, str, str]


def takings(calls: Path, truth: Path, reference: Path, sample: str, regions: Path | None = None) -> Iterator[str]:
    """A line a filter: how many true and false alleles of the sample it took, and how many of them no other one did."""
    called = read_alleles(calls, reference, sample, regions)
    true = read_alleles(truth, reference, "", regions)
    yield f"{len(called.keys() & true.keys())} true and {len(called.keys() - true.keys())} false alleles before filters"
    for name in sorted({name for names in called.values() for name in names} - {"PASS", "."}):
        taken = {allele for allele, names in called.items() if name in names}
        alone = {allele for allele in taken if called[allele] == {name}}
        counts = [(len(part & true.keys()), len(part - true.keys())) for part in (taken, alone)]
        (true_taken, false_taken), (true_alone, false_alone) = counts
        yield f"{name} took {true_taken} true, {false_taken} false; alone {true_alone} true, {false_alone} false"


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
    return {tuple(fields): set(names.split(";")) for *fields, names in split}
