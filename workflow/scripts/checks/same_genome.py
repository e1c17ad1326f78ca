"""Fail where what maps, or what comes mapped, is not of the reference; the error names the first place that differs.

    same_genome.py header --dict DICT NAME      compare the header of alignments (stdin; NAME is their file) with the
                                                reference's dictionary: names, order, lengths, and MD5 sums where
                                                both have them
    same_genome.py index --fasta FASTA PREFIX   compare an index of bwa or bwa-mem2 with FASTA, beside which lies its
                                                .fai: every base, and where it has none (inputs.py compares contigs)

Standard library only: it runs in whatever environment the rule has.
"""

import argparse
import sys
from bisect import bisect
from collections.abc import Iterable
from itertools import zip_longest
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO

BLOCK = 1 << 24  # bases that are compared at once
UNKNOWN = 4  # the code of what is neither A, C, G nor T
CODES = bytes(b"AaCcGgTt".find(byte) // 2 if byte in b"ACGTacgt" else UNKNOWN for byte in range(256))
UNPACKED = [bytes(byte >> shift & 3 for byte in range(256)) for shift in (6, 4, 2, 0)]  # the four bases in a byte

Contig = tuple[str, int]


class OtherGenomeError(Exception):
    """It is another genome's; the message says of what, and where they differ."""


# --- alignments ---


def read_header(lines: Iterable[str]) -> tuple[list[Contig], dict[str, str]]:
    """The contigs of a SAM header or a dictionary, and the MD5 sums of those that have one."""
    rows = (line.rstrip("\n").split("\t")[1:] for line in lines if line.startswith("@SQ\t"))
    named = [dict(field.split(":", 1) for field in row if ":" in field) for row in rows]
    contigs = [(contig["SN"], int(contig["LN"])) for contig in named]
    return contigs, {contig["SN"]: contig["M5"].lower() for contig in named if "M5" in contig}


def header_difference(header: Iterable[str], dictionary: Iterable[str]) -> str:
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


def compare_header(name: str, header: Iterable[str], dictionary: Path) -> None:
    """Fail unless alignments are to the reference of the dictionary."""
    if fault := header_difference(header, dictionary.read_text().splitlines()):
        raise OtherGenomeError(
            f"{name}: its alignments are to another genome than {dictionary.with_suffix('.fa')}: {fault}; set "
            "bam_input: remap, or take the reference, and the index of it, that they were made with"
        )


# --- indexes ---


def read_gaps(path: Path) -> list[tuple[int, int]]:
    """Where the index has no bases, from and to, in its contigs one after the other; .pac has bases drawn there."""
    rows = [line.split() for line in path.read_text().splitlines()[1:]]
    return [(int(start), int(start) + int(length)) for start, length, *_ in rows]


def indexed_codes(packed: BinaryIO, gaps: list[tuple[int, int]], start: int, end: int) -> bytes:
    """The codes of an index's bases from `start` to before `end`; fewer where the file has fewer."""
    first = start // 4
    packed.seek(first)
    data = packed.read((end + 3) // 4 - first)
    codes = bytearray(4 * len(data))
    for place, unpacked in enumerate(UNPACKED):
        codes[place::4] = data.translate(unpacked)
    codes = codes[start % 4 :][: end - start]
    at = bisect(gaps, start, key=itemgetter(1))
    while at < len(gaps) and gaps[at][0] < start + len(codes):
        one, other = max(gaps[at][0] - start, 0), min(gaps[at][1] - start, len(codes))
        codes[one:other] = bytes([UNKNOWN]) * (other - one)
        at += 1
    return bytes(codes)


def first_other_base(fasta: Path, prefix: str) -> str:
    """The first base at which FASTA and index differ, contig:position; empty where all are the same."""
    gaps = read_gaps(Path(f"{prefix}.amb"))
    at = 0  # of the index, all contigs one after the other
    with fasta.open("rb") as sequence, Path(f"{prefix}.pac").open("rb") as packed:
        for row in Path(f"{fasta}.fai").read_text(encoding="utf-8", errors="replace").splitlines():
            contig, *numbers = row.split("\t")
            length, offset, bases, width = map(int, numbers[:4])
            for start in range(0, length, BLOCK):
                end = min(start + BLOCK, length)
                first, last = (offset + base // bases * width + base % bases for base in (start, end - 1))
                sequence.seek(first)
                own = sequence.read(last + 1 - first).translate(CODES, b"\r\n")
                other = indexed_codes(packed, gaps, at + start, at + end)
                if own != other:
                    pairs = enumerate(zip_longest(own, other), start + 1)
                    return next(f"{contig}:{position}" for position, (one, two) in pairs if one != two)
            at += length
    return ""


def compare_index(fasta: Path, prefix: str) -> None:
    """Fail unless an index has the bases of this FASTA file."""
    try:
        base = first_other_base(fasta, prefix)
        fault = f"they differ from {base} on" if base else ""
    except (ValueError, LookupError) as error:
        fault = f"it cannot be read: {error}"
    if fault:
        raise OtherGenomeError(
            f"reference.bwa_index {prefix} is not of {fasta}: {fault}; name the index of this file, or leave "
            "reference.bwa_index out: then it is made"
        )


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    subcommands = parser.add_subparsers(dest="subcommand", required=True)
    subcommand = subcommands.add_parser("header")
    subcommand.add_argument("--dict", type=Path, required=True)
    subcommand.add_argument("name")
    subcommand = subcommands.add_parser("index")
    subcommand.add_argument("--fasta", type=Path, required=True)
    subcommand.add_argument("prefix")
    given = parser.parse_args(argv)
    try:
        if given.subcommand == "header":
            compare_header(given.name, sys.stdin, given.dict)
        else:
            compare_index(given.fasta, given.prefix)
            print(f"{given.prefix} is of {given.fasta}: all bases are the same")
    except OtherGenomeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
