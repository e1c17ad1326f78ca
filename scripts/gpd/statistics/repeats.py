"""How often a configuration is measured: so many times, or until its figure is known well enough. Pure.

A rule that looks at the figure before it stops flatters its error a little: it stops where chance made the spread
small. LEAST repeats at the least keep that small, and every repeat counts, whatever it came to.
"""

from dataclasses import dataclass

LEAST = 3  # repeats before their spread is believed


def relative(mean: float | None, se: float | None) -> float | None:
    """The standard error as a share of the mean; None where either is not known, or the mean is not above zero."""
    return se / mean if mean is not None and mean > 0 and se is not None else None


@dataclass(frozen=True)
class RepeatStats:
    """What the repeats of a configuration came to: how many have ended, the mean figure and its standard error."""

    ended: int = 0
    mean: float | None = None
    se: float | None = None

    def within(self, precision: float) -> bool:
        """Whether the standard error is at most this share of the mean; nothing is left to learn of one that is 0."""
        share = relative(self.mean, self.se)
        return self.mean == 0 or (share is not None and share <= precision)


@dataclass(frozen=True)
class Repeats:
    """How often a configuration is measured: `number` times; None: until its error is within `precision` of the mean,
    and no more than `most` times."""

    number: int | None
    precision: float
    most: int

    def wanted(self, stats: RepeatStats) -> int:
        """How many repeats a configuration is to have, by those that have ended."""
        if self.number is not None:
            return self.number
        if stats.ended < min(LEAST, self.most):
            return min(LEAST, self.most)
        over = stats.ended >= self.most or stats.within(self.precision)
        return stats.ended if over else stats.ended + 1

    @property
    def limit(self) -> int:
        """No configuration has more."""
        return self.most if self.number is None else self.number
