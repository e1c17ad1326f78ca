"""Find blocks of reads that TopHat lost.

    samtools view UNMAPPED.bam | lost_reads.py --threads N --lanes N FASTQ ...

TopHat cuts its intermediate files into parts, one a thread, at index entries of about 1,000 reads. Where there are
about as many entries as threads, the reads of a part get lost: they end in unmapped.bam, and TopHat ends with 0. So the
share of mapped reads is compared along the FASTQ files, in windows of 500 reads. A block far below the others fails
the job. With one thread TopHat loses none: such reads are bad then, as from a faulty part of a flow cell, and a warning
says so.

Reads are known by their name without /1 and /2, and by their mate. Standard library only.
"""

import gzip
import sys
from collections.abc import Iterable, Iterator
from itertools import chain, groupby, islice
from math import sqrt
from pathlib import Path
from typing import NamedTuple

STEP = 100  # reads of one mate
WINDOW = 5  # steps: any 600 lost in a row hold a whole window
FAR_BELOW = 0.5  # of what is usual; the least seen in real data is 0.8 of it
SIGMAS = 6.0
MARKS = 1 << 30  # bits, of which each unmapped read sets one: 5% of 50 million share theirs with another
SECOND_MATE = 0x80
LINES_PER_RECORD = 4


class ReadsLostError(Exception):
    """A block of reads is lost, or cannot be looked for; the message says which."""


class Block(NamedTuple):
    """Reads `first` to `last` of the input, counted from 1 over all lanes, of which a share is mapped."""

    first: int
    last: int
    share: float
    usual: float


def plain(name: str) -> str:
    """A read's name without what comes after a blank, and without /1 or /2."""
    name = (name.split(None, 1) or [""])[0]
    return name[:-2] if name[-2:-1] == "/" else name


def names(fastq: Path) -> Iterator[str]:
    """The names of a FASTQ file's reads."""
    with fastq.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
    with (gzip.open if packed else open)(fastq, "rt", encoding="utf-8", errors="replace") as lines:
        for header in islice(lines, 0, None, LINES_PER_RECORD):
            yield plain(header[1:])


class Marks:
    """The unmapped reads as bits, in 128 MiB however many they are."""

    def __init__(self, sam: Iterable[str]):
        self.bits, self.reads, self.example = bytearray(MARKS // 8), 0, ""
        for line in sam:
            name, flag, _ = line.split("\t", 2)
            self.reads += 1
            self.example = self.example or name
            byte, bit = divmod(hash((plain(name), bool(int(flag) & SECOND_MATE))) % MARKS, 8)
            self.bits[byte] |= 1 << bit

    def has(self, name: str, second: bool) -> bool:
        """Whether the read is unmapped."""
        byte, bit = divmod(hash((name, second)) % MARKS, 8)
        return bool(self.bits[byte] >> bit & 1)


def count(lanes: list[list[Path]], marks: Marks) -> tuple[list[int], list[int]]:
    """Unmapped and all reads of each step, over the lanes in their order and both mates."""
    unmapped, reads = [], []
    for mate in range(max(map(len, lanes))):
        files = (fastq for lane in lanes for fastq in lane[mate : mate + 1])
        for number, name in enumerate(chain.from_iterable(map(names, files))):
            step = number // STEP
            if step == len(reads):
                unmapped.append(0)
                reads.append(0)
            unmapped[step] += marks.has(name, mate == 1)
            reads[step] += 1
    if marks.reads >= STEP and sum(unmapped) < marks.reads // 2:
        raise ReadsLostError(f"unmapped reads have other names ({marks.example}) than those of the FASTQ files")
    return unmapped, reads


def find(unmapped: list[int], reads: list[int]) -> list[Block]:
    """Blocks that are far below what is usual: their upper quartile, since half of a small input can be lost.

    Mates are mapped or not together, so that there are half as many chances as reads.
    """
    windows = [slice(at, at + WINDOW) for at in range(max(1, len(reads) - WINDOW + 1))] if reads else []
    sizes = [sum(reads[window]) for window in windows]
    shares = [1 - sum(unmapped[window]) / size for window, size in zip(windows, sizes, strict=True)]
    usual = sorted(shares)[len(shares) * 3 // 4] if shares else 0
    low = {
        step
        for window, size, share in zip(windows, sizes, shares, strict=True)
        if share < FAR_BELOW * usual and usual - share > SIGMAS * sqrt(2 * usual * (1 - usual) / size)
        for step in range(len(reads))[window]
    }
    blocks = []
    for is_low, group in groupby(range(len(reads)), low.__contains__):
        if is_low:
            steps = [at for at in group if unmapped[at] > (1 - FAR_BELOW * usual) * reads[at]]
            inside = slice(steps[0], steps[-1] + 1)
            share = 1 - sum(unmapped[inside]) / sum(reads[inside])
            last = steps[-1] * STEP + STEP * reads[steps[-1]] // max(reads)  # the input's last step may be shorter
            blocks.append(Block(steps[0] * STEP + 1, last, share, usual))
    return blocks


def check(lanes: list[list[Path]], sam: Iterable[str], threads: int) -> None:
    """Raise ReadsLostError where TopHat lost reads; warn of blocks that it cannot have lost."""
    blocks = find(*count(lanes, Marks(sam)))
    if not blocks:
        return
    one = blocks[0]
    found = f"TopHat mapped {one.share:.0%} of reads {one.first} to {one.last}, but {one.usual:.0%} of others"
    if len(blocks) > 1:
        found += f" (and {len(blocks) - 1} more such blocks)"
    if threads > 1:
        raise ReadsLostError(
            f"{found}: with {threads} threads it can lose reads. Run it with one: --set-threads tophat2=1, or in the "
            "profile, and --forcerun tophat2"
        )
    print(f"warning: {found}: with one thread it loses none, so these reads are bad", file=sys.stderr)


def main(argv: list[str]) -> int:
    _, threads, _, lanes, *fastq = argv
    mates = len(fastq) // int(lanes)
    by_lane = [list(map(Path, fastq[at : at + mates])) for at in range(0, len(fastq), mates)]
    try:
        check(by_lane, sys.stdin, int(threads))
    except ReadsLostError as lost:
        print(f"error: {lost}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
