"""Pairs of reads with errors, as FASTQ records of one width each, so that they can be shuffled as arrays."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from simulation.bases import LETTERS, Bases, N, mutated, reverse_complement
from simulation.streams import Stream, threshold

READ_BP = 150
FRAGMENT_BP, FRAGMENT_SPREAD = 400, 80
QUALITIES = np.array([37, 25, 11], np.uint8)  # of a sequencer that tells few
ERRORS = np.array([0.0002, 0.003162, 0.079433])  # how often a base of each is wrong
BEST_AT_ENDS = (0.97, 0.82)  # share of the best quality in the first and the last cycle; of the rest two thirds are 25
PREFIX, NAME = 4, 12  # letters and digits
RECORD_BYTES = len("@") + PREFIX + NAME + len("/1\n") + READ_BP + len("\n+\n") + READ_BP + len("\n")
BATCH = 100_000  # pairs


def fragments(stream: Stream, haplotype: Bases, count: int) -> tuple[Bases, Bases]:
    """Both ends of so many fragments, less those that hold an N: arrays of (pairs, READ_BP)."""
    size = np.minimum(fragment_sizes(stream, count), len(haplotype))
    return ends(stream, haplotype, stream.below(len(haplotype) - size + 1, count), size)


def fragment_sizes(stream: Stream, count: int) -> NDArray[np.int64]:
    """The bp of so many fragments, READ_BP at the least."""
    return np.maximum(FRAGMENT_BP + np.rint(FRAGMENT_SPREAD * stream.bell(count)).astype(np.int64), READ_BP)


def ends(stream: Stream, sequence: Bases, start: NDArray[np.int64], size: NDArray[np.int64]) -> tuple[Bases, Bases]:
    """Both ends of fragments, read from either strand, less those that hold an N."""
    cycles = np.arange(READ_BP)
    first = sequence[start[:, None] + cycles]
    second = reverse_complement(sequence[(start + size - READ_BP)[:, None] + cycles])
    turned = stream.hits(0.5, len(start))
    first[turned], second[turned] = second[turned], first[turned].copy()
    whole = ~((first == N).any(axis=1) | (second == N).any(axis=1))
    return first[whole], second[whole]


def records(stream: Stream, reads: Bases, mate: int, first_name: int, prefix: str) -> Bases:
    """FASTQ records of reads with errors, a row of bytes each; names are `prefix` and numbers from `first_name` on."""
    count = len(reads)
    first, last = BEST_AT_ENDS
    best = first + (last - first) * np.arange(READ_BP) / (READ_BP - 1)
    drawn = stream.words(reads.shape)
    kind = (drawn >= threshold(best)).astype(np.uint8) + (drawn >= threshold(best + (1 - best) * 2 / 3))
    quality, sequenced = QUALITIES[kind], LETTERS[mutated(stream, reads, ERRORS[kind])]
    numbers = np.arange(first_name, first_name + count)[:, None] // 10 ** np.arange(NAME - 1, -1, -1) % 10
    parts = [fixed(f"@{prefix}", count), (numbers + ord("0")).astype(np.uint8), fixed(f"/{mate}\n", count)]
    return np.hstack([*parts, sequenced, fixed("\n+\n", count), quality + 33, fixed("\n", count)])


def fixed(text: str, count: int) -> Bases:
    return np.tile(np.frombuffer(text.encode(), np.uint8), (count, 1))


def pairs(stream: Stream, haplotype: Bases, depth: float, prefix: str) -> Iterator[tuple[Bases, Bases]]:
    """Batches of records of both mates, at a depth of the haplotype's bases; what falls on an N is not drawn again."""
    if len(haplotype) < READ_BP:
        return
    left, name = round(depth * len(haplotype) / (2 * READ_BP)), 0
    while left > 0:
        first, second = fragments(stream, haplotype, min(left, BATCH))
        yield records(stream, first, 1, name, prefix), records(stream, second, 2, name, prefix)
        left, name = left - BATCH, name + len(first)
