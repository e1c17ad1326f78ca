"""Two call sets held against each other, record by record: not only which alleles, but what is said of them."""

import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

COLUMNS = r"%CHROM\t%POS\t%REF\t%ALT\t%FILTER\t%QUAL\t%INFO[\t%GT]\n"

# CHROM, POS, REF, ALT, and which of equal records it is: none is to be there twice, but then it shall be seen
Key = tuple[str, int, str, str, int]


@dataclass(frozen=True)
class Call:
    """What is said of a record: FILTER, a genotype a sample, QUAL, INFO by key."""

    filter: str
    genotypes: tuple[str, ...]
    quality: str
    info: Mapping[str, str]


@dataclass(frozen=True)
class Difference:
    """How a call set differs from the one it is held against, which has `records`.

    `missing` and `added` are records; of those that both have, `filters`, `genotypes`, `qualities` and, by key, `info`
    count the ones in which that differs.
    """

    records: int
    missing: int = 0
    added: int = 0
    filters: int = 0
    genotypes: int = 0
    qualities: int = 0
    info: Mapping[str, int] = field(default_factory=dict)

    @property
    def in_results(self) -> int:
        """Differences in what a reader of calls goes by: none means the same records, filters and genotypes."""
        return self.missing + self.added + self.filters + self.genotypes

    def __str__(self) -> str:
        """What differs beside the results: QUAL, and keys of INFO."""
        parts = {"QUAL": self.qualities, **self.info}
        return ", ".join(f"{name} {count:,}" for name, count in sorted(parts.items()) if count) or "none"

    def __add__(self, other: "Difference") -> "Difference":
        """Of two pairs of call sets together."""
        names = ("records", "missing", "added", "filters", "genotypes", "qualities")
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        return Difference(**sums, info=dict(Counter(self.info) + Counter(other.info)))


def difference(first: Mapping[Key, Call], second: Mapping[Key, Call]) -> Difference:
    """How the second call set differs from the first."""
    both = [(first[key], second[key]) for key in first if key in second]
    info: Counter[str] = Counter()
    for one, other in both:
        info.update(key for key in one.info.keys() | other.info.keys() if one.info.get(key) != other.info.get(key))
    return Difference(
        records=len(first),
        missing=len(first) - len(both),
        added=len(second) - len(both),
        filters=sum(one.filter != other.filter for one, other in both),
        genotypes=sum(one.genotypes != other.genotypes for one, other in both),
        qualities=sum(one.quality != other.quality for one, other in both),
        info=dict(info),
    )


def compare(first: Path, second: Path) -> Difference:
    """How the call set in the second VCF differs from that in the first; both are of the same samples."""
    return difference(read(first), read(second))


def read(vcf: Path) -> dict[Key, Call]:
    """The records of a VCF."""
    done = subprocess.run(["bcftools", "query", "-f", COLUMNS, vcf], stdout=subprocess.PIPE, text=True, check=True)
    return parse(done.stdout)


def parse(table: str) -> dict[Key, Call]:
    """The records that bcftools query printed in COLUMNS."""
    found: dict[Key, Call] = {}
    seen: Counter[tuple[str, int, str, str]] = Counter()
    for line in table.splitlines():
        chrom, pos, ref, alt, verdict, quality, info, *genotypes = line.split("\t")
        record = (chrom, int(pos), ref, alt)
        pairs = (entry.partition("=") for entry in info.split(";"))
        call = Call(verdict, tuple(genotypes), quality, {key: value for key, _, value in pairs})
        found[*record, seen[record]] = call
        seen[record] += 1
    return found
