"""A/A comparisons: repeats of one configuration, labelled at random as two, and how often these are told apart."""

import random
from collections.abc import Iterable, Iterator, Sequence

from gpd.statistics.estimates import Estimate, estimate, paired_ratio, ratio


def halves(values: Sequence[float], draws: int, draw: random.Random) -> Iterator[Estimate]:
    """Ratios of the means of two halves of the values, drawn so many times; each half has two or more."""
    half = len(values) // 2
    for _ in range(draws if half > 1 else 0):
        drawn = draw.sample(values, len(values))
        yield ratio(estimate(drawn[:half]), estimate(drawn[half:]))


def swapped(pairs: Sequence[tuple[float, float]], draws: int, draw: random.Random) -> Iterator[Estimate]:
    """Ratios over pairs, of each of which it is drawn which one is the first."""
    for _ in range(draws if len(pairs) > 1 else 0):
        yield paired_ratio([pair if draw.random() < 0.5 else pair[::-1] for pair in pairs])


def false_positives(ratios: Iterable[Estimate]) -> float | None:
    """The share of ratios whose 95% interval does not hold 1; None: there is no interval."""
    misses = [not one.low <= 1 <= one.high for one in ratios if one.low is not None and one.high is not None]
    return sum(misses) / len(misses) if misses else None
