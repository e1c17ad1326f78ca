"""How often the configurations of a study are measured by its settings, and what ended the repeats of each. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from gpd.records.run_spec import CurveKey
from gpd.records.study import AUTO, Study, StudyRecord
from gpd.statistics.repeats import LEAST, Repeats, RepeatStats, relative
from gpd.statistics.saturation import Observation
from gpd.tables.columns import ConfigurationRow
from gpd.text.formats import counted, percent


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
        share = relative(self.stats.mean, self.stats.se)
        error = "not known" if share is None else percent(share)
        if not self.over:
            why = "goes on"
        else:
            why = "precise enough" if self.stats.within(self.rule.precision) else "at the limit, and not as precise"
        line = self.curve_key
        place = f"{line.pipeline} N = {self.n} ({line.mode}, {line.binding})"
        return f"{place}: {counted(self.stats.ended, 'repeat')}, {why} (standard error {error})"


def rule(study: Study) -> Repeats:
    """When a configuration of a study has been measured often enough."""
    return Repeats(None if study.repeats == AUTO else study.repeats, study.precision, study.most_repeats)


def stats(point: ConfigurationRow) -> RepeatStats:
    """What the repeats of a configuration came to."""
    return RepeatStats(point.repeats, point.genomes_per_day.mean, point.genomes_per_day.se)


def curve(points: Iterable[ConfigurationRow], rule: Repeats) -> list[Observation]:
    """What the configurations of a curve came to, N by N; an N counts when it has all of its repeats."""
    return [point.observation for point in points if point.repeats >= rule.wanted(stats(point))]


def stops(plan: StudyRecord | None, points: Iterable[ConfigurationRow]) -> list[Stop]:
    """Where each configuration stands; none where its repeats were fixed beforehand, or nobody knows."""
    if plan is None or plan.study.repeats != AUTO:
        return []
    return [Stop(point.curve_key, point.n, stats(point), rule(plan.study)) for point in points]


def in_words(study: Study) -> str:
    """Say how often each configuration is measured."""
    if study.repeats != AUTO:
        return f"each configuration {counted(study.repeats, 'time')}"
    return (
        f"each configuration until the standard error of genomes a day is within {percent(study.precision)} of the "
        f"mean, {min(LEAST, study.most_repeats)} times at least and {study.most_repeats} at most"
    )
