"""How a report prints numbers and words: units, digits, errors. Pure. What is missing is an empty text."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeGuard

DIGITS = 3  # of a number without an error, at least
MOST_DECIMALS = 6
EPSILON = 1e-9  # of a mean: a smaller error is that of the arithmetic
SHORT_DIGEST = 12
GIGABYTE = 1e9
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
PLUS_MINUS = "\u00b1"


@dataclass(frozen=True)
class TimeUnit:
    """A unit of time for a whole table or figure."""

    name: str
    symbol: str
    seconds: float
    decimals: int

    def of(self, seconds: float) -> float:
        return seconds / self.seconds

    def show(self, seconds: float | None) -> str:
        return f"{self.of(seconds):,.{self.decimals}f}" if known(seconds) else ""


SECONDS_PER_DAY = 24 * 3600
UNITS = (TimeUnit("hours", "h", 3600, 2), TimeUnit("minutes", "min", 60, 2), TimeUnit("seconds", "s", 1, 1))


def unit_for(longest_s: float) -> TimeUnit:
    """Return hours, as published; minutes or seconds where the longest time has few hundredths of an hour."""
    return next((unit for unit in UNITS[:-1] if longest_s >= 10 * 60 and longest_s >= unit.seconds), UNITS[-1])


def known(value: float | None) -> TypeGuard[float]:
    """Tell whether a value of a table is there: neither None nor a float that is no number."""
    return value is not None and value == value


def number(value: float | None, digits: int = DIGITS) -> str:
    """Return a number with at least `digits` digits that count; whole where it has as many before the point."""
    return f"{value:,.{_decimals(value, digits)}f}" if known(value) else ""


def from_to(low: float | None, high: float | None, digits: int = DIGITS) -> str:
    """Return an interval in brackets; nothing where it is not known."""
    return f"({number(low, digits)}-{number(high, digits)})" if known(low) and known(high) else ""


def percent(share: float | None) -> str:
    """Return a share of one as a percentage."""
    return f"{number(100 * share, 2)}%" if known(share) else ""


def in_gigabytes(size: float) -> str:
    """Return bytes as gigabytes, of 10^9 bytes each."""
    return f"{number(size / GIGABYTE)} GB"


def of_reads(fraction: float) -> str:
    """What part of each sample was measured; nothing where that is all of it."""
    return f"on {100 * fraction:.6g}% of the reads of each sample" if fraction < 1 else ""


def of_copies(copies: int) -> str:
    """How many samples each genome stands for; nothing where that is itself."""
    return f"{copies:,} samples of each genome, as copies of its files" if copies > 1 else ""


def with_error(mean: float | None, error: float | None, least: int | None = None) -> tuple[str, str]:
    """Return a mean and its error or half-width, both to the decimal place of the error's first digit or finer.

    `least` is how many decimals there are at least; without it the mean has as many as `number` gives it.
    """
    if not known(mean):
        return "", ""
    decimals = _decimals(mean, DIGITS) if least is None else least
    if not known(error):
        return f"{mean:,.{decimals}f}", ""
    if error <= abs(mean) * EPSILON:
        error = 0.0
    decimals = max(decimals, _decimals(error, 1))
    return f"{mean:,.{decimals}f}", f"{PLUS_MINUS} {error:,.{decimals}f}"


def _decimals(value: float, digits: int) -> int:
    if not value:
        return 0
    return min(max(digits - 1 - math.floor(math.log10(abs(value))), 0), MOST_DECIMALS)


def counted(count: int, noun: str) -> str:
    """`1 sample`, `2 samples`, `1,000 samples`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(words: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    parts = list(words)
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def some(words: Sequence[str], most: int) -> str:
    """List words, and say how many there are beyond the first `most`."""
    return listed(words) if len(words) <= most else f"{', '.join(words[:most])} and {len(words) - most:,} more"


def sentence(text: str) -> str:
    """Text with a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:]}."


def brief(text: str, most: int = 400) -> str:
    """Both ends of a text that is longer than `most` characters, as one that names a hundred files is."""
    half = most // 2
    return text if len(text) <= most else f"{text[:half]} ... ({len(text) - 2 * half:,} characters) ... {text[-half:]}"


def short(digest: str) -> str:
    """As many characters of a digest as tell it apart."""
    return digest[:SHORT_DIGEST]


def visible(text: str) -> str:
    """Return text of anybody without what gives orders to a terminal, or turns text around: that is spelled out.

    As JSON spells it, so that JSON stays JSON.
    """
    return UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def one_line(text: str) -> str:
    """Return text of anybody as one line, whatever stands in the names that it tells."""
    return visible(text).replace("\n", "\\u000a").replace("\t", "\\u0009")
