"""Fail where what maps, or what comes mapped, is not of the reference; the error names the first contig that differs.

    same_genome.py header --dict DICT NAME      compare the header of alignments (stdin; NAME is their file) with the
                                                reference's dictionary: names, order, lengths, and MD5 sums where
                                                both have them
    same_genome.py index --fasta FASTA PREFIX   compare an index of bwa or bwa-mem2 with FASTA, beside which lies its
                                                .fai: names, order, lengths, every base, and where it has none

Standard library only: it runs in whatever environment the rule has.
"""

import argparse
import struct
import sys
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path

BLOCK = 1 << 24  # bases that are compared at once, a multiple of those that a byte of .pac holds
UNKNOWN = 4  # the code of what is neither A, C, G nor T
CODES = bytes(b"AaCcGgTt".find(byte) // 2 if byte in b"ACGTacgt" else UNKNOWN for byte in range(256))
PLACES = [bytes(byte >> shift & 3 for byte in range(256)) for shift in (6, 4, 2, 0)]  # of the four bases in a byte

Contig = tuple[str, int]


class OtherGenomeError(Exception):
    """It is another genome's; the message says of what, and where they differ."""


def first_difference(found: Iterable[Contig], expected: Iterable[Contig]) -> str:
    """The first place at which two lists of contigs differ, in words; empty where they are the same."""
    for number, (one, other) in enumerate(zip_longest(found, expected), 1):
        if one != other:
            return f"its contig {number} is {described(one)}, that of the reference {described(other)}"
    return ""


def described(contig: Contig | None) -> str:
    return f"{contig[0]} of {contig[1]} bases" if contig else "none"


# --- alignments ---


def read_header(lines: Iterable[str]) -> tuple[list[Contig], dict[str, str]]:
    """The contigs of a SAM header or a dictionary, and the MD5 sums of those that have one."""
    rows = (line.rstrip("\n").split("\t")[1:] for line in lines if line.startswith("@SQ\t"))
    named = [dict(field.split(":", 1) for field in row if ":" in field) for row in rows]
    contigs = [(contig["SN"], int(contig["LN"])) for contig in named]
    return contigs, {contig["SN"]: contig["M5"].lower() for contig in named if "M5" in contig}


def compare_header(name: str, header: Iterable[str], dictionary: Path) -> None:
    """Fail unless alignments are to the reference of the dictionary."""
    (contigs, sums), (expected, expected_sums) = read_header(header), read_header(dictionary.read_text().splitlines())
    fault = first_difference(contigs, expected)
    differing = (contig for contig, _ in expected if sums.get(contig, "") not in ("", expected_sums.get(contig, "")))
    if not fault and (contig := next(differing, "")):
        fault = f"{contig} has the MD5 sum {sums[contig]}, that of the reference {expected_sums.get(contig, 'none')}"
    if fault:
        raise OtherGenomeError(
            f"{name}: its alignments are to another genome than {dictionary.with_suffix('.fa')}: {fault}; set "
            "bam_input: remap, or take the reference, and the index of it, that they were made with"
        )


# --- indexes ---


def read_annotation(path: Path) -> list[Contig]:
    """The contigs of an index: of each a line with its name, and one with where it begins and how long it is."""
    names, places = [], []
    with path.open(encoding="utf-8", errors="replace") as lines:
        next(lines, "")
        for name, place in zip(lines, lines, strict=True):
            names.append(name.split(maxsplit=2)[1])
            places.append(int(place.split()[1]))
    return list(zip(names, places, strict=True))


def read_holes(path: Path) -> Iterator[tuple[int, int]]:
    """Where the index has no bases, from and to, in its contigs one after the other; .pac has bases drawn there."""
    with path.open() as lines:
        next(lines, "")
        for line in lines:
            start, length = map(int, line.split()[:2])
            yield start, start + length


def bases(fasta: Path, fai: Iterable[list[str]]) -> Iterator[bytes]:
    """The bases of all contigs, in pieces."""
    with fasta.open("rb") as file:
        for _, length, offset, a_line, width in fai:
            last = int(length) - 1
            left = last // int(a_line) * int(width) + last % int(a_line) + 1
            file.seek(int(offset))
            while left:
                piece = file.read(min(left, BLOCK))
                if not piece:
                    raise OtherGenomeError(f"{fasta}: it ends before its index says so")
                left -= len(piece)
                yield piece.translate(None, b"\r\n")


def blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces in blocks of one size, but for the last."""
    rest = bytearray()
    for piece in pieces:
        rest += piece
        while len(rest) >= BLOCK:
            yield bytes(rest[:BLOCK])
            del rest[:BLOCK]
    if rest:
        yield bytes(rest)


def indexed(prefix: str) -> Iterator[bytes]:
    """The codes of the bases that an index has, in blocks of one size; the last is filled up."""
    holes = read_holes(Path(f"{prefix}.amb"))
    hole, at = next(holes, None), 0
    with Path(f"{prefix}.pac").open("rb") as file:
        while packed := file.read(BLOCK // len(PLACES)):
            block = bytearray(len(PLACES) * len(packed))
            for place, codes in enumerate(PLACES):
                block[place :: len(PLACES)] = packed.translate(codes)
            end = at + len(block)
            while hole and hole[0] < end:
                start, stop = max(hole[0], at), min(hole[1], end)
                block[start - at : stop - at] = bytes([UNKNOWN]) * (stop - start)
                if hole[1] > end:
                    break
                hole = next(holes, None)
            yield bytes(block)
            at = end


def first_other(one: bytes, other: bytes) -> int:
    """The first place at which two texts differ that are not the same."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if one[low : middle + 1] == other[low : middle + 1] else (low, middle)
    return low


def place_of(offset: int, contigs: Iterable[Contig]) -> str:
    """Contig and position (from 1) of a base."""
    for name, length in contigs:
        if offset < length:
            return f"{name}:{offset + 1}"
        offset -= length
    return "its end"


def compare_bases(fasta: Path, fai: Iterable[list[str]], prefix: str) -> int | None:
    """The first base at which FASTA and index differ, counted over all contigs; None where all are the same."""
    at = 0
    theirs = indexed(prefix)
    for block in blocks(bases(fasta, fai)):
        own, other = block.translate(CODES), next(theirs, b"")[: len(block)]
        if own != other:
            return at + first_other(own, other)
        at += len(block)
    return None


def is_of_both_strands(prefix: str, length: int) -> bool:
    """Whether the transform that bwa searches in is of both strands of so long a genome, by its first numbers."""
    if not (path := Path(f"{prefix}.bwt")).exists():  # bwa-mem2 has another
        return True
    with path.open("rb") as file:
        return struct.unpack("<5q", file.read(40))[4] == 2 * length


def compare_index(fasta: Path, prefix: str) -> int:
    """Fail unless an index is of this FASTA file; the number of bases compared."""
    index = Path(f"{fasta}.fai").read_text(encoding="utf-8", errors="replace")
    fai = [line.split("\t") for line in index.splitlines()]
    contigs = [(row[0], int(row[1])) for row in fai]
    length = sum(size for _, size in contigs)
    try:
        fault = first_difference(read_annotation(Path(f"{prefix}.ann")), contigs)
        if not fault and not is_of_both_strands(prefix, length):
            fault = f"its Burrows-Wheeler transform is not of twice {length} bases"
        if not fault and (offset := compare_bases(fasta, fai, prefix)) is not None:
            fault = f"they differ from {place_of(offset, contigs)} on"
    except (ValueError, LookupError, struct.error) as error:
        fault = f"it cannot be read: {error}"
    if fault:
        raise OtherGenomeError(
            f"reference.bwa_index {prefix} is not of {fasta}: {fault}; name the index of this file, or leave "
            "reference.bwa_index out: then it is made"
        )
    return length


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
            length = compare_index(given.fasta, given.prefix)
            print(f"{given.prefix} is of {given.fasta}: all {length} bases are the same")
    except OtherGenomeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
