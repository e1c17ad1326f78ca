"""Studies side by side, and beside published figures: what each came to, and ratios to the first. Pure.

Curves are matched by pipeline, mode and binding, their configurations by N. Parts of one study may differ in mode and
binding.
What is not the same is found, and what of it was not asked for is refused: `Comparison.refused`.

A figure a sample tells nothing of samples of another size, so between such there is no ratio of it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpd.comparison.agreement import by_input, seen_twice
from gpd.comparison.comparability import (
    ASKED_OF_A_STUDY,
    MOST_SHOWN,
    Difference,
    Holders,
    Named,
    Shared,
    counted_records,
    differences,
    doubts,
    output_differences,
    pooled_differences,
    shared,
    told,
)
from gpd.comparison.compared import (
    A_GIGABASE,
    GENOMES,
    GIGABASES,
    HUMAN,
    TOTALS,
    Figure,
    Measured,
    Point,
    Side,
    same_size,
)
from gpd.errors import GpdError
from gpd.pipelines import PIPELINES
from gpd.records.run import RunRecord
from gpd.records.run_spec import CurveKey
from gpd.statistics.estimates import Estimate, Ratio, ratio
from gpd.statistics.saturation import Saturation
from gpd.text.formats import counted, listed, number, some

CURVE = ("mode", "binding")  # what sets the curves of a pipeline apart; published figures stand beside any
SIZES_DIFFER = (
    "so {daily}, makespan and hours of a step have no ratio between them: compare figures a gigabase, of which much is"
    " start-up where a sample is small"
)


class CompareError(GpdError):
    """Nothing can be compared; the message says why, a line for each study."""


Match = tuple[CurveKey | None, ...]  # one curve of each side


@dataclass(frozen=True)
class Row:
    """A figure of each side (None: has none) and its ratio to the first that has it, with its 95% interval.

    There is no ratio of a figure a sample where samples are of another size, or of a size that is not known.
    """

    figure: Figure
    estimates: tuple[Estimate | None, ...]
    ratios: tuple[Ratio | None, ...]

    @property
    def present(self) -> dict[int, Estimate]:
        """The figures of those sides that have the configuration, by their places."""
        return {at: estimate for at, estimate in enumerate(self.estimates) if estimate is not None}


@dataclass(frozen=True)
class ConfigurationRows:
    """The figures of N samples at once; `measured` has what each side came to there (None: not measured).

    `match` has the curve of each side, and `shared` what those of studies have in common.
    """

    match: Match
    shared: Shared
    n: int
    measured: tuple[Measured | None, ...]
    rows: tuple[Row, ...]

    @property
    def present(self) -> dict[int, Measured]:
        """What those sides came to that have the configuration, by their places."""
        return {at: result for at, result in enumerate(self.measured) if result is not None}


@dataclass(frozen=True)
class Daily:
    """A figure a day at the best N, and its ratio to the first side's at its own; None: it is the first, or see Row."""

    estimate: Estimate
    ratio: Ratio | None


@dataclass(frozen=True)
class Best:
    """The best N of a side's curve, and the best without failures, with what each gives a day; empty: no such N.

    `tried` is how many N the curve has.
    """

    curve_key: CurveKey
    tried: int
    saturation: Saturation
    gigabases: float | None
    most: Mapping[Figure, Daily]
    safe: Mapping[Figure, Daily]


@dataclass(frozen=True)
class BestRows:
    """Best N against best N along curves; None: the side has no such curve. `same_size`: samples are, for all sides."""

    match: Match
    shared: Shared
    same_size: bool
    sides: tuple[Best | None, ...]


@dataclass(frozen=True)
class Comparison:
    """Sides side by side. `differences` stand above the tables; with any in `refused` no table is to be shown."""

    sides: tuple[Side, ...]
    differences: tuple[Difference, ...]
    refused: tuple[Difference, ...]
    notes: tuple[str, ...]
    points: tuple[ConfigurationRows, ...]
    best: tuple[BestRows, ...]


def compare(sides: Sequence[Side], allowed: Collection[str] = ()) -> Comparison:
    """Compare sides; `allowed` of ALLOWABLE may differ. Raises CompareError where no two have one in common."""
    allowed = {*allowed, *(ASKED_OF_A_STUDY if _are_of_one_study(sides) else ())}
    matches = _matches(sides, allowed)
    if not _points(sides, matches):
        matches = _matches(sides, CURVE)  # then mode or binding differ, or N does
        if not _points(sides, matches):
            raise CompareError("\n".join(["no configuration is in two of these:", *map(_has, sides)]))
    matched = _points(sides, matches)
    points = tuple(_point_rows(sides, curves, match) for curves in matches for match in _points_of(sides, curves))
    best = tuple(_best_rows(sides, match) for match in matches)
    differing = [*_curve_differences(sides, matches), *_record_differences(sides, matched), *_output_differences(sides)]
    return Comparison(
        sides=tuple(sides),
        differences=tuple(differing),
        refused=tuple(
            difference for difference in differing if difference.name not in allowed and not difference.by_machine
        ),
        notes=(*_sizes(sides, points, best), *_notes(sides, matches, matched, differing)),
        points=points,
        best=best,
    )


def _are_of_one_study(sides: Sequence[Side]) -> bool:
    return len({side.study for side in sides if not side.published}) == 1


# --------------------------------------------------------------------------------------------- matching


def _matches(sides: Sequence[Side], dropped: Collection[str]) -> list[Match]:
    """Return for each curve of the first study, or of the first side where there is none, that of every other side."""
    anchor = next((side for side in sides if not side.published), sides[0])
    partners = [_partners(anchor, side, dropped) for side in sides]
    matches = [tuple(of_side.get(curve_key) for of_side in partners) for curve_key in anchor.curves]
    return [match for match in matches if sum(curve_key is not None for curve_key in match) > 1]


def _partners(anchor: Side, side: Side, dropped: Collection[str]) -> dict[CurveKey, CurveKey]:
    """Return the side's curve for each of the anchor's: the same one, or the only one but for what was dropped."""
    same = {curve_key: curve_key for curve_key in anchor.curves if curve_key in side.curves}
    free = [curve_key for curve_key in side.curves if side.published or curve_key not in same]
    partners = dict(same)
    for curve_key in anchor.curves:
        fits = [other for other in free if _fits(curve_key, other, CURVE if side.published else dropped)]
        if curve_key not in same and len(fits) == 1:
            partners[curve_key] = fits[0]
    return partners


def _fits(curve_key: CurveKey, other: CurveKey, dropped: Collection[str]) -> bool:
    kept = ["pipeline", *(name for name in CURVE if name not in dropped)]
    return all(getattr(curve_key, name) == getattr(other, name) for name in kept)


ConfigurationMatch = tuple[Point | None, ...]


def _points(sides: Sequence[Side], matches: Sequence[Match]) -> list[ConfigurationMatch]:
    """Return the configurations that are in two sides at least."""
    return [match for curves in matches for match in _points_of(sides, curves)]


def _points_of(sides: Sequence[Side], curves: Match) -> Iterator[ConfigurationMatch]:
    own = [{} if curve_key is None else _by_n(side, curve_key) for side, curve_key in zip(sides, curves, strict=True)]
    for n in sorted({n for points in own for n in points}):
        match = tuple(points.get(n) for points in own)
        if sum(point is not None for point in match) > 1:
            yield match


def _by_n(side: Side, curve_key: CurveKey) -> dict[int, Point]:
    return {n: Point(curve_key, n) for n in side.numbers(curve_key)}


def _has(side: Side) -> str:
    """Say which configurations a side has."""
    return f"{side.name} has {'; '.join(_curve(curve_key, side.numbers(curve_key)) for curve_key in side.curves)}"


def _curve(curve_key: CurveKey, numbers: Sequence[int]) -> str:
    return f"{told(curve_key)}: N = {', '.join(map(str, numbers))}"


# ------------------------------------------------------------------------------------------ differences


def _curve_differences(sides: Sequence[Side], matches: Sequence[Match]) -> list[Difference]:
    """Return the modes and bindings that stand side by side; beside published figures that is asked for."""
    differing = []
    for match in matches:
        for name in CURVE:
            holders: Holders = {}
            for side, curve_key in zip(sides, match, strict=True):
                if curve_key is not None and not side.published:
                    holders[getattr(curve_key, name)] = (*holders.get(getattr(curve_key, name), ()), side.name)
            if len(holders) > 1:
                differing.append(Difference(name, "", holders))
    return _merged(differing)


def _record_differences(sides: Sequence[Side], points: Sequence[ConfigurationMatch]) -> list[Difference]:
    recorded = [_named(sides, match) for match in points]
    return _merged([difference for named in recorded if _are_several(named) for difference in differences(named)])


def _are_several(named: Named) -> bool:
    return len({name for name, _ in named}) > 1


def _named(sides: Sequence[Side], match: ConfigurationMatch) -> Named:
    """Return the records behind a configuration, each with its study's name."""
    return [
        (side.name, record)
        for side, point in zip(sides, match, strict=True)
        for record in counted_records(side.records)
        if point is not None and _is_of(record, point)
    ]


def _is_of(record: RunRecord, point: Point) -> bool:
    return record.spec.n == point.n and record.spec.curve_key == point.curve_key


def _output_differences(sides: Sequence[Side]) -> list[Difference]:
    return output_differences(_all_named(sides))


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


def _sizes(sides: Sequence[Side], points: Sequence[ConfigurationRows], best: Sequence[BestRows]) -> Iterator[str]:
    """Say which samples are of another size, by pipeline."""
    unlike: dict[str, dict[str, float | None]] = {}
    for rows in points:
        if not same_size(rows.measured):
            _note_sizes(sides, rows.measured, unlike.setdefault(rows.shared.pipeline, {}))
    for at_best in best:
        if not at_best.same_size:
            _note_sizes(sides, at_best.sides, unlike.setdefault(at_best.shared.pipeline, {}))
    for pipeline, sizes in unlike.items():
        holders: dict[str, list[str]] = {}
        for name, size in sizes.items():
            holders.setdefault(f"{number(size)} Gb" if size else "not recorded", []).append(name)
        listing = listed(f"{size} ({some(names, MOST_SHOWN)})" for size, names in holders.items())
        yield f"{pipeline}: gigabases a sample: {listing}, {SIZES_DIFFER.format(daily=PIPELINES[pipeline].daily)}"


def _note_sizes(
    sides: Sequence[Side], places: Sequence[Measured | Best | None], sizes: dict[str, float | None]
) -> None:
    for side, result in zip(sides, places, strict=True):
        if result is not None:
            sizes.setdefault(side.name, result.gigabases)


def _notes(
    sides: Sequence[Side],
    matches: Sequence[Match],
    points: Sequence[ConfigurationMatch],
    differing: Sequence[Difference],
) -> Iterator[str]:
    yield from dict.fromkeys(note for side in sides for note in side.notes)
    studies = [side for side in sides if not side.published]
    for side in studies:
        for difference in pooled_differences(side.records):
            yield f"{side.name}: repeats that differ are in one mean: {difference}"
    if len(studies) > 1:
        recorded = [_named(sides, match) for match in points]
        yield from dict.fromkeys(doubt for named in recorded if _are_several(named) for doubt in doubts(named))
        yield from _agreement(studies, differing)
    yield from _left_out(sides, points)


def _agreement(studies: Sequence[Side], differing: Sequence[Difference]) -> Iterator[str]:
    outputs = seen_twice(_all_named(studies), by_input)
    if not outputs:
        yield "outputs: not compared, for no output of the same input is recorded on two sides"
    elif not any(difference.name == "outputs" for difference in differing):
        yield f"outputs: {counted(outputs, 'output')} of the same input on two sides or more, all equal"


def _left_out(sides: Sequence[Side], points: Sequence[ConfigurationMatch]) -> Iterator[str]:
    """Say what only one study has, so that no one takes it for missing."""
    for at, side in enumerate(sides):
        shown = {match[at] for match in points}
        for curve_key in [] if side.published else side.curves:
            if alone := [n for n in side.numbers(curve_key) if Point(curve_key, n) not in shown]:
                yield f"only in {side.name}: {_curve(curve_key, alone)}"


# ----------------------------------------------------------------------------------------------- tables


def _point_rows(sides: Sequence[Side], curves: Match, match: ConfigurationMatch) -> ConfigurationRows:
    measured = tuple(side.points[point] if point else None for side, point in zip(sides, match, strict=True))
    (n,) = {point.n for point in match if point is not None}
    common = _shared(sides, tuple(point.curve_key if point else None for point in match))
    rows = (_row(figure, measured) for figure in _figures(common.pipeline))
    known = tuple(row for row in rows if any(estimate and estimate.n for estimate in row.estimates))
    return ConfigurationRows(curves, common, n, measured, known)


def _shared(sides: Sequence[Side], match: Match) -> Shared:
    """Return what the curves have in common; published figures have a mode of their own, which a study's stands for."""
    present = [
        (side.published, curve_key) for side, curve_key in zip(sides, match, strict=True) if curve_key is not None
    ]
    return shared(
        [curve_key for published, curve_key in present if not published] or [curve_key for _, curve_key in present]
    )


def _figures(pipeline: str) -> Iterator[Figure]:
    """Return the figures in order; RNA-Seq has no 30x."""
    yield from (figure for figure in TOTALS if figure != HUMAN or PIPELINES[pipeline].genomes)
    for clock in (*A_GIGABASE, *A_GIGABASE.values()):
        yield from (Figure(clock, step) for step in PIPELINES[pipeline].steps)


def _row(figure: Figure, measured: Sequence[Measured | None]) -> Row:
    estimates = tuple(result.estimate(figure) if result else None for result in measured)
    return Row(figure, estimates, _to_first(figure, measured))


def _to_first(figure: Figure, measured: Sequence[Measured | None]) -> tuple[Ratio | None, ...]:
    """Return each one's ratio to the first that there is, which has none to itself."""
    first = _first(measured)
    return tuple(
        ratio(result.estimate(figure), first.estimate(figure))
        if first and result and result is not first and (result.same_size(first) or not figure.a_sample)
        else None
        for result in measured
    )


def _first(measured: Sequence[Measured | None]) -> Measured | None:
    return next((result for result in measured if result is not None), None)


def _best_rows(sides: Sequence[Side], match: Match) -> BestRows:
    saturations = [
        side.saturation(curve_key) if curve_key else None for side, curve_key in zip(sides, match, strict=True)
    ]
    most = _measured_at(sides, match, [saturation.n if saturation else None for saturation in saturations])
    safe = _measured_at(
        sides, match, [saturation.n_without_failures if saturation else None for saturation in saturations]
    )
    daily = zip(_daily(most), _daily(safe), strict=True)
    best = tuple(
        Best(curve_key, len(side.numbers(curve_key)), saturation, at_most.gigabases if at_most else None, *of_side)
        if curve_key and saturation
        else None
        for side, curve_key, saturation, at_most, of_side in zip(sides, match, saturations, most, daily, strict=True)
    )
    return BestRows(match, _shared(sides, match), same_size(most), best)


def _measured_at(sides: Sequence[Side], match: Match, numbers: Sequence[int | None]) -> list[Measured | None]:
    """Return what each side came to at an N of its own."""
    return [
        None if curve_key is None or n is None else side.points[Point(curve_key, n)]
        for side, curve_key, n in zip(sides, match, numbers, strict=True)
    ]


def _daily(measured: Sequence[Measured | None]) -> list[dict[Figure, Daily]]:
    daily: list[dict[Figure, Daily]] = [{} for _ in measured]
    for figure in (GENOMES, GIGABASES, HUMAN):
        for of_side, result, to_first in zip(daily, measured, _to_first(figure, measured), strict=True):
            if result is not None:
                of_side[figure] = Daily(result.estimate(figure), to_first)
    return daily
