"""How often the configurations of a study are measured by its settings, and what ended the repeats of each. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from gpd.records.run_spec import CurveKey
from gpd.records.study import AUTO, Study, StudyRecord
from gpd.statistics.repeats import LEAST, Repeats, Seen, relative
from gpd.statistics.saturation import Observation
from gpd.tables.columns import ConfigurationRow
from gpd.text.formats import counted, percent


@dataclass(frozen=True)
class Stop:
    """Where the repeats of a configuration stand under `repeats: auto`."""

    curve_key: CurveKey
    n: int
    seen: Seen
    rule: Repeats

    @property
    def over(self) -> bool:
        """Whether it has all the repeats that it is to have."""
        return self.seen.ended >= self.rule.wanted(self.seen)

    def __str__(self) -> str:
        share = relative(self.seen.mean, self.seen.se)
        error = "not known" if share is None else percent(share)
        if not self.over:
            why = "goes on"
        else:
            why = "precise enough" if self.seen.within(self.rule.precision) else "at the limit, and not as precise"
        line = self.curve_key
        place = f"{line.pipeline} N = {self.n} ({line.mode}, {line.binding})"
        return f"{place}: {counted(self.seen.ended, 'repeat')}, {why} (standard error {error})"


def rule(study: Study) -> Repeats:
    """When a configuration of a study has been measured often enough."""
    return Repeats(None if study.repeats == AUTO else study.repeats, study.precision, study.most_repeats)


def seen(point: ConfigurationRow) -> Seen:
    """What the repeats of a configuration came to."""
    return Seen(point.repeats, point.genomes_per_day.mean, point.genomes_per_day.se)


def curve(points: Iterable[ConfigurationRow], rule: Repeats) -> list[Observation]:
    """What the configurations of a curve came to, N by N; an N counts when it has all of its repeats."""
    return [point.observation for point in points if point.repeats >= rule.wanted(seen(point))]


def stops(plan: StudyRecord | None, points: Iterable[ConfigurationRow]) -> list[Stop]:
    """Where each configuration stands; none where its repeats were fixed beforehand, or nobody knows."""
    if plan is None or plan.study.repeats != AUTO:
        return []
    return [Stop(point.curve_key, point.n, seen(point), rule(plan.study)) for point in points]


def in_words(study: Study) -> str:
    """Say how often each configuration is measured."""
    if study.repeats != AUTO:
        return f"each configuration {counted(study.repeats, 'time')}"
    return (
        f"each configuration until the standard error of genomes a day is within {percent(study.precision)} of the "
        f"mean, {min(LEAST, study.most_repeats)} times at least and {study.most_repeats} at most"
    )
