"""Variants of a population, the genotypes of its members, and the haplotypes that follow from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from .genome import Genome, Microsatellite, decode, gaps, random_bases

INDEL_SHARE = 0.20
INDELS_IN_MICROSATELLITES = 0.5
MAX_INDEL_BP = 40
# P(length = k) falls as k to this power, which is close to what human indels show
INDEL_LENGTH_EXPONENT = -1.8
RARE, COMMON = 0.02, 0.98
TRANSITION = {"A": "G", "G": "A", "C": "T", "T": "C"}
# bases kept free on either side of a variant, so that its spelling does not depend on its neighbours
GAP = 3
# bases at the ends of a contig, and on either side of a gap in it, that hold no variant: reads hardly reach them
EDGE = 500


@dataclass(frozen=True)
class Variant:
    """One biallelic variant, left-aligned and parsimonious; `pos` is 0-based, `frequency` that of `alt`."""

    contig: str
    pos: int
    ref: str
    alt: str
    frequency: float

    @property
    def is_snp(self) -> bool:
        """Whether one base replaces one base."""
        return len(self.ref) == len(self.alt)

    @property
    def end(self) -> int:
        """0-based end (exclusive) on the reference."""
        return self.pos + len(self.ref)


class _Free:
    """Which bases of a contig no variant has claimed yet."""

    def __init__(self, sequence: str) -> None:
        self._free = np.ones(len(sequence), dtype=bool)
        self._free[:EDGE] = self._free[-EDGE:] = False
        for start, end in gaps(sequence):
            self._free[max(0, start - EDGE) : end + EDGE] = False

    def claim(self, start: int, end: int) -> bool:
        """Claim [start, end) and a gap around it; False, and nothing claimed, if some of it is taken."""
        span = slice(max(0, start - GAP), end + GAP)
        if not self._free[span].all():
            return False
        self._free[span] = False
        return True


def simulate_population(
    rng: np.random.Generator, genome: Genome, every_bp: float, indel_share: float = INDEL_SHARE
) -> list[Variant]:
    """Variants in reference order, one every `every_bp` bases on average, no two of which touch.

    Frequencies are drawn from the neutral spectrum (density proportional to 1/frequency) between 2% and 98%.
    """
    variants = []
    for name, sequence in genome.contigs.items():
        free = _Free(sequence)
        microsatellites = [m for m in genome.microsatellites if m.contig == name]
        for _ in range(round(len(sequence) / every_bp)):
            frequency = float(RARE * (COMMON / RARE) ** rng.random())
            if rng.random() < indel_share:
                found = _draw_indel(rng, sequence, microsatellites)
            else:
                found = _draw_snp(rng, sequence)
            # a draw on taken ground is dropped: the density is an aim, no overlap is a promise
            if found and free.claim(found[3], found[4]):
                variants.append(Variant(name, *found[:3], frequency=round(frequency, 4)))
    order = {name: i for i, name in enumerate(genome.contigs)}
    return sorted(variants, key=lambda v: (order[v.contig], v.pos))


def draw_genotypes(rng: np.random.Generator, variants: Sequence[Variant]) -> np.ndarray:
    """Two alleles (0 or 1) a variant, drawn independently: Hardy-Weinberg proportions."""
    frequencies = np.array([v.frequency for v in variants])
    return (rng.random((len(variants), 2)) < frequencies[:, None]).astype(np.int8)


def apply_variants(contigs: dict[str, str], variants: Iterable[Variant]) -> dict[str, str]:
    """The sequences with every variant put in; `variants` in reference order.

    Raises:
        ValueError: a variant overlaps the one before it, or the sequence does not hold its reference allele.
    """
    pieces: dict[str, list[str]] = {name: [] for name in contigs}
    done = dict.fromkeys(contigs, 0)
    for v in variants:
        if v.pos < done[v.contig]:
            raise ValueError(f"{v.contig}:{v.pos + 1}: overlaps the variant before it")
        if contigs[v.contig][v.pos : v.end] != v.ref:
            raise ValueError(f"{v.contig}:{v.pos + 1}: the reference has not {v.ref} there")
        pieces[v.contig] += [contigs[v.contig][done[v.contig] : v.pos], v.alt]
        done[v.contig] = v.end
    return {name: "".join(pieces[name]) + contigs[name][done[name] :] for name in contigs}


def left_align(sequence: str, pos: int, ref: str, alt: str) -> tuple[int, str, str]:
    """The leftmost, shortest spelling of an allele pair with one anchoring base (0-based `pos`)."""
    while pos > 0 and ref[-1] == alt[-1]:
        ref, alt = ref[:-1], alt[:-1]
        if not ref or not alt:
            pos -= 1
            ref, alt = sequence[pos] + ref, sequence[pos] + alt
    while len(ref) > 1 and len(alt) > 1 and ref[0] == alt[0]:
        pos, ref, alt = pos + 1, ref[1:], alt[1:]
    return pos, ref, alt


def _draw_snp(rng: np.random.Generator, sequence: str) -> tuple[int, str, str, int, int] | None:
    pos = int(rng.integers(len(sequence)))
    ref = sequence[pos]
    if ref == "N":
        return None
    if rng.random() < 2 / 3:
        alt = TRANSITION[ref]
    else:
        alt = str(rng.choice([base for base in "ACGT" if base not in (ref, TRANSITION[ref])]))
    return pos, ref, alt, pos, pos + 1


def _draw_indel(
    rng: np.random.Generator, sequence: str, microsatellites: Sequence[Microsatellite]
) -> tuple[int, str, str, int, int] | None:
    """Position, alleles, and the span in which the change could be spelled; None where it would not fit."""
    insertion = rng.random() < 0.5
    if microsatellites and rng.random() < INDELS_IN_MICROSATELLITES:
        place = microsatellites[rng.integers(len(microsatellites))]
        start, size = place.start, place.unit * int(min(rng.geometric(0.7), 5))
        if not insertion and size > (place.end - place.start) // 2:
            return None
        inserted = (sequence[start : start + place.unit] * size)[:size]
    else:
        start, size = int(rng.integers(1, len(sequence))), _indel_length(rng)
        # about half of all insertions repeat what stands beside them
        duplicate = rng.random() < 0.5
        inserted = sequence[start : start + size] if duplicate else decode(random_bases(rng, size))
    changed = inserted if insertion else sequence[start : start + size]
    if start + size + EDGE > len(sequence) or start < EDGE:
        return None
    anchor = sequence[start - 1]
    ref, alt = (anchor, anchor + changed) if insertion else (anchor + changed, anchor)
    pos, ref, alt = left_align(sequence, start - 1, ref, alt)
    return pos, ref, alt, pos, _right_end(sequence, pos, ref, alt)


def _indel_length(rng: np.random.Generator) -> int:
    lengths = np.arange(1, MAX_INDEL_BP + 1)
    weights = lengths**INDEL_LENGTH_EXPONENT
    return int(rng.choice(lengths, p=weights / weights.sum()))


def _right_end(sequence: str, pos: int, ref: str, alt: str) -> int:
    changed = max(ref, alt, key=len)[1:]
    end, i = pos + len(ref), 0
    while end < len(sequence) and sequence[end] == changed[i % len(changed)]:
        end, i = end + 1, i + 1
    return end
