"""Which samples are one person, and which are first-degree relatives: all pairs; and whose known genotypes each has.

    identity.py FILES < KNOWN > pairs.tsv

FILES names tables of genotypes.py, one a line. KNOWN has a line of names, and lines %CHROM %POS [%GT] of what is known
of these; or nothing. Each sample is held against what is known of its name, and where it is another person, of all.

The kinship of a pair is KING-robust's (Manichaikul 2010, equation 11): sites where both are heterozygous, less twice
those where they are homozygous for different alleles, over twice the heterozygous sites of the one that has fewer, and
of that is taken a quarter of the share that the other has more. It needs no allele frequencies. It is of diploid
genotypes: calls of another ploidy are unknown, and a sample with hardly any other has the relation not_known. Against
known genotypes that last term is left out, for the question is whether what is known is there: contamination brings
more heterozygous sites, and is told elsewhere. A site that a table lacks is REF in a call set of one sample, and
unknown elsewhere. Sets of sites are bits of whole numbers, so that a pair takes microseconds.

Standard library only.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, zip_longest
from pathlib import Path

SAME, FIRST = 0.354, 0.177  # least kinship of twins and of first-degree relatives (Manichaikul 2010, table 1)
FEWEST = 100  # heterozygous sites that both have to have: below that chance makes relatives
FEWEST_KNOWN = 30  # the same, of whom there is but the question whether they are one person: panels of 96 SNPs have 40
COPIES = {f"{one}{phase}{other}": str(one + other) for one in (0, 1) for other in (0, 1) for phase in "/|"}
# a translation for each number of copies, to binary digits
ONES = [bytes(ord("1") if code == ord(copies) else ord("0") for code in range(256)) for copies in "012"]
HEADER = "sample_name\tother\tkinship\trelation\tsites"


@dataclass
class Genotypes:
    """Of a sample: the sites with 0, 1 and 2 copies of ALT, each a set of bits."""

    none: int = 0
    one: int = 0
    two: int = 0

    @property
    def known(self) -> int:
        return self.none | self.one | self.two


def read(paths: Iterable[Path], numbers: dict[str, int]) -> dict[str, Genotypes]:
    """All samples; each site has one bit throughout, which `numbers` gets."""
    found: dict[str, Genotypes] = {}
    listed: dict[str, int] = {}  # the sites of samples of call sets of their own, which list none that is REF
    for path in paths:
        with path.open(encoding="utf-8") as lines:
            _, _, *names = next(lines).rstrip("\n").split("\t")
            rows = list(lines)
        end = -2 * len(names)  # a letter a sample
        sites = [row[: end - 1] for row in rows]
        for site in sites:
            if site not in numbers:
                numbers[site] = len(numbers)
        places, calls = [numbers[site] for site in sites], (row[end:-1:2] for row in rows)
        for name, column in zip_longest(names, zip(*calls, strict=True), fillvalue=()):
            found[name] = Genotypes(*sets(places, column, len(numbers)))
        if len(names) == 1 and not found[names[0]].none:
            listed[names[0]], *_ = sets(places, "0" * len(places), len(numbers))  # those of unknown copies, too
    everything = (1 << len(numbers)) - 1
    for name, own in listed.items():
        found[name].none = everything & ~own
    return found


def read_known(lines: Iterator[str], numbers: Mapping[str, int]) -> dict[str, Genotypes]:
    """What is known, at sites that have a bit."""
    names = next(lines, "").rstrip("\n").split("\t")
    places, rows = [], []
    for line in lines:
        contig, position, calls = line.rstrip("\n").split("\t", 2)
        if (place := numbers.get(f"{contig}\t{position}")) is not None:
            places.append(place)
            rows.append("".join([COPIES.get(call, ".") for call in calls.split("\t")]))
    columns = zip_longest(names, zip(*rows, strict=True), fillvalue=())
    return {name: Genotypes(*sets(places, column, len(numbers))) for name, column in columns}


def sets(places: Iterable[int], column: Iterable[str], sites: int) -> Iterator[int]:
    """The sites with 0, 1 and 2 copies."""
    row = bytearray(b"." * (sites + 1))  # one that no sample has, so that it is a number where there are no sites
    for place, copies in zip(places, map(ord, column), strict=True):
        row[place] = copies
    row.reverse()
    return (int(row.translate(ones), 2) for ones in ONES)


@dataclass(frozen=True, order=True)
class Compared:
    """Of two samples: what they share of the heterozygous sites of the one with fewer, how many times as many the other
    has, and the sites that both have."""

    shared: float
    more: float
    sites: int

    @property
    def kinship(self) -> float:
        return self.shared - (self.more - 1) / 4


def compare(one: Genotypes, other: Genotypes, least: int) -> Compared | None:
    """Two samples; None where they have too few heterozygous sites."""
    both = one.known & other.known
    fewer, more = sorted(((one.one & both).bit_count(), (other.one & both).bit_count()))
    if fewer < least:
        return None
    opposite = ((one.none & other.two) | (one.two & other.none)).bit_count()
    shared = ((one.one & other.one).bit_count() - 2 * opposite) / (2 * fewer)
    return Compared(shared, more / fewer, both.bit_count())


def related(samples: Mapping[str, Genotypes]) -> Iterator[str]:
    """A line for each pair of relatives."""
    for (name, one), (other, two) in combinations(samples.items(), 2):
        found = compare(one, two, FEWEST)
        if found and found.kinship >= FIRST:
            relation = "same_person" if found.kinship >= SAME else "first_degree"
            yield f"{name}\t{other}\t{found.kinship:.3f}\t{relation}\t{found.sites}"


def not_known(samples: Mapping[str, Genotypes]) -> Iterator[str]:
    """A line for each sample that nothing is known of: of a small panel, or called with another ploidy than 2."""
    for name, own in samples.items():
        if own.one.bit_count() < FEWEST:
            yield f"{name}\t\t\tnot_known\t{own.known.bit_count()}"


def known_as(samples: Mapping[str, Genotypes], known: Mapping[str, Genotypes]) -> Iterator[str]:
    """For each sample of which genotypes are known whether it has them; a line more where it has another's."""
    for name in filter(known.__contains__, samples):
        own = compare(samples[name], known[name], FEWEST_KNOWN)
        if not own:
            continue
        is_own = own.shared >= SAME
        yield f"{name}\t{name}\t{own.shared:.3f}\t{'known_as' if is_own else 'not_known_as'}\t{own.sites}"
        others = () if is_own else ((compare(samples[name], known[other], FEWEST_KNOWN), other) for other in known)
        found, other = max(((found, other) for found, other in others if found), default=(None, ""))
        if found and found.shared >= SAME:
            yield f"{name}\t{other}\t{found.shared:.3f}\tknown_as\t{found.sites}"


if __name__ == "__main__":
    bits: dict[str, int] = {}
    everybody = read(map(Path, Path(sys.argv[1]).read_text().splitlines()), bits)
    known = read_known(sys.stdin, bits)
    print(HEADER, *related(everybody), *not_known(everybody), *known_as(everybody, known), sep="\n")
