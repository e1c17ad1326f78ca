"""Studies side by side, and beside published results: what each came to, and ratios to the first.

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
    Holders,
    Named,
    counted_records,
    curve_name,
    differences,
    doubts,
    output_differences,
    pooled_differences,
)
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
from gpd.statistics.estimates import Estimate, Ratio
from gpd.statistics.saturation import Saturation
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
class Row:
    """A figure of each side, by its name, and its ratio to the first that has the configuration, with its 95% interval.

    There is no ratio of a figure a sample where samples are of another size, or of a size that is not known.
    """

    metric: Metric
    estimates: Mapping[str, Estimate]
    ratios: Mapping[str, Ratio | None]


@dataclass(frozen=True)
class ConfigurationRows:
    """The figures of N samples at once; `results` has what each side came to that has the configuration."""

    match: Match
    common: CommonKey
    n: int
    results: Mapping[str, Results]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class BestRows:
    """Best N against best N along curves: figures a day at the best N, and at N that gave most, where samples failed.

    `results` has what each side came to at its best N; a side without such an N is not in it.
    """

    match: Match
    common: CommonKey
    saturations: Mapping[str, Saturation]
    results: Mapping[str, Results]
    rows: tuple[Row, ...]
    most: tuple[Row, ...]

    @property
    def same_size(self) -> bool:
        return same_size(*self.results.values())


@dataclass(frozen=True)
class Comparison:
    """Sides side by side. `differences` stand above the tables; with any in `refused` no table is to be shown."""

    sides: tuple[Side, ...]
    differences: tuple[Difference, ...]
    refused: tuple[Difference, ...]
    notes: tuple[str, ...]
    configurations: tuple[ConfigurationRows, ...]
    best: tuple[BestRows, ...]


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
    best = tuple(_best_rows(sides, match) for match in matches)
    named_records = [_named(sides, one) for one in configurations]
    recorded = [named for named in named_records if len({name for name, _ in named}) > 1]
    differing = [
        *_curve_differences(sides, matches),
        *_merged([difference for named in recorded for difference in differences(named)]),
        *output_differences(_all_named(sides)),
    ]
    return Comparison(
        sides=tuple(sides),
        differences=tuple(differing),
        refused=tuple(one for one in differing if one.name not in allowed and not one.by_machine),
        notes=(*_sizes((*configurations, *best)), *_notes(sides, configurations, recorded, differing)),
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


def _configurations(sides: Sequence[Side], matches: Sequence[Match]) -> Iterator[ConfigurationRows]:
    """Return the configurations that are in two sides at least."""
    for match in matches:
        curves = {name: _by_name(sides, name).curves[key] for name, key in match.items()}
        for n in sorted({n for curve in curves.values() for n in curve}):
            results = {name: curve[n] for name, curve in curves.items() if n in curve}
            if len(results) > 1:
                common = _common(sides, {name: match[name] for name in results})
                rows = _rows(_metrics(common.pipeline, results.values()), results)
                known = tuple(row for row in rows if any(estimate.n for estimate in row.estimates.values()))
                yield ConfigurationRows(match, common, n, results, known)


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
    differing = []
    for match in matches:
        for name in CURVE:
            holders: Holders = {}
            for side in sides:
                if side.name in match and not side.published:
                    value = getattr(match[side.name], name)
                    holders[value] = (*holders.get(value, ()), side.name)
            if len(holders) > 1:
                differing.append(Difference(name, "", holders))
    return _merged(differing)


def _named(sides: Sequence[Side], configuration: ConfigurationRows) -> Named:
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


def _sizes(found: Sequence[ConfigurationRows | BestRows]) -> Iterator[str]:
    """Say which samples are of another size, by pipeline."""
    unlike: dict[str, dict[str, float | None]] = {}
    for one in found:
        if not same_size(*one.results.values()):
            sizes = unlike.setdefault(one.common.pipeline, {})
            for name, results in one.results.items():
                sizes.setdefault(name, results.gigabases)
    for pipeline, sizes in unlike.items():
        holders: dict[str, list[str]] = {}
        for name, size in sizes.items():
            holders.setdefault(f"{number(size)} Gb" if size else "not recorded", []).append(name)
        listing = listed(f"{size} ({some(names, MOST_SHOWN)})" for size, names in holders.items())
        yield f"{pipeline}: gigabases a sample: {listing}, {SIZES_DIFFER.format(daily=PIPELINES[pipeline].daily)}"


def _pairs(configurations: Sequence[ConfigurationRows]) -> Iterator[str]:
    """Say whose ratios are paired."""
    paired: dict[str, dict[str, None]] = {}
    for one in configurations:
        first = next(iter(one.results))
        for name in {name: None for row in one.rows for name, ratio in row.ratios.items() if ratio and ratio.pairs}:
            paired.setdefault(first, {})[name] = None
    for first, names in paired.items():
        others = some(list(names), MOST_SHOWN)
        yield f"ratios to {first} are paired by repeat, for each drew the same samples: {others}"


def _threads(side: Side) -> str:
    return listed("all" if smt else "one" for smt in side.smt)


def _notes(
    sides: Sequence[Side],
    configurations: Sequence[ConfigurationRows],
    recorded: Sequence[Named],
    differing: Sequence[Difference],
) -> Iterator[str]:
    yield from dict.fromkeys(note for side in sides for note in side.notes)
    yield from _pairs(configurations)
    studies = [side for side in sides if not side.published]
    if len({side.smt for side in studies if side.smt}) > 1:
        yield f"{SMT_DIFFERS}: {listed(f'{_threads(side)} ({side.name})' for side in studies if side.smt)}"
    for side in studies:
        for difference in pooled_differences(side.records):
            yield f"{side.name}: repeats that differ are in one mean: {difference}"
    if len(studies) > 1:
        yield from map(str, also_different(_all_named(studies)))
        yield from dict.fromkeys(doubt for named in recorded for doubt in doubts(named))
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


# ----------------------------------------------------------------------------------------------- tables


def _metrics(pipeline: str, results: Iterable[Results]) -> Iterator[Metric]:
    """Return the metrics in order; RNA-Seq has no 30x. Steps of a workflow that is not ours are those that ran."""
    steps = PIPELINES[pipeline].steps or steps_of(results)
    yield from (metric for metric in TOTALS if metric != HUMAN or PIPELINES[pipeline].genomes)
    for clock in (*A_GIGABASE, *A_GIGABASE.values()):
        yield from (Metric(clock, step) for step in steps)


def _rows(metrics: Iterable[Metric], results: Mapping[str, Results]) -> Iterator[Row]:
    """The figures of each side, with ratios to the first that there is, which has none to itself."""
    names = list(results)
    for metric in metrics:
        estimates = {name: own.estimate(metric) for name, own in results.items()}
        ratios: dict[str, Ratio | None] = dict.fromkeys(names)
        for name in names[1:]:
            if not metric.a_sample or same_size(results[names[0]], results[name]):
                ratios[name] = results[name].ratio(results[names[0]], metric)
        yield Row(metric, estimates, ratios)


def _best_rows(sides: Sequence[Side], match: Match) -> BestRows:
    saturations = {name: _by_name(sides, name).saturation(key) for name, key in match.items()}

    def results_at(numbers: Mapping[str, int | None]) -> dict[str, Results]:
        return {name: _by_name(sides, name).curves[match[name]][n] for name, n in numbers.items() if n is not None}

    best = results_at({name: saturation.best_n for name, saturation in saturations.items()})
    most = results_at({name: saturation.n for name, saturation in saturations.items()})
    metrics = (GENOMES, GIGABASES, HUMAN)
    rows = (tuple(_rows(metrics, results)) for results in (best, most))
    return BestRows(match, _common(sides, match), saturations, best, *rows)
