"""Which lanes of a sample are of another person than its others, by the reads of each at common sites.

    lanes.py --lanes L1,L2 --sites SITES < COUNTS > LANES.tsv

SITES has lines %CHROM %POS %REF %ALT of the common sites; COUNTS those, and [%AD] of bcftools mpileup, a column a lane.
At sites where the other lanes of the sample together are homozygous, LANES has the reads of each lane, and the share
of those that have the other allele: errors alone where it is one person. Of two lanes it is not known which is wrong.

Standard library only.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

LEAST_DEPTH, HOMOZYGOUS = 10, 0.1  # reads, and the share of them that has the rarer allele, as genotypes.py has them
FEWEST = 100  # reads of a lane at such sites
HEADER = "lane\treads\tother_allele"

Alleles = dict[tuple[str, str], tuple[str, str]]


def sites(lines: Iterable[str]) -> Alleles:
    """REF and ALT of SNPs that have two alleles."""
    rows = (line.rstrip("\n").split("\t") for line in lines)
    return {(contig, place): (ref, alt) for contig, place, ref, alt in rows if len(ref) == len(alt) == 1}


def counts(lines: Iterable[str], known: Alleles) -> Iterator[list[tuple[int, int]]]:
    """At each site, the reads of each lane with REF and with ALT."""
    for line in lines:
        contig, place, ref, alts, *depths = line.rstrip("\n").split("\t")
        if (contig, place) not in known:
            continue
        alleles = [ref, *alts.split(",")]
        wanted = known[contig, place]
        found = []
        for depth in depths:
            of_alleles = dict(zip(alleles, depth.split(","), strict=False))
            ref_reads, alt_reads = (of_alleles.get(allele, "0") for allele in wanted)
            found.append((int(ref_reads) if ref_reads != "." else 0, int(alt_reads) if alt_reads != "." else 0))
        yield found


def compare(found: Iterable[Sequence[tuple[int, int]]], lanes: int) -> list[tuple[int, int]]:
    """Of each lane, its reads at sites where the others are homozygous, and those with the other allele."""
    sums = [(0, 0)] * lanes
    for of_lanes in found:
        ref, alt = (sum(reads) for reads in zip(*of_lanes, strict=True))
        for at, (own_ref, own_alt) in enumerate(of_lanes):
            rest, rest_alt = ref + alt - own_ref - own_alt, alt - own_alt
            if rest < LEAST_DEPTH or HOMOZYGOUS < rest_alt / rest < 1 - HOMOZYGOUS:
                continue
            reads, others = sums[at]
            sums[at] = reads + own_ref + own_alt, others + (own_alt if 2 * rest_alt < rest else own_ref)
    return sums


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lanes", required=True)
    parser.add_argument("--sites", type=Path, required=True)
    given = parser.parse_args(argv)
    names = given.lanes.split(",")
    with given.sites.open(encoding="utf-8") as lines:
        known = sites(lines)
    print(HEADER)
    for name, (reads, others) in zip(names, compare(counts(sys.stdin, known), len(names)), strict=True):
        print(name, reads, f"{others / reads:.5f}" if reads >= FEWEST else "", sep="\t")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
