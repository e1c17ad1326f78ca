"""Which contigs of a genome are called where no intervals are given: the primary assembly, where names tell it.

    primary.py FAI > called_contigs.bed

Left out are contigs that others stand for: decoys and EBV, which catch reads of other sequences, HLA alleles, and ALT
contigs and patches. Chromosomes, MT and the scaffolds that have no place stay. Standard library only.
"""

import collections
import re
import sys
from pathlib import Path

KINDS = {
    "decoys": re.compile(r"chrUn_\w+_decoy|hs37d5|(KN707|JTFH01)\d+(\.\d+)?"),
    "EBV": re.compile(r"chrEBV|NC_007605(\.\d+)?"),
    "HLA": re.compile(r"HLA-\w+\*.+"),
    # UCSC's, then Ensembl's
    "ALT": re.compile(
        r"chr\w+_[A-Z]+\d+(v\d+)?_(alt|fix)|chr\d+_[a-z\d]+_hap\d+"
        r"|(CHR_)?(HSCHR\w+|HG\d+_\w*PATCH)|CHR_(MG\d+_|([A-Z]+_[A-Z]+_)?MMCHR)\w+"
    ),
}


def left_out(contigs):
    """The contigs that are not called, with their kind, of {contig: length}.

    None where they would be half of the bases or more, as in a study of EBV: they are what is wanted then.
    """
    found = {name: kind for name in contigs for kind, names in KINDS.items() if names.fullmatch(name)}
    return found if 2 * sum(map(contigs.get, found)) < sum(contigs.values()) else {}


def summary(found):
    """How many there are of each kind: 2,385 decoys, 525 HLA."""
    counts = collections.Counter(found.values())
    return ", ".join(f"{counts[kind]:,} {kind}" for kind in KINDS if counts[kind])


def names_any(bed, contigs):
    """Whether a BED file, if it is there, has a line of one of the contigs."""
    path = Path(bed)
    return path.exists() and any(line.partition("\t")[0] in contigs for line in path.read_text().splitlines())


def read_contigs(fai):
    """Return {contig: length} of an index of samtools."""
    rows = (line.split("\t") for line in Path(fai).read_text().splitlines())
    return {name: int(length) for name, length, *_ in rows}


def main(fai):
    """Write the contigs that are called."""
    listed = read_contigs(fai)
    missing = left_out(listed)
    for name, length in listed.items():
        if name not in missing:
            print(name, 0, length, sep="\t")


if __name__ == "__main__":
    main(sys.argv[1])
