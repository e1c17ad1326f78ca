"""What repeats say: mean, spread, and confidence intervals of a mean and of a ratio of means. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, fsum, log, sqrt

CONFIDENCE = 0.95
MAX_EXPONENT = 300.0  # of e: beyond it the interval says nothing, and floats end


@dataclass(frozen=True)
class Estimate:
    """A quantity over `n` repeats, in its own unit; None is what so few repeats do not tell.

    `sd` is the sample standard deviation (n - 1 degrees of freedom), `se` = sd / sqrt(n) the mean's standard error.
    """

    n: int
    mean: float | None
    sd: float | None
    se: float | None

    def times(self, factor: float) -> "Estimate":
        """The same quantity in another unit."""
        scaled = (None if value is None else value * factor for value in (self.mean, self.sd, self.se))
        return Estimate(self.n, *scaled)

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float] | None:
        """The confidence interval of the mean: mean +- t(n - 1) x se, by Student's t. None below two repeats."""
        half = self.half_width(confidence)
        return None if self.mean is None or half is None else (self.mean - half, self.mean + half)

    def half_width(self, confidence: float = CONFIDENCE) -> float | None:
        """How far that interval goes to each side of the mean, in the quantity's unit."""
        return None if self.se is None else _quantile(confidence, self.n - 1) * self.se


@dataclass(frozen=True)
class Ratio:
    """A ratio of two means and its confidence interval; None is what the repeats do not tell.

    `pairs`: of how many ratios by repeat it is the mean; 0: of means that are independent.
    """

    value: float | None
    low: float | None
    high: float | None
    pairs: int = 0


def estimate(values: Iterable[float | None]) -> Estimate:
    """Sum up the repeats that have a value."""
    known = [float(value) for value in values if value is not None]
    if not known:
        return Estimate(0, None, None, None)
    n = len(known)
    mean = fsum(known) / n
    if n == 1:
        return Estimate(1, mean, None, None)
    sd = sqrt(fsum((value - mean) ** 2 for value in known) / (n - 1))
    return Estimate(n, mean, sd, sd / sqrt(n))


def ratio(a: Estimate, b: Estimate, confidence: float = CONFIDENCE) -> Ratio:
    """a / b, with the confidence interval of a ratio of independent means, on the logarithmic scale.

    The relative standard errors u = se / mean add in squares (delta method: Casella & Berger, Statistical Inference,
    2nd ed., section 5.5.4; GUM, JCGM 100:2008, 5.1.6), with t at the Welch-Satterthwaite degrees of freedom
    (u_a^2 + u_b^2)^2 / (u_a^4 / (n_a - 1) + u_b^4 / (n_b - 1)) (GUM, G.4.1, equation G.2b). So the interval of b / a
    is this one turned over. No interval where either has fewer than two repeats, or a mean that is not above zero.
    """
    if a.mean is None or not b.mean:
        return Ratio(None, None, None)
    value = a.mean / b.mean
    if a.se is None or b.se is None or a.mean <= 0 or b.mean <= 0:
        return Ratio(value, None, None)
    a_square, b_square = (a.se / a.mean) ** 2, (b.se / b.mean) ** 2
    square = a_square + b_square
    if square == 0:
        return Ratio(value, value, value)  # repeats that were all the same
    freedom = square**2 / (a_square**2 / (a.n - 1) + b_square**2 / (b.n - 1))
    half = _quantile(confidence, freedom) * sqrt(square)
    if half > MAX_EXPONENT:
        return Ratio(value, None, None)  # anything between nothing and infinity
    return Ratio(value, value * exp(-half), value * exp(half))


def paired_ratio(pairs: Sequence[tuple[float, float]], confidence: float = CONFIDENCE) -> Ratio:
    """The geometric mean of a / b over pairs that have all but one thing in common, with its confidence interval.

    The interval is Student's t of the logarithms of the ratios: what both of a pair share, such as the size of their
    samples, is in neither. None where a pair has a value that is not above zero; no interval of one pair.
    """
    if not pairs or any(a <= 0 or b <= 0 for a, b in pairs):
        return Ratio(None, None, None)
    logs = estimate(log(a / b) for a, b in pairs)
    mean, half = logs.mean or 0.0, logs.half_width(confidence)
    if half is None or half > MAX_EXPONENT:
        return Ratio(exp(mean), None, None, logs.n)
    return Ratio(exp(mean), exp(mean - half), exp(mean + half), logs.n)


def _quantile(confidence: float, freedom: float) -> float:
    """The two-sided quantile of Student's t at so many degrees of freedom."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence}: not between 0 and 1")
    from scipy.special import stdtrit  # takes a third of the start of gpd; scipy.stats five times as long

    return float(stdtrit(freedom, (1 + confidence) / 2))
