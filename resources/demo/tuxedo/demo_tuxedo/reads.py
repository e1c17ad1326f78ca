"""Paired reads of a stranded library (dUTP: the second read lies on its gene's strand, the first on the other).

Fragments are drawn from spliced transcripts at even chances along them; bases are misread as often as their quality
says, which falls towards the end of a read.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .genes import LETTERS

READ_BP = 75
FRAGMENT_MEAN_BP, FRAGMENT_SD_BP = 230, 30
RANDOM_SHARE = 0.01  # pairs from nowhere in the genome, as contamination would give
PHRED_OFFSET = 33
QUALITY_START, QUALITY_END, QUALITY_SD = 38, 30, 2


@dataclass(frozen=True)
class Pairs:
    """Names and base codes of both mates, a row a pair."""

    names: list[str]
    mates: tuple[np.ndarray, np.ndarray]


def draw_pairs(rng: np.random.Generator, transcripts: dict[str, np.ndarray], counts: dict[str, int]) -> Pairs:
    """So many pairs of each transcript, in random order, and pairs of no transcript among them."""
    names, first, second = [], [], []
    for name, codes in transcripts.items():
        for number in range(counts[name]):
            fragment = _fragment(rng, codes)
            names.append(f"{name}:{number + 1}")
            first.append((3 - fragment[-READ_BP:])[::-1])
            second.append(fragment[:READ_BP])
    for number in range(round(len(names) * RANDOM_SHARE)):
        names.append(f"random:{number + 1}")
        first.append(rng.integers(0, 4, READ_BP, dtype=np.uint8))
        second.append(rng.integers(0, 4, READ_BP, dtype=np.uint8))
    order = rng.permutation(len(names))
    return Pairs([names[i] for i in order], (np.array(first)[order], np.array(second)[order]))


def _fragment(rng: np.random.Generator, codes: np.ndarray) -> np.ndarray:
    length = int(np.clip(rng.normal(FRAGMENT_MEAN_BP, FRAGMENT_SD_BP), READ_BP, len(codes)))
    start = int(rng.integers(0, len(codes) - length + 1))
    return codes[start : start + length]


def write_fastq(rng: np.random.Generator, pairs: Pairs, part: slice, paths: tuple[Path, Path]) -> None:
    """Sequence a part of the pairs into two gzipped files; the same generator gives the same bytes."""
    names = pairs.names[part]
    for mate, path in enumerate(paths):
        true = pairs.mates[mate][part]
        mean = np.linspace(QUALITY_START, QUALITY_END, READ_BP)
        quality = np.clip(rng.normal(mean, QUALITY_SD, true.shape).round(), 2, 40)
        wrong = rng.random(true.shape) < 10 ** (-quality / 10)
        read = np.where(wrong, (true + rng.integers(1, 4, true.shape)) % 4, true).astype(np.uint8)
        bases, scores = LETTERS[read].tobytes().decode(), (quality + PHRED_OFFSET).astype(np.uint8).tobytes().decode()
        text = "".join(
            f"@{name}/{mate + 1}\n{bases[i : i + READ_BP]}\n+\n{scores[i : i + READ_BP]}\n"
            for name, i in zip(names, range(0, len(bases), READ_BP), strict=True)
        )
        path.write_bytes(gzip.compress(text.encode(), compresslevel=4, mtime=0))
