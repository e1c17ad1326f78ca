"""Sums and means over values of which some are not known (None), and what ran at one time. Pure."""

from collections.abc import Iterable
from itertools import accumulate
from math import fsum
from statistics import fmean

Values = Iterable[float | None]


def mean(values: Values) -> float | None:
    """The mean of those that are known."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def most(values: Values) -> float | None:
    """The largest of those that are known."""
    return max((value for value in values if value is not None), default=None)


def whole_sum(values: Values) -> float | None:
    """The sum, where every value is known."""
    every = list(values)
    known = [value for value in every if value is not None]
    return fsum(known) if len(known) == len(every) else None


def covered_s(spans: Iterable[tuple[float, float]]) -> float:
    """The time that any of these spans, from start to end, covers."""
    total, until = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


def most_at_once(spans: Iterable[tuple[float, float, float]]) -> float:
    """The largest sum of amounts over spans of one time, each from start to end; at one moment, ends come first."""
    changes = [change for start, end, amount in spans for change in ((start, amount), (end, -amount))]
    return max(accumulate(by for _, by in sorted(changes)), default=0.0)
