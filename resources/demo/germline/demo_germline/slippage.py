"""Polymerases that slip: a read loses or gains a unit of a tandem repeat, the more often the more repeats there are.

ART and dwgsim have no such errors. How often is of this simulator's own choosing; that it rises with the number of
repeats, and falls with the unit's length, is what Fungtammasan et al. measured (Genome Research 25:736, PMC4417121).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

LOSSES = 2 / 3  # of all slips


@dataclass(frozen=True)
class Slips:
    """The chance that a tandem repeat slips: none below so many repeats, then so much a repeat, up to the most."""

    repeats: int
    per_repeat: float
    most: float


Profile = Mapping[int, Slips]  # by the unit's length in bp
RUNS: Profile = {1: Slips(8, 0.007, 0.10)}
TANDEM_REPEATS: Profile = {
    **RUNS,
    2: Slips(5, 0.006, 0.10),
    3: Slips(5, 0.004, 0.06),
    4: Slips(4, 0.003, 0.04),
    5: Slips(4, 0.002, 0.03),
    6: Slips(4, 0.002, 0.03),
}


def slip(rng: np.random.Generator, bases: np.ndarray, profile: Profile) -> None:
    """Let reads, a row each, lose or gain units at the ends of their tandem repeats, in place.

    What a loss leaves free at the end of a row has the row's last bases once more.
    """
    for unit, slips in profile.items():
        _slip_units(rng, bases, unit, slips)


def _slip_units(rng: np.random.Generator, bases: np.ndarray, unit: int, slips: Slips) -> None:
    repeated = _repeated(bases, unit)
    ends = np.zeros(bases.shape, dtype=bool)
    ends[:, :-1] = (repeated[:, :-1] >= (slips.repeats - 1) * unit) & (repeated[:, 1:] == 0)
    for shorter in range(1, unit):
        if unit % shorter == 0:  # a unit that itself repeats a shorter one is of that one
            ends &= _repeated(bases, shorter) < unit - shorter
    reads, positions = np.nonzero(ends)
    repeats = repeated[reads, positions].astype(np.int64) // unit + 1
    chance = np.minimum((repeats - slips.repeats + 1) * slips.per_repeat, slips.most)
    slipped = rng.random(len(reads)) < chance
    losses = rng.random(len(reads)) < LOSSES
    for i in np.flatnonzero(slipped)[::-1]:  # from the right, so that positions further left stay true
        row, after = bases[reads[i]], positions[i] + 1
        if losses[i]:
            row[after - unit : -unit] = row[after:].copy()
        else:
            row[after:] = row[after - unit : -unit].copy()


def _repeated(bases: np.ndarray, unit: int) -> np.ndarray:
    """How many bases in a row, up to each one, equal the base a unit before them."""
    found = np.zeros(bases.shape, dtype=np.uint8)
    for j in range(unit, bases.shape[1]):
        same = bases[:, j] == bases[:, j - unit]
        found[same, j] = found[same, j - 1] + 1
    return found
