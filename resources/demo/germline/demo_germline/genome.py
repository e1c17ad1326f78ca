"""A simulated reference genome that gives a mapper and a caller the trouble a real one gives.

Bases are codes 0..3 (A, C, G, T) in uint8 arrays until they are written. The composition imitates a
mammalian genome: isochores of differing GC content, depleted CpG, families of interspersed repeats (old and
young copies, truncated, in both orientations), minisatellites, low-complexity stretches and microsatellites. Where
it is asked for, runs of N stand for what an assembly leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

LETTERS = np.frombuffer(b"ACGT", dtype=np.uint8)
ISOCHORE_GC = (0.37, 0.40, 0.44, 0.49, 0.54)
ISOCHORE_SHARE = (0.25, 0.30, 0.22, 0.14, 0.09)
ISOCHORE_MEAN_BP = 40_000
CPG_KEPT = 0.25
CONTIG_SHARE = {"chr1": 0.6, "chr2": 0.4}
MINISATELLITE_EVERY_BP = 20_000
LOW_COMPLEXITY_EVERY_BP = 15_000
MICROSATELLITE_EVERY_BP = 800
# a gap's length, as a share of the distance between gaps: some kilobases every few hundred
GAP_SHARE = (0.01, 0.025)
# where a gap starts within its stretch of the contig: never at an end of it
GAP_PLACE = (0.25, 0.75)


@dataclass(frozen=True)
class RepeatFamily:
    """Interspersed repeats: consensus length in bp, share of the genome, divergence from the consensus."""

    name: str
    length: int
    share: float
    divergence: tuple[float, float]
    truncated: bool
    tail: int


FAMILIES = (
    RepeatFamily("short_old", 300, 0.07, (0.08, 0.18), truncated=False, tail=20),
    RepeatFamily("short_young", 300, 0.02, (0.01, 0.05), truncated=False, tail=25),
    RepeatFamily("long", 6000, 0.12, (0.05, 0.20), truncated=True, tail=15),
    RepeatFamily("terminal", 450, 0.04, (0.05, 0.20), truncated=True, tail=0),
    RepeatFamily("fossil", 220, 0.03, (0.15, 0.30), truncated=True, tail=0),
)


@dataclass(frozen=True)
class Microsatellite:
    """A tandem repeat of a unit of 1 to 6 bp; `start` is 0-based, `end` is exclusive."""

    contig: str
    start: int
    end: int
    unit: int


@dataclass(frozen=True)
class Genome:
    """Sequences as text by contig name, and where the microsatellites were put."""

    contigs: dict[str, str]
    microsatellites: tuple[Microsatellite, ...]

    @property
    def length(self) -> int:
        """Total length in bp."""
        return sum(len(sequence) for sequence in self.contigs.values())


def decode(codes: np.ndarray) -> str:
    """Text of an array of base codes."""
    return LETTERS[codes].tobytes().decode("ascii")


def random_bases(rng: np.random.Generator, length: int, gc: float = 0.41) -> np.ndarray:
    """Independent bases with the given GC content."""
    at = (1 - gc) / 2
    return rng.choice(4, size=length, p=(at, gc / 2, gc / 2, at)).astype(np.uint8)


def mutate(rng: np.random.Generator, codes: np.ndarray, rate: float) -> np.ndarray:
    """A copy in which each base is replaced by another one with probability `rate`."""
    hit = rng.random(len(codes)) < rate
    return np.where(hit, (codes + rng.integers(1, 4, len(codes))) % 4, codes).astype(np.uint8)


def simulate_genome(rng: np.random.Generator, length: int) -> Genome:
    """A genome of about `length` bp in two contigs."""
    consensus = {family: random_bases(rng, family.length, gc=0.46) for family in FAMILIES}
    contigs, microsatellites = {}, []
    for name, share in CONTIG_SHARE.items():
        codes = _isochores(rng, round(length * share))
        for family in FAMILIES:
            for copy in _copies(rng, family, consensus[family], len(codes)):
                _overwrite(rng, codes, copy)
        for element in _tandem_elements(rng, len(codes)):
            _overwrite(rng, codes, element)
        microsatellites += _add_microsatellites(rng, name, codes)
        contigs[name] = decode(codes)
    return Genome(contigs, tuple(microsatellites))


def add_gaps(rng: np.random.Generator, genome: Genome, every_bp: int) -> Genome:
    """The genome with a run of N in place of its bases in each `every_bp` of a contig."""
    contigs = {}
    for name, sequence in genome.contigs.items():
        codes = np.frombuffer(sequence.encode("ascii"), dtype=np.uint8).copy()
        for i in range(len(sequence) // every_bp):
            start = round((i + rng.uniform(*GAP_PLACE)) * every_bp)
            codes[start : start + round(rng.uniform(*GAP_SHARE) * every_bp)] = ord("N")
        contigs[name] = codes.tobytes().decode("ascii")
    kept = (m for m in genome.microsatellites if "N" not in contigs[m.contig][m.start : m.end])
    return Genome(contigs, tuple(kept))


def gaps(sequence: str) -> list[tuple[int, int]]:
    """Start and end (exclusive) of each run of N."""
    return [found.span() for found in re.finditer("N+", sequence)]


def between_gaps(contigs: dict[str, str]) -> dict[str, str]:
    """The sequences without their gaps: a contig that has any is cut into as many parts, numbered from 1."""
    parts = {}
    for name, sequence in contigs.items():
        found = re.findall("[^N]+", sequence)
        names = [name] if len(found) == 1 else [f"{name}.{number}" for number in range(1, len(found) + 1)]
        parts |= dict(zip(names, found, strict=True))
    return parts


def write_fasta(path: Path, contigs: dict[str, str], width: int = 60) -> None:
    """Write sequences as FASTA with lines of `width` bases."""
    with path.open("w", encoding="ascii") as out:
        for name, sequence in contigs.items():
            out.write(f">{name}\n")
            out.writelines(sequence[i : i + width] + "\n" for i in range(0, len(sequence), width))


def _isochores(rng: np.random.Generator, length: int) -> np.ndarray:
    parts, done = [], 0
    while done < length:
        size = min(length - done, 2000 + int(rng.exponential(ISOCHORE_MEAN_BP)))
        parts.append(random_bases(rng, size, rng.choice(ISOCHORE_GC, p=ISOCHORE_SHARE)))
        done += size
    codes = np.concatenate(parts)
    cpg = np.flatnonzero((codes[:-1] == 1) & (codes[1:] == 2))
    decayed = cpg[rng.random(len(cpg)) >= CPG_KEPT]
    on_forward = rng.random(len(decayed)) < 0.5
    codes[decayed[on_forward]] = 3  # CG becomes TG
    codes[decayed[~on_forward] + 1] = 0  # or CA, where the other strand decayed
    return codes


def _copies(rng: np.random.Generator, family: RepeatFamily, consensus: np.ndarray, length: int) -> Iterator[np.ndarray]:
    done = 0
    while done < length * family.share:
        kept = family.length
        if family.truncated:  # such elements are mostly cut short at their 5' end
            kept = min(kept, 80 + int(rng.exponential(family.length * 0.15)))
        copy = mutate(rng, consensus[-kept:], rng.uniform(*family.divergence))
        copy = np.concatenate([copy, np.zeros(rng.integers(0, family.tail + 1), dtype=np.uint8)])
        done += len(copy)
        yield copy if rng.random() < 0.5 else (3 - copy)[::-1]


def _tandem_elements(rng: np.random.Generator, length: int) -> Iterator[np.ndarray]:
    for _ in range(rng.poisson(length / MINISATELLITE_EVERY_BP)):
        unit = random_bases(rng, rng.integers(10, 61), gc=0.55)
        yield mutate(rng, np.tile(unit, rng.integers(3, 13)), rng.uniform(0.02, 0.10))
    for _ in range(rng.poisson(length / LOW_COMPLEXITY_EVERY_BP)):
        yield random_bases(rng, rng.integers(40, 201), gc=rng.choice((0.05, 0.10, 0.90)))


def _add_microsatellites(rng: np.random.Generator, name: str, codes: np.ndarray) -> Iterator[Microsatellite]:
    for _ in range(rng.poisson(len(codes) / MICROSATELLITE_EVERY_BP)):
        unit = int(rng.choice(6, p=(0.40, 0.25, 0.10, 0.15, 0.05, 0.05))) + 1
        # runs of one base are shorter: beyond some 15 bp no short read tells their length
        size = int(min(8 + rng.exponential(3), 22)) if unit == 1 else int(min(12 + rng.exponential(9), 60))
        motif = random_bases(rng, unit, gc=0.35)
        start = _overwrite(rng, codes, mutate(rng, np.resize(motif, size), 0.01))
        yield Microsatellite(name, start, start + size, unit)


def _overwrite(rng: np.random.Generator, codes: np.ndarray, element: np.ndarray) -> int:
    element = element[: len(codes) // 2]
    start = int(rng.integers(1, len(codes) - len(element)))
    codes[start : start + len(element)] = element
    return start
