"""Fail where alignments are to another reference; the error names the first contig that differs.

    same_genome.py header --dict DICT NAME      compare the header of alignments (stdin; NAME is their file) with the
                                                reference's dictionary: names, order, lengths, and MD5 sums where
                                                both have them

Standard library only: it runs in whatever environment the rule has.
"""

import argparse
import sys
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path

Contig = tuple[str, int]


def read_header(lines: Iterable[str]) -> tuple[list[Contig], dict[str, str]]:
    """The contigs of a SAM header or a dictionary, and the MD5 sums of those that have one."""
    rows = (line.rstrip("\n").split("\t")[1:] for line in lines if line.startswith("@SQ\t"))
    named = [dict(field.split(":", 1) for field in row if ":" in field) for row in rows]
    contigs = [(contig["SN"], int(contig["LN"])) for contig in named]
    return contigs, {contig["SN"]: contig["M5"].lower() for contig in named if "M5" in contig}


def difference(header: Iterable[str], dictionary: Iterable[str]) -> str:
    """The first contig in which a header and a dictionary differ, in words; empty where they agree."""
    (contigs, sums), (expected, expected_sums) = read_header(header), read_header(dictionary)
    for number, pair in enumerate(zip_longest(contigs, expected), 1):
        if pair[0] != pair[1]:
            one, other = (f"{contig[0]} of {contig[1]} bases" if contig else "none" for contig in pair)
            return f"its contig {number} is {one}, that of the reference {other}"
    for contig, _ in expected:
        if sums.get(contig, "") not in ("", other := expected_sums.get(contig, "")):
            return f"{contig} has the MD5 sum {sums[contig]}, that of the reference {other or 'none'}"
    return ""


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("subcommand", choices=["header"])
    parser.add_argument("--dict", type=Path, required=True)
    parser.add_argument("name")
    given = parser.parse_args(argv)
    fault = difference(sys.stdin, given.dict.read_text().splitlines())
    if fault:
        print(
            f"error: {given.name}: its alignments are to another genome than {given.dict.with_suffix('.fa')}: {fault}; "
            "set bam_input: remap, or take the reference, and the index of it, that they were made with",
            file=sys.stderr,
        )
    return bool(fault)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
