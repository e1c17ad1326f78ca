"""Sequences as arrays of uint8: 0 to 3 for A, C, G and T, N for an unknown base."""

import numpy as np
from numpy.typing import NDArray

from simulation.streams import Numbers, Stream

Bases = NDArray[np.uint8]

N = 4
LETTERS = np.frombuffer(b"ACGTN", dtype=np.uint8)


def reverse_complement(sequence: Bases) -> Bases:
    """The other strand, along the last axis; N stays N."""
    return np.where(sequence == N, N, 3 - sequence)[..., ::-1].astype(np.uint8)


def mutated(stream: Stream, sequence: Bases, share: float | Numbers) -> Bases:
    """A copy in which a share of the bases is another one; `share` broadcasts against the sequence."""
    change = stream.small(3, sequence.shape) + np.uint8(1)
    other = np.where(sequence == N, N, (sequence + change) % 4)
    return np.where(stream.hits(share, sequence.shape), other, sequence).astype(np.uint8)
