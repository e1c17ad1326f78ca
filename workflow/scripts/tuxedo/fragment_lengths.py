"""How far apart the mates of a library are, from its first pairs, mapped to transcripts.

    fragment_lengths.py first --reads N FASTQ     the first N reads of a file, gzip or plain
    fragment_lengths.py distance < SAM            the distance of mates; the SAM has no header

distance prints two lines, `inner_distance N` and `inner_distance_sd N`, in bases: the median distance between the inner
ends of mates, negative where they overlap, and its spread (1.4826 times the median deviation, so that strays do not
count). Standard library only.
"""

import gzip
import sys
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


def first(fastq: Path, reads: int, sink: BinaryIO) -> None:
    """Copy the first reads of a FASTQ file with records of four lines."""
    with fastq.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
    with (gzip.open if packed else open)(fastq, "rb") as lines:
        sink.writelines(islice(lines, reads * LINES_PER_RECORD))


def main(argv: list[str]) -> int:
    if argv[0] == "first":
        first(Path(argv[3]), int(argv[2]), sys.stdout.buffer)
        return 0
    distances = inner_distances(sys.stdin)
    if len(distances) < ENOUGH_PAIRS:
        print(
            f"error: only {len(distances)} of the first pairs map to a transcript, too few to estimate the distance of "
            "mates: give inner_distance and inner_distance_sd in the config",
            file=sys.stderr,
        )
        return 1
    distance, sd = summary(distances)
    print(f"inner_distance {distance}\ninner_distance_sd {sd}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
