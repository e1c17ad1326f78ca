"""What repeats say: mean, spread, and 95% confidence intervals of a mean, a sum and a ratio of means. Pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import exp, fsum, hypot, inf, log, sqrt
from typing import Annotated

CONFIDENCE = 0.95
MAX_EXPONENT = 300.0  # of e: beyond it the interval says nothing, and floats end
ROUNDING = 1e-9  # of degrees of freedom


@dataclass(frozen=True)
class Estimate:
    """A quantity with its 95% confidence interval from `low` to `high`, in its own unit; None: not known.

    It is over `n` repeats; a ratio is over `n` ratios by repeat, 0 where its means are independent. `sd` is the sample
    standard deviation (n - 1 degrees of freedom), `se` = sd / sqrt(n) the standard error.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    sd: float | None = None
    se: float | None = None

    @property
    def half_width(self) -> float | None:
        """How far the interval goes above the value."""
        return None if self.value is None or self.high is None else self.high - self.value

    @property
    def relative_half_width(self) -> float | None:
        """The half-width as a share of the value; None where either is not known, or the value is not above zero."""
        half = self.half_width
        return None if half is None or self.value is None or self.value <= 0 else half / self.value

    @property
    def worst(self) -> float:
        """The upper end; where that is not known the value, and infinity where neither is."""
        ends = (end for end in (self.high, self.value) if end is not None)
        return next(ends, inf)

    def times(self, factor: float) -> "Estimate":
        """The same quantity in another unit."""
        value, low, high, sd, se = (
            None if number is None else number * factor
            for number in (self.value, self.low, self.high, self.sd, self.se)
        )
        return Estimate(value, low, high, self.n, sd, se)

    def with_error(self, share: float) -> "Estimate":
        """The same with another, independent standard error: a share of the value. One repeat stays without any."""
        if self.value is None or self.se is None or self.half_width is None:
            return self
        other = share * abs(self.value)
        half = hypot(self.half_width, _quantile(inf) * other)
        return Estimate(self.value, self.value - half, self.value + half, self.n, self.sd, hypot(self.se, other))

    def each(self, change: Callable[[float], float]) -> "Estimate":
        """A quantity that follows from this one by a change that keeps low below high."""
        value, low, high = (None if end is None else change(end) for end in (self.value, self.low, self.high))
        return Estimate(value, low, high, self.n)

    def over(self, amount: float) -> "Estimate":
        """`amount` divided by it: what was low is high."""
        turned = self.each(lambda end: amount / end)
        return Estimate(turned.value, turned.high, turned.low, self.n)


Interval = Annotated[Estimate, "interval"]  # whose columns are its value and both ends, and not its errors


def estimate(values: Iterable[float | None]) -> Estimate:
    """Sum up the repeats that have a value."""
    known = [float(value) for value in values if value is not None]
    if not known:
        return Estimate()
    n = len(known)
    mean = fsum(known) / n
    if n == 1:
        return Estimate(mean, n=1)
    sd = sqrt(fsum((value - mean) ** 2 for value in known) / (n - 1))
    return by_student(mean, sd / sqrt(n), n, sd)


def by_student(value: float, se: float, n: int, sd: float | None = None) -> Estimate:
    """A value with the interval value +- t x se, by Student's t of n - 1 degrees of freedom."""
    half = _quantile(n - 1) * se
    return Estimate(value, value - half, value + half, n, sd, se)


def total(parts: Sequence[Estimate]) -> Estimate:
    """The sum of independent quantities; a standard error of 0 is that of an exact one.

    Its degrees of freedom are by Welch and Satterthwaite (GUM, JCGM 100:2008, G.4.1). It has an interval where each
    part has a standard error.
    """
    value, errors = fsum(part.value or 0.0 for part in parts), [part.se for part in parts]
    if None in errors:
        return Estimate(value)
    variance = fsum(se**2 for se in errors if se)
    shares = fsum(part.se**4 / (part.n - 1) for part in parts if part.se)
    return by_student(value, sqrt(variance), int(variance**2 / shares + ROUNDING) + 1) if shares else Estimate(value)


def ratio(a: Estimate, b: Estimate) -> Estimate:
    """a / b, with the confidence interval of a ratio of independent means, on the logarithmic scale.

    The relative standard errors u = se / mean add in squares (delta method: Casella & Berger, Statistical Inference,
    2nd ed., section 5.5.4; GUM, JCGM 100:2008, 5.1.6), with t at the Welch-Satterthwaite degrees of freedom
    (u_a^2 + u_b^2)^2 / (u_a^4 / (n_a - 1) + u_b^4 / (n_b - 1)) (GUM, G.4.1, equation G.2b). So the interval of b / a
    is this one turned over. No interval where either has fewer than two repeats, or a mean that is not above zero.
    """
    if a.value is None or not b.value:
        return Estimate()
    value = a.value / b.value
    if a.se is None or b.se is None or a.value <= 0 or b.value <= 0:
        return Estimate(value)
    a_square, b_square = (a.se / a.value) ** 2, (b.se / b.value) ** 2
    square = a_square + b_square
    if square == 0:
        return Estimate(value, value, value)  # repeats that were all the same
    freedom = square**2 / (a_square**2 / (a.n - 1) + b_square**2 / (b.n - 1))
    return _of_logarithms(value, _quantile(freedom) * sqrt(square))


def paired_ratio(pairs: Sequence[tuple[float, float]]) -> Estimate:
    """The geometric mean of a / b over pairs that have all but one thing in common, with its confidence interval.

    The interval is Student's t of the logarithms of the ratios: what both of a pair share, such as the size of their
    samples, is in neither. None where a pair has a value that is not above zero; no interval of one pair.
    """
    if not pairs or any(a <= 0 or b <= 0 for a, b in pairs):
        return Estimate()
    logs = estimate(log(a / b) for a, b in pairs)
    half = None if logs.se is None else _quantile(logs.n - 1) * logs.se
    return _of_logarithms(exp(logs.value or 0.0), half, logs.n)


def _of_logarithms(value: float, half: float | None, n: int = 0) -> Estimate:
    """A ratio whose logarithm has this half-width; beyond MAX_EXPONENT it is anything between nothing and infinity."""
    if half is None or half > MAX_EXPONENT:
        return Estimate(value, n=n)
    return Estimate(value, value * exp(-half), value * exp(half), n)


def _quantile(freedom: float) -> float:
    """The two-sided quantile of Student's t at so many degrees of freedom."""
    from scipy.special import stdtrit  # takes a third of the start of gpd; scipy.stats five times as long

    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2))
