"""How often a configuration is measured: so many times, or until its mean is known well enough. Pure.

The error is the half-width of the mean's 95% confidence interval by Student's t, not its standard error: of three
repeats the one is 4.3 times the other. A rule that looks at the mean before it stops flatters its error a little: it
stops where chance made the spread small. LEAST repeats at the least keep that small, and every repeat counts, whatever
it came to.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from gpd.records.study import AUTO, Study, StudyRecord
from gpd.statistics.estimates import Estimate
from gpd.tables.columns import ConfigurationRow
from gpd.text.formats import counted, percent

LEAST = 5  # repeats before their spread is believed


def is_precise(daily: Estimate, precision: float) -> bool:
    """Whether the half-width is at most this share of the mean; nothing is left to learn of one that is 0."""
    share = daily.relative_half_width
    return daily.value == 0 or (share is not None and share <= precision)


def error_in_words(daily: Estimate) -> str:
    """The half-width as a percentage of the mean."""
    share = daily.relative_half_width
    return "no interval" if share is None else f"95% interval \u00b1 {percent(share)}"


@dataclass(frozen=True)
class Repeats:
    """How often a configuration is measured: `number` times; None: until the half-width of its interval is within
    `precision` of the mean, and no more than `most` times."""

    number: int | None
    precision: float
    most: int

    def wanted(self, so_far: ConfigurationRow | None = None) -> int:
        """How many repeats a configuration is to have, by those that have ended."""
        if self.number is not None:
            return self.number
        if so_far is None or so_far.repeats < LEAST:
            return min(LEAST, self.most)
        over = so_far.repeats >= self.most or is_precise(so_far.genomes_per_day, self.precision)
        return so_far.repeats if over else so_far.repeats + 1

    @property
    def limit(self) -> int:
        """No configuration has more."""
        return self.most if self.number is None else self.number


@dataclass(frozen=True)
class Stop:
    """Where the repeats of a configuration stand under `repeats: auto`."""

    configuration: ConfigurationRow
    rule: Repeats

    @property
    def over(self) -> bool:
        """Whether it has all the repeats that it is to have."""
        return self.configuration.repeats >= self.rule.wanted(self.configuration)

    def __str__(self) -> str:
        of, daily = self.configuration, self.configuration.genomes_per_day
        if not self.over:
            why = "goes on"
        else:
            why = "precise enough" if is_precise(daily, self.rule.precision) else "at the limit, and not as precise"
        place = f"{of.pipeline} N = {of.n} ({of.mode}, {of.binding})"
        return f"{place}: {counted(of.repeats, 'repeat')}, {why} ({error_in_words(daily)})"


def rule(study: Study) -> Repeats:
    """When a configuration of a study has been measured often enough."""
    return Repeats(None if study.repeats == AUTO else study.repeats, study.precision, study.most_repeats)


def stops(plan: StudyRecord | None, configurations: Iterable[ConfigurationRow]) -> list[Stop]:
    """Where each configuration stands; none where its repeats were fixed beforehand, or it is not known."""
    if plan is None or plan.study.repeats != AUTO:
        return []
    return [Stop(configuration, rule(plan.study)) for configuration in configurations]


def in_words(study: Study) -> str:
    """Say how often each configuration is measured."""
    if study.repeats != AUTO:
        return f"each configuration {counted(study.repeats, 'time')}"
    return (
        f"each configuration until the 95% interval of genomes a day is \u00b1 {percent(study.precision)} of the mean "
        f"or less (half-width by Student's t), {min(LEAST, study.most_repeats)} times at least and "
        f"{study.most_repeats} at most"
    )
