"""Paired reads of one sample: fragments by dwgsim, then PCR and a sequencer with the faults real ones have.

dwgsim draws error-free fragments from the two haplotypes. What happens to them afterwards is done here,
because the recalibration and filtering steps can only be shown at work on faults that have a cause: PCR
duplicates are sequenced anew from the same molecule, polymerases slip (slippage.py), quality scores are
binned and too confident (each lane by its own amount, and more so after GG), and a few sequence contexts are
misread, on one strand alone.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .genome import LETTERS
from .slippage import Profile, slip
from .tools import bgzip, run

READ_BP = 150
# read a few bases more than are kept, for each base of a unit that slips, so that a slipped read can be filled up
SPARE_BP = 3
FRAGMENT_MEAN_BP, FRAGMENT_SD_BP = 380, 60
DUPLICATE_SHARE = 0.08
# pairs from nowhere in the genome, as contamination would give
RANDOM_SHARE = 0.005
QUALITY_BINS = np.array([2, 8, 14, 21, 27, 32, 36, 40])
PHRED_OFFSET = 33
# one context of CONTEXT_BP bases in CONTEXT_ONE_IN is misread at the base after it
CONTEXT_BP, CONTEXT_ONE_IN, CONTEXT_ERROR = 12, 15_000, 0.45
GG_OVERCONFIDENCE = 4.0


@dataclass(frozen=True)
class Lane:
    """One run of a library; `overconfidence` is how many phred its quality scores promise too much."""

    name: str
    overconfidence: float


LANES = (Lane("L001", 3.0), Lane("L002", 6.0))


@dataclass(frozen=True)
class Fragments:
    """Read names (without /1 and /2) and base codes of both mates, a row a pair."""

    names: list[bytes]
    mates: tuple[np.ndarray, np.ndarray]


def simulate_lane(
    rng: np.random.Generator, lane: Lane, haplotypes: Path, pairs: int, sample: str, folder: Path, slippage: Profile
) -> tuple[Path, Path]:
    """Write `pairs` read pairs, duplicates included, to two gzipped FASTQ files in `folder`.

    Returns the paths of R1 and R2.
    """
    duplicates = round(pairs * DUPLICATE_SHARE)
    length = READ_BP + SPARE_BP * max(slippage)
    molecules = _draw_fragments(rng, haplotypes, pairs - duplicates, length, f"{sample}.{lane.name}")
    for bases in molecules.mates:
        slip(rng, bases, slippage)
    chosen = rng.choice(len(molecules.names), size=duplicates, replace=False)
    origin = np.concatenate([np.arange(len(molecules.names)), chosen])
    names = molecules.names + [molecules.names[i] + b"_dup" for i in chosen]
    order = rng.permutation(len(origin))
    names = [names[i] for i in order]
    paths = []
    for mate, bases in enumerate(molecules.mates, start=1):
        path = folder / f"{sample}_{lane.name}_R{mate}.fastq.gz"
        read, quality = _sequence(rng, bases[origin[order], :READ_BP], lane, mate)
        bgzip(_fastq(names, mate, read, quality), path)
        paths.append(path)
    return paths[0], paths[1]


def _draw_fragments(rng: np.random.Generator, haplotypes: Path, pairs: int, length: int, prefix: str) -> Fragments:
    out = haplotypes.with_name(f"{prefix}.fragments")
    seed = int(rng.integers(1, 2**31 - 1))
    # no mutations (-r), no errors (-e, -E), haploid (-H): what is given is complete; -y adds random reads
    command = ["dwgsim", "-r", "0", "-R", "0", "-e", "0", "-E", "0", "-H", "-q", "I", "-o", "1"]
    command += ["-1", str(length), "-2", str(length), "-d", str(FRAGMENT_MEAN_BP), "-s", str(FRAGMENT_SD_BP)]
    command += ["-N", str(pairs), "-y", str(RANDOM_SHARE), "-z", str(seed), "-P", prefix]
    command += [str(haplotypes), str(out)]
    run(command)
    names, mates = [], []
    for mate in (1, 2):
        path = Path(f"{out}.bwa.read{mate}.fastq.gz")
        with gzip.open(path) as lines:
            records = lines.read().split(b"\n")
        path.unlink()
        if mate == 1:
            names = [name[1:-2] for name in records[0:-1:4]]
        text = np.frombuffer(b"".join(records[1::4]), dtype=np.uint8)
        mates.append(np.searchsorted(LETTERS, text).astype(np.uint8).reshape(len(names), -1))
    return Fragments(names, (mates[0], mates[1]))


def _sequence(rng: np.random.Generator, true: np.ndarray, lane: Lane, mate: int) -> tuple[np.ndarray, np.ndarray]:
    """Base codes as read, and the quality scores reported for them."""
    count, length = true.shape
    read, quality = true.copy(), np.empty(true.shape, dtype=np.uint8)
    of_the_read = rng.normal(0, 2.5, count)
    context = np.zeros(count, dtype=np.uint64)
    binned = QUALITY_BINS[np.abs(np.arange(61)[:, None] - QUALITY_BINS).argmin(axis=1)]
    for j in range(length):
        mean = 39.5 - 1.5 * (mate - 1) - 9 * (j / length) ** 2
        exact = np.clip(mean + of_the_read + rng.normal(0, 3, count), 2, 60)
        quality[:, j] = binned[exact.astype(np.int64)]
        actual = quality[:, j] - lane.overconfidence
        if j >= 2:
            actual -= GG_OVERCONFIDENCE * ((true[:, j - 1] == 2) & (true[:, j - 2] == 2))
        wrong = rng.random(count) < 10 ** (-actual / 10)
        read[wrong, j] = (true[wrong, j] + rng.integers(1, 4, int(wrong.sum()))) % 4
        if j >= CONTEXT_BP:
            # + 1: or a run of A, whose code is 0, would be chosen whatever the factor
            mixed = ((context + np.uint64(1)) * np.uint64(2654435761)) >> np.uint64(7)
            misread = (mixed % np.uint64(CONTEXT_ONE_IN) == 0) & (rng.random(count) < CONTEXT_ERROR)
            read[misread, j] = true[misread, j - 1]  # the base before it, as when a cluster runs out of step
        context = ((context << np.uint64(2)) | true[:, j]) & np.uint64(4**CONTEXT_BP - 1)
    return read, quality


def _fastq(names: list[bytes], mate: int, read: np.ndarray, quality: np.ndarray) -> bytes:
    width = read.shape[1]
    bases = LETTERS[read].tobytes()
    scores = (quality + PHRED_OFFSET).astype(np.uint8).tobytes()
    return b"".join(
        b"@%b/%d\n%b\n+\n%b\n" % (name, mate, bases[i : i + width], scores[i : i + width])
        for name, i in zip(names, range(0, len(bases), width), strict=True)
    )
