"""How far apart the mates of a library are, from its first pairs, mapped to transcripts.

    fragment_lengths.py first --reads N FASTQ1 FASTQ2 HEAD1 HEAD2    the first N reads of two files, gzip or plain
    fragment_lengths.py distance < SAM                               the distance of mates; the SAM has no header

distance prints two lines, `inner_distance N` and `inner_distance_sd N`, in bases: the median distance between the inner
ends of mates, negative where they overlap, and its spread (1.4826 times the median deviation, so that strays do not
count). Standard library only.
"""

import gzip
import sys
import zlib
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from statistics import median
from typing import BinaryIO

PROPER_PAIR, REVERSE, SECONDARY = 0x2, 0x10, 0x100
SD_OF_MAD = 1.4826
ENOUGH_PAIRS = 100
LINES_PER_RECORD = 4


def inner_distances(lines: Iterable[str]) -> list[int]:
    """One a proper pair: the fragment's length less twice that of the read at its left end."""
    distances = []
    for line in lines:
        fields = line.split("\t", 10)
        flag, length = int(fields[1]), int(fields[8])
        if flag & PROPER_PAIR and length > 0 and not flag & (REVERSE | SECONDARY):
            distances.append(length - 2 * len(fields[9]))
    return distances


def summary(distances: list[int]) -> tuple[int, int]:
    """Median and robust standard deviation, in whole bases; the latter is 1 at least."""
    middle = median(distances)
    return round(middle), max(1, round(SD_OF_MAD * median(abs(d - middle) for d in distances)))


class ReadsError(Exception):
    """A file of reads is not what it should be; the message names it, and the cause."""


def first(fastq: Path, reads: int, sink: BinaryIO) -> int:
    """Copy the first reads of a FASTQ file with records of four lines, and count them."""
    with fastq.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
    number = 0
    try:
        with (gzip.open if packed else open)(fastq, "rb") as lines:
            while number < reads and (record := list(islice(lines, LINES_PER_RECORD))):
                number += 1
                if not is_whole(record):
                    raise ReadsError(f"{fastq} is damaged: record {number} is no FASTQ of four lines")
                sink.writelines(record)
    except EOFError:
        raise ReadsError(f"{fastq} is cut off after record {number}: copy or create it again") from None
    except (OSError, zlib.error) as error:
        raise ReadsError(f"{fastq} cannot be read after record {number}: {error}") from None
    return number


def is_whole(record: list[bytes]) -> bool:
    if len(record) < LINES_PER_RECORD:
        return False
    header, bases, plus, qualities = record
    return header[:1] == b"@" and plus[:1] == b"+" and len(bases.rstrip()) == len(qualities.rstrip())


def first_of_both(reads: int, sources: list[Path], heads: list[Path]) -> None:
    counts = []
    for fastq, head in zip(sources, heads, strict=True):
        with head.open("wb") as sink:
            counts.append(first(fastq, reads, sink))
    if counts[0] != counts[1]:
        short, other = sorted(zip(counts, sources, strict=True))
        raise ReadsError(f"{short[1]} has only {short[0]} reads, and {other[1]} more: mates are missing")


def main(argv: list[str]) -> int:
    if argv[0] == "first":
        files = [Path(path) for path in argv[3:]]
        try:
            first_of_both(int(argv[2]), files[:2], files[2:])
        except ReadsError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        return 0
    distances = inner_distances(sys.stdin)
    if len(distances) < ENOUGH_PAIRS:
        print(
            f"error: only {len(distances)} of the first pairs map to a transcript: the sample is of another species or "
            "not of RNA, or the annotation lacks its genes; if all is right, give inner_distance and inner_distance_sd "
            "in the config, which are estimated from these pairs",
            file=sys.stderr,
        )
        return 1
    distance, sd = summary(distances)
    print(f"inner_distance {distance}\ninner_distance_sd {sd}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
