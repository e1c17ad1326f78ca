"""Which samples are one person, and which are first-degree relatives: all pairs of a cohort.

    identity.py FILES > pairs.tsv

FILES names tables of genotypes.py, one a line. The kinship of a pair is KING-robust's (Manichaikul 2010): sites where
both are heterozygous, less twice those where they are homozygous for different alleles, over twice the heterozygous
sites of the one that has fewer. It needs no allele frequencies. A site that a table lacks is REF in a call set of one
sample, and unknown elsewhere. Sets of sites are bits of whole numbers, so that a pair takes microseconds.

Standard library only.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

SAME, FIRST = 0.354, 0.177  # least kinship of twins and of first-degree relatives (Manichaikul 2010, table 1)
FEWEST = 100  # heterozygous sites that both have to have: below that chance makes relatives
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


def read(paths: Iterable[Path]) -> dict[str, Genotypes]:
    """All samples; each site has one bit throughout."""
    numbers: dict[tuple[str, str], int] = {}
    found: dict[str, Genotypes] = {}
    absent: list[str] = []  # samples of call sets of their own, which list no site that is REF
    for path in paths:
        header, *lines = path.read_text().splitlines()
        names = header.split("\t")[2:]
        sites = [line.split("\t") for line in lines]
        places = [numbers.setdefault((site[0], site[1]), len(numbers)) for site in sites]
        for column, name in enumerate(names, 2):
            sets = {
                copies: bits(place for place, site in zip(places, sites, strict=True) if site[column] == copies)
                for copies in "012"
            }
            found[name] = Genotypes(sets["0"], sets["1"], sets["2"])
        if len(names) == 1 and not found[names[0]].none:
            absent.append(names[0])
    everything = (1 << len(numbers)) - 1
    for name in absent:
        found[name].none = everything & ~found[name].known
    return found


def bits(places: Iterable[int]) -> int:
    """A whole number with these bits set."""
    array = bytearray()
    for place in places:
        byte, bit = divmod(place, 8)
        if byte >= len(array):
            array.extend(bytes(byte + 1 - len(array)))
        array[byte] |= 1 << bit
    return int.from_bytes(array, "little")


def kinship(one: Genotypes, other: Genotypes) -> tuple[float, int] | None:
    """The kinship of two samples, and the sites that both have; None where there are too few."""
    both = one.known & other.known
    fewest = min((one.one & both).bit_count(), (other.one & both).bit_count())
    if fewest < FEWEST:
        return None
    opposite = ((one.none & other.two) | (one.two & other.none)).bit_count()
    return ((one.one & other.one).bit_count() - 2 * opposite) / (2 * fewest), both.bit_count()


def related(samples: Mapping[str, Genotypes]) -> Iterator[str]:
    """A line for each pair of relatives."""
    for (name, one), (other, two) in combinations(samples.items(), 2):
        found = kinship(one, two)
        if found and found[0] >= FIRST:
            relation = "same_person" if found[0] >= SAME else "first_degree"
            yield f"{name}\t{other}\t{found[0]:.3f}\t{relation}\t{found[1]}"


if __name__ == "__main__":
    print(HEADER)
    for each in related(read(map(Path, Path(sys.argv[1]).read_text().splitlines()))):
        print(each)
