"""Haploid ALT calls of each sample, which bcftools stats counts without their kind.

    haploid.py < CALLS > COUNTS.tsv    of lines %SAMPLE %FILTER %ID %REF %ALT %GT

COUNTS.tsv has a line for each sample and set of records: `all`, `passed` the filters, or `novel`, which passed and have
no identifier.

Standard library only.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator

TRANSITIONS = {"AG", "GA", "CT", "TC"}
KINDS = ("transitions", "transversions", "indels")


def kind_of(ref: str, alt: str) -> str:
    """One of KINDS; empty for symbols, a deletion that spans the site, and several bases in place of as many."""
    if not alt.isalpha():
        return ""
    if len(ref) != len(alt):
        return "indels"
    changed = [one + other for one, other in zip(ref.upper(), alt.upper(), strict=True) if one != other]
    if len(changed) != 1:
        return ""
    return "transitions" if changed[0] in TRANSITIONS else "transversions"


def sets_of(filters: str, name: str) -> tuple[str, ...]:
    if filters not in ("PASS", "."):
        return ("all",)
    return ("all", "passed", "novel") if name == "." else ("all", "passed")


def count(lines: Iterable[str]) -> Counter[tuple[str, str, str]]:
    """By sample, set of records and kind."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for line in lines:
        sample, filters, name, ref, alts, allele = line.rstrip("\n").split("\t")
        kind = kind_of(ref, alts.split(",")[int(allele) - 1])
        counts.update((sample, of, kind) for of in sets_of(filters, name))
    return counts


def table(counts: Counter[tuple[str, str, str]]) -> Iterator[str]:
    yield "\t".join(("sample_name", "records", *KINDS))
    for sample, of in sorted({(sample, of) for sample, of, _ in counts}):
        yield "\t".join((sample, of, *(str(counts[sample, of, kind]) for kind in KINDS)))


if __name__ == "__main__":
    print(*table(count(sys.stdin)), sep="\n")
