"""How often a configuration is measured: so many times, or until its mean is known well enough. Pure.

The error is the half-width of the mean's 95% confidence interval by Student's t, not its standard error: of three
repeats the one is 4.3 times the other. A rule that looks at the mean before it stops flatters its error a little: it
stops where chance made the spread small. LEAST repeats at the least keep that small, and every repeat counts, whatever
it came to.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from gpd.records.run_spec import CurveKey
from gpd.records.study import AUTO, Study, StudyRecord
from gpd.statistics.estimates import Estimate
from gpd.tables.columns import ConfigurationRow
from gpd.text.formats import counted, percent

LEAST = 5  # repeats before their spread is believed


def relative(mean: float | None, half_width: float | None) -> float | None:
    """The half-width as a share of the mean; None where either is not known, or the mean is not above zero."""
    return half_width / mean if mean is not None and mean > 0 and half_width is not None else None


@dataclass(frozen=True)
class RepeatStats:
    """What the repeats of a configuration came to: how many have ended, the mean, and the half-width of its 95%
    confidence interval."""

    ended: int = 0
    mean: float | None = None
    half_width: float | None = None

    @classmethod
    def of(cls, ended: int, daily: Estimate) -> "RepeatStats":
        return cls(ended, daily.mean, daily.half_width())

    def within(self, precision: float) -> bool:
        """Whether the half-width is at most this share of the mean; nothing is left to learn of one that is 0."""
        share = relative(self.mean, self.half_width)
        return self.mean == 0 or (share is not None and share <= precision)


@dataclass(frozen=True)
class Repeats:
    """How often a configuration is measured: `number` times; None: until the half-width of its interval is within
    `precision` of the mean, and no more than `most` times."""

    number: int | None
    precision: float
    most: int

    def wanted(self, stats: RepeatStats) -> int:
        """How many repeats a configuration is to have, by those that have ended."""
        if self.number is not None:
            return self.number
        if stats.ended < LEAST:
            return min(LEAST, self.most)
        over = stats.ended >= self.most or stats.within(self.precision)
        return stats.ended if over else stats.ended + 1

    @property
    def limit(self) -> int:
        """No configuration has more."""
        return self.most if self.number is None else self.number


@dataclass(frozen=True)
class Stop:
    """Where the repeats of a configuration stand under `repeats: auto`."""

    curve_key: CurveKey
    n: int
    stats: RepeatStats
    rule: Repeats

    @property
    def over(self) -> bool:
        """Whether it has all the repeats that it is to have."""
        return self.stats.ended >= self.rule.wanted(self.stats)

    def __str__(self) -> str:
        share = relative(self.stats.mean, self.stats.half_width)
        error = "no interval" if share is None else f"95% interval \u00b1 {percent(share)}"
        if not self.over:
            why = "goes on"
        else:
            why = "precise enough" if self.stats.within(self.rule.precision) else "at the limit, and not as precise"
        line = self.curve_key
        place = f"{line.pipeline} N = {self.n} ({line.mode}, {line.binding})"
        return f"{place}: {counted(self.stats.ended, 'repeat')}, {why} ({error})"


def rule(study: Study) -> Repeats:
    """When a configuration of a study has been measured often enough."""
    return Repeats(None if study.repeats == AUTO else study.repeats, study.precision, study.most_repeats)


def stats(configuration: ConfigurationRow) -> RepeatStats:
    """What the repeats of a configuration came to."""
    return RepeatStats.of(configuration.repeats, configuration.genomes_per_day)


def stops(plan: StudyRecord | None, configurations: Iterable[ConfigurationRow]) -> list[Stop]:
    """Where each configuration stands; none where its repeats were fixed beforehand, or it is not known."""
    if plan is None or plan.study.repeats != AUTO:
        return []
    return [
        Stop(configuration.curve_key, configuration.n, stats(configuration), rule(plan.study))
        for configuration in configurations
    ]


def in_words(study: Study) -> str:
    """Say how often each configuration is measured."""
    if study.repeats != AUTO:
        return f"each configuration {counted(study.repeats, 'time')}"
    return (
        f"each configuration until the 95% interval of genomes a day is \u00b1 {percent(study.precision)} of the mean "
        f"or less (half-width by Student's t), {min(LEAST, study.most_repeats)} times at least and "
        f"{study.most_repeats} at most"
    )
