"""Genotypes of SNPs by sample, for contamination and identity.

    genotypes.py calls --every 100 --samples S --genotypes G --balance B < QUERY    of lines %CHROM %POS [%GT:%AD]
    genotypes.py pileups --sample NAME PILEUPS > G.tsv    of GATK's GetPileupSummaries

G.tsv has a line for each site, contig and position, then 0, 1, 2 (copies of ALT) or a dot for each sample; the header
names the samples. Of a call set it has one site in `every`, chosen by position, so that it has the same ones of each
call set. B.tsv has for each sample the mean share of ALT reads at the heterozygous SNPs among them, and that of REF
reads at the homozygous ones: to take apart each site of 1,000 samples would take hours.

Standard library only.
"""

import argparse
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

LEAST_DEPTH = 10  # reads, of a genotype by reads alone, and of a call that counts for the balance
HOMOZYGOUS, HETEROZYGOUS = 0.1, (0.25, 0.75)  # shares of ALT reads
COPIES = {"0/0": "0", "0|0": "0", "0/1": "1", "0|1": "1", "1|0": "1", "1/1": "2", "1|1": "2"}
FEWEST = 50  # SNPs, of which a mean is told


class Balance:
    """Sums, over the SNPs of a sample, of the share of one allele's reads."""

    def __init__(self) -> None:
        self.sites, self.shares = 0, 0.0

    def add(self, reads: int, of: int) -> None:
        if of >= LEAST_DEPTH:
            self.sites, self.shares = self.sites + 1, self.shares + reads / of

    def __str__(self) -> str:
        return f"{self.shares / self.sites:.5f}" if self.sites >= FEWEST else ""


def read_calls(
    lines: Iterable[str], samples: Sequence[str], every: int, balances: dict[str, tuple[Balance, Balance]]
) -> Iterator[str]:
    """Yield the lines of the chosen sites, and add these up."""
    for line in lines:
        contig, position, calls = line.rstrip("\n").split("\t", 2)
        if zlib.crc32(f"{contig}:{position}".encode()) % every:
            continue
        copies = []
        for sample, call in zip(samples, calls.split("\t"), strict=True):
            genotype, _, depths = call.partition(":")
            found = COPIES.get(genotype, ".")
            copies.append(found)
            if found in "12" and "." not in depths:
                ref, alt = map(int, depths.split(","))
                heterozygous, homozygous = balances[sample]
                heterozygous.add(alt, ref + alt) if found == "1" else homozygous.add(ref, ref + alt)
        yield "\t".join([contig, position, *copies])


def calls(every: int, genotypes: Path, balance: Path, samples: Sequence[str]) -> None:
    balances = {sample: (Balance(), Balance()) for sample in samples}
    with genotypes.open("w") as out:
        print("contig", "position", *samples, sep="\t", file=out)
        for line in read_calls(sys.stdin, samples, every, balances):
            print(line, file=out)
    with balance.open("w") as out:
        print("sample_name", "het_alt_share", "hom_ref_share", sep="\t", file=out)
        for sample, found in balances.items():
            print(sample, *found, sep="\t", file=out)


def genotype_of(ref: int, alt: int, other: int) -> str:
    """Copies of ALT by reads; a dot where they are too few, or in between."""
    depth = ref + alt
    if depth < LEAST_DEPTH or other > HOMOZYGOUS * depth:
        return "."
    part, (low, high) = alt / depth, HETEROZYGOUS
    if part < HOMOZYGOUS:
        return "0"
    if part > 1 - HOMOZYGOUS:
        return "2"
    return "1" if low <= part <= high else "."


def pileups(sample: str, path: Path) -> Iterator[str]:
    yield f"contig\tposition\t{sample}"
    for line in path.read_text().splitlines():
        if not line.startswith(("#", "contig\t")):
            contig, position, *counts = line.split("\t")
            yield f"{contig}\t{position}\t{genotype_of(*map(int, counts[:3]))}"


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    subcommands = parser.add_subparsers(dest="subcommand", required=True)
    subcommand = subcommands.add_parser("calls")
    subcommand.add_argument("--every", type=int, required=True)
    subcommand.add_argument("--genotypes", type=Path, required=True)
    subcommand.add_argument("--balance", type=Path, required=True)
    subcommand.add_argument("--samples", type=Path, required=True, help="a name a line, in the order of the call set")
    subcommand = subcommands.add_parser("pileups")
    subcommand.add_argument("--sample", required=True)
    subcommand.add_argument("path", type=Path)
    given = parser.parse_args(argv)
    if given.subcommand == "calls":
        calls(given.every, given.genotypes, given.balance, given.samples.read_text().split())
    else:
        sys.stdout.writelines(f"{line}\n" for line in pileups(given.sample, given.path))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
