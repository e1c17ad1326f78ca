"""Studies side by side, and beside published results: what each came to, and ratios to the first that is like it.

Curves are matched by pipeline, mode and binding, their configurations by N. Parts of one study may differ in mode and
binding. What is not the same is found, and what of it was not asked for is refused: `Comparison.refused`.

A figure a sample tells nothing of samples of another size, so between such there is no ratio of it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpd.comparison.agreement import by_input, seen_twice
from gpd.comparison.also_different import also_different
from gpd.comparison.comparability import (
    ASKED_OF_A_STUDY,
    MOST_SHOWN,
    CommonKey,
    Difference,
    Named,
    counted_records,
    curve_name,
    differences,
    doubts,
    holders_of,
    output_differences,
    pooled_differences,
)
from gpd.comparison.keys import named_by_key
from gpd.comparison.results import (
    A_GIGABASE,
    GENOMES,
    GIGABASES,
    HUMAN,
    TOTALS,
    Metric,
    Results,
    Side,
    same_size,
    steps_of,
)
from gpd.errors import GpdError
from gpd.pipelines import PIPELINES
from gpd.records.run_spec import CurveKey
from gpd.statistics.estimates import Estimate
from gpd.text.formats import counted, listed, number, some

SMT_DIFFERS = "also different: threads of a core that jobs might use"
CURVE = ("mode", "binding")  # what sets the curves of a pipeline apart; published results stand beside any
SIZES_DIFFER = (
    "so {daily}, makespan and hours of a step have no ratio between them: compare figures a gigabase, of which much is"
    " start-up where a sample is small"
)


class CompareError(GpdError):
    """Nothing can be compared; the message says why, a line for each study."""


Match = Mapping[str, CurveKey]  # the curves that stand side by side, by the names of their sides


@dataclass(frozen=True)
class ComparedConfiguration:
    """What sides came to that stand beside each other, by the names of the sides: at one N, or each at its best.

    `n` is None where each is at its best N; a side without such an N has no results.
    """

    match: Match
    common: CommonKey
    n: int | None
    results: Mapping[str, Results]

    @property
    def metrics(self) -> list[Metric]:
        """Those that a side has a figure of, in order."""
        pipeline = PIPELINES[self.common.pipeline]
        steps = pipeline.steps or steps_of(self.results.values())  # of a workflow that is not ours those that ran
        of_runs = [metric for metric in TOTALS if metric != HUMAN or pipeline.genomes]
        of_steps = [Metric(clock, step) for clock in (*A_GIGABASE, *A_GIGABASE.values()) for step in steps]
        return [one for one in (*of_runs, *of_steps) if any(own.estimate(one).n for own in self.results.values())]

    @property
    def daily(self) -> Metric:
        """What says how much is done in a day: of samples of one size genomes, and else gigabases."""
        like = [own for own in self.results.values() if own.is_like(next(iter(self.results.values())))]
        return GENOMES if same_size(*like) else GIGABASES

    def reference(self, name: str) -> str | None:
        """The first side that is like this one, which it is held against; None where there is none before it."""
        before = list(self.results)[: list(self.results).index(name)]
        return next((other for other in before if self.results[name].is_like(self.results[other])), None)

    def ratio(self, name: str, metric: Metric) -> Estimate | None:
        """A side's figure over that of its reference; None where it has none, or samples are of another size."""
        first = self.reference(name)
        return None if first is None else self.results[name].ratio(self.results[first], metric)


@dataclass(frozen=True)
class Comparison:
    """Sides side by side. With any difference in `refused` no figure is to be shown.

    `spoils` says what weakens the figures besides `differences`, `notes` what else is to be known.
    """

    sides: tuple[Side, ...]
    differences: tuple[Difference, ...]
    refused: tuple[Difference, ...]
    spoils: tuple[str, ...]
    notes: tuple[str, ...]
    configurations: tuple[ComparedConfiguration, ...]
    best: tuple[ComparedConfiguration, ...]


def compare(sides: Sequence[Side], allowed: Collection[str] = ()) -> Comparison:
    """Compare sides; `allowed` of ALLOWABLE may differ. Raises CompareError where no two have one in common."""
    of_one_study = len({side.study for side in sides if not side.published}) == 1
    allowed = {*allowed, *(ASKED_OF_A_STUDY if of_one_study else ())}
    for dropped in (allowed, CURVE):  # where nothing is in common: mode or binding differ, or N does
        matches = _matches(sides, dropped)
        if configurations := tuple(_configurations(sides, matches)):
            break
    else:
        raise CompareError("\n".join(["no configuration is in two of these:", *map(_has, sides)]))
    best = tuple(_at_best(sides, match) for match in matches)
    named_records = [_named(sides, one) for one in configurations]
    recorded = [named for named in named_records if len({name for name, _ in named}) > 1]
    differing = [
        *_curve_differences(sides, matches),
        *_merged([difference for named in recorded for difference in differences(named)]),
        *output_differences(_all_named(sides)),
    ]
    keys = {side.name: side.keys for side in sides}
    differing = [one for difference in differing for one in named_by_key(difference, keys)]
    return Comparison(
        sides=tuple(sides),
        differences=tuple(differing),
        refused=tuple(one for one in differing if one.name not in allowed and not one.by_machine),
        spoils=tuple(_spoils(sides, (*configurations, *best), recorded)),
        notes=tuple(_notes(sides, configurations, differing)),
        configurations=configurations,
        best=best,
    )


# --------------------------------------------------------------------------------------------- matching


def _matches(sides: Sequence[Side], dropped: Collection[str]) -> list[Match]:
    """Return for each curve of the first study, or of the first side where there is none, that of every other side."""
    anchor = next((side for side in sides if not side.published), sides[0])
    partners = {side.name: _partners(anchor, side, dropped) for side in sides}
    matches = [{name: own[key] for name, own in partners.items() if key in own} for key in anchor.curves]
    return [match for match in matches if len(match) > 1]


def _partners(anchor: Side, side: Side, dropped: Collection[str]) -> dict[CurveKey, CurveKey]:
    """Return the side's curve for each of the anchor's: the same one, or the only one but for what was dropped."""
    partners = {key: key for key in anchor.curves if key in side.curves}
    free = [key for key in side.curves if side.published or key not in partners]
    kept = ["pipeline", *(name for name in CURVE if name not in (CURVE if side.published else dropped))]
    for key in anchor.curves:
        fits = [other for other in free if all(getattr(key, name) == getattr(other, name) for name in kept)]
        if len(fits) == 1:
            partners.setdefault(key, fits[0])
    return partners


def _configurations(sides: Sequence[Side], matches: Sequence[Match]) -> Iterator[ComparedConfiguration]:
    """Return the configurations that are in two sides at least."""
    for match in matches:
        curves = {name: _by_name(sides, name).curves[key] for name, key in match.items()}
        for n in sorted({n for curve in curves.values() for n in curve}):
            results = {name: curve[n] for name, curve in curves.items() if n in curve}
            if len(results) > 1:
                common = _common(sides, {name: match[name] for name in results})
                yield ComparedConfiguration(match, common, n, results)


def _at_best(sides: Sequence[Side], match: Match) -> ComparedConfiguration:
    """Each side at its best N."""
    results = {}
    for name, key in match.items():
        side = _by_name(sides, name)
        if (n := side.saturation(key).best_n) is not None:
            results[name] = side.curves[key][n]
    return ComparedConfiguration(match, _common(sides, match), None, results)


def _by_name(sides: Iterable[Side], name: str) -> Side:
    return next(side for side in sides if side.name == name)


def _common(sides: Sequence[Side], match: Match) -> CommonKey:
    """Return what the curves have in common; published results have a mode of their own, which a study's stands for."""
    of_studies = [match[side.name] for side in sides if side.name in match and not side.published]
    return CommonKey.of(of_studies or list(match.values()))


def _has(side: Side) -> str:
    """Say which configurations a side has."""
    return f"{side.name} has {'; '.join(_curve(key, numbers) for key, numbers in side.curves.items())}"


def _curve(key: CurveKey, numbers: Iterable[int]) -> str:
    return f"{curve_name(key)}: N = {', '.join(map(str, numbers))}"


# ------------------------------------------------------------------------------------------ differences


def _curve_differences(sides: Sequence[Side], matches: Sequence[Match]) -> list[Difference]:
    """Return the modes and bindings that stand side by side; beside published results that is asked for."""
    studies = [side.name for side in sides if not side.published]
    every = [
        Difference(name, "", holders_of((study, getattr(match[study], name)) for study in studies if study in match))
        for match in matches
        for name in CURVE
    ]
    return _merged([one for one in every if len(one.holders) > 1])


def _named(sides: Sequence[Side], configuration: ComparedConfiguration) -> Named:
    """Return the records behind a configuration, each with its study's name."""
    return [
        (side.name, record)
        for side in sides
        if side.name in configuration.results
        for record in counted_records(side.records)
        if (record.spec.curve_key, record.spec.n) == (configuration.match[side.name], configuration.n)
    ]


def _all_named(sides: Sequence[Side]) -> Named:
    return [(side.name, record) for side in sides for record in side.records]


def _merged(differing: Sequence[Difference]) -> list[Difference]:
    """Return each difference once: what one N tells already, another need not tell again."""
    kept: list[Difference] = []
    for difference in sorted(differing, key=lambda difference: -len(difference.holders)):
        alike = [other for other in kept if (other.name, other.detail) == (difference.name, difference.detail)]
        if not any(difference.holders.items() <= other.holders.items() for other in alike):
            kept.append(difference)
    return sorted(kept, key=differing.index)


# ------------------------------------------------------------------------------------------------ notes


def _spoils(sides: Sequence[Side], found: Sequence[ComparedConfiguration], recorded: Sequence[Named]) -> Iterator[str]:
    """Say what weakens the figures: other sizes of samples, disturbances, machines set up otherwise, what is silent."""
    yield from _sizes(found)
    yield from dict.fromkeys(note for side in sides for note in side.notes)
    studies = [side for side in sides if not side.published]
    if len({side.smt for side in studies if side.smt}) > 1:
        yield f"{SMT_DIFFERS}: {listed(f'{_threads(side)} ({side.name})' for side in studies if side.smt)}"
    for side in studies:
        for difference in pooled_differences(side.records):
            yield f"{side.name}: repeats that differ are in one mean: {difference}"
    if len(studies) > 1:
        yield from map(str, also_different(_all_named(studies)))
        yield from dict.fromkeys(doubt for named in recorded for doubt in doubts(named))


def _sizes(found: Sequence[ComparedConfiguration]) -> Iterator[str]:
    """Say which samples are of another size than those of sides that they are held against, by pipeline."""
    unlike: dict[str, dict[str, float | None]] = {}
    for one in found:
        for name, own in one.results.items():
            first = one.reference(name)
            if first is not None and not same_size(one.results[first], own):
                sizes = unlike.setdefault(one.common.pipeline, {})
                sizes.setdefault(first, one.results[first].gigabases)
                sizes.setdefault(name, own.gigabases)
    for pipeline, sizes in unlike.items():
        holders = holders_of((name, f"{number(size)} Gb" if size else "not recorded") for name, size in sizes.items())
        listing = listed(f"{size} ({some(names, MOST_SHOWN)})" for size, names in holders.items())
        yield f"{pipeline}: gigabases a sample: {listing}, {SIZES_DIFFER.format(daily=PIPELINES[pipeline].daily)}"


def _threads(side: Side) -> str:
    return listed("all" if smt else "one" for smt in side.smt)


def _notes(
    sides: Sequence[Side], configurations: Sequence[ComparedConfiguration], differing: Sequence[Difference]
) -> Iterator[str]:
    """Say whose ratios are paired, whether outputs are equal, and what one side alone has."""
    yield from _pairs(configurations)
    studies = [side for side in sides if not side.published]
    if len(studies) > 1:
        outputs = seen_twice(_all_named(studies), by_input)
        if not outputs:
            yield "outputs: not compared, for no output of the same input is recorded on two sides"
        elif not any(difference.name == "outputs" for difference in differing):
            yield f"outputs: {counted(outputs, 'output')} of the same input on two sides or more, all equal"
    shown = {(name, one.match[name], one.n) for one in configurations for name in one.results}
    for side in studies:
        for key, numbers in side.curves.items():
            if alone := [n for n in numbers if (side.name, key, n) not in shown]:
                yield f"only in {side.name}: {_curve(key, alone)}"


def _pairs(configurations: Sequence[ComparedConfiguration]) -> Iterator[str]:
    """Say whose ratios are paired."""
    paired: dict[str, dict[str, None]] = {}
    for one in configurations:
        for name in one.results:
            ratios = (one.ratio(name, metric) for metric in one.metrics)
            if (first := one.reference(name)) and any(ratio and ratio.n for ratio in ratios):
                paired.setdefault(first, {})[name] = None
    for first, names in paired.items():
        others = some(list(names), MOST_SHOWN)
        yield f"ratios to {first} are paired by repeat, for each drew the same samples: {others}"
