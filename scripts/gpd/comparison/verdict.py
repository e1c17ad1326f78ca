"""What a comparison comes to, in sentences: how much more a side does in a day, and which steps take as long."""

from collections.abc import Iterable, Iterator, Sequence
from math import isclose

from gpd.comparison.comparability import curve_name
from gpd.comparison.compare import ComparedConfiguration, Comparison
from gpd.comparison.results import A_CORE, A_GIGABASE, ELAPSED, GENOMES, GIGABASES, MEASURED, SUMMED, Metric, same_size
from gpd.pipelines import PIPELINES
from gpd.statistics.estimates import Estimate
from gpd.text.formats import listed, number, some

MOST_NAMED = 4  # sides without a ratio


def verdict(compared: Comparison) -> list[str]:
    """A sentence for each side that has a ratio, and one that names those that have none."""
    lines: list[str] = []
    for best in compared.best:
        own = [one for one in compared.configurations if one.match == best.match]
        curve = f"{curve_name(best.common)}: " if len(compared.best) > 1 else ""
        lines += [f"{curve}{line}" for line in _of_curve(best, own)]
    return list(dict.fromkeys(lines))


def _of_curve(best: ComparedConfiguration, configurations: Sequence[ComparedConfiguration]) -> Iterator[str]:
    """`configurations` are those of the curve at each N that two sides have."""
    alone: dict[str, None] = {}
    for name in dict.fromkeys(name for one in (best, *configurations) for name in one.results):
        common = [one for one in configurations if name in one.results and one.reference(name)]
        stands = best if name in best.results and best.reference(name) else common[-1] if common else None
        if stands is None:
            alone[name] = None
        else:
            yield _sentence(name, stands, common)
    first, *others = alone or [""]
    if others:
        have = "has" if len(others) == 1 else "have"
        yield f"{some(others, MOST_NAMED)} {have} no ratio to {first}: {_why(best, configurations, first, others)}"


def _sentence(name: str, stands: ComparedConfiguration, common: Sequence[ComparedConfiguration]) -> str:
    """How many times its reference's figure a day a side has, and in which steps they are equal within error."""
    first = stands.reference(name) or ""
    sized = same_size(stands.results[first], stands.results[name])
    metric = GENOMES if sized else GIGABASES
    ratio = stands.ratio(name, metric)
    if ratio is None or ratio.value is None:
        return f"{name} has no ratio to {first}: what a day gives, or the size of samples, is not recorded of both"
    daily = PIPELINES[stands.common.pipeline].daily if metric == GENOMES else "gigabases a day"
    numbers = stands.results[name].observation.n, stands.results[first].observation.n
    at = f"at N = {numbers[0]}" if numbers[0] == numbers[1] else f"each at its best N ({numbers[0]} and {numbers[1]})"
    line = f"{name} does {_times(ratio)} times {first}'s {daily}{_a_core(name, stands, ratio)}, {at}"
    if ratio.low is not None and ratio.high is not None and ratio.low <= 1 <= ratio.high:
        line += ", which is equal within error"
    at_one_n = [one for one in common if one.n == numbers[0]] or list(common[-1:])
    return "; ".join(filter(None, (line, *(_steps(name, one, numbers[0] == one.n) for one in at_one_n))))


def _a_core(name: str, stands: ComparedConfiguration, ratio: Estimate) -> str:
    """The ratio per core, where it is another."""
    a_core = stands.ratio(name, A_CORE)
    if a_core is None or a_core.value is None or ratio.value is None or isclose(a_core.value, ratio.value):
        return ""
    return f" ({number(a_core.value)} times per core)"


def _steps(name: str, at: ComparedConfiguration, is_named: bool) -> str:
    """The steps that take as long on both; nothing where none has an interval."""
    first = at.reference(name) or ""
    a_gigabase = not same_size(at.results[first], at.results[name])
    ratios = {}
    for clock in (SUMMED, ELAPSED):
        column = A_GIGABASE[clock] if a_gigabase else clock
        steps = [metric.step for metric in at.metrics if metric.column == column]
        ratios = {step: ratio for step in steps if (ratio := at.ratio(name, Metric(column, step))) and ratio.low}
        if ratios:
            break
    if not ratios:
        return ""
    equal = [step for step, ratio in ratios.items() if (ratio.low or 0) <= 1 <= (ratio.high or 0)]
    where = "" if is_named else f"at N = {at.n} "
    return f"{where}equal within error in {_named(equal)}" if equal else f"{where}no step is equal within error"


def _named(steps: Sequence[str]) -> str:
    return f"{'step' if len(steps) == 1 else 'steps'} {listed(steps)}"


def _times(ratio: Estimate) -> str:
    if ratio.low is None or ratio.high is None:
        return f"{number(ratio.value)} (no interval)"
    return f"{number(ratio.value)} ({number(ratio.low)} to {number(ratio.high)})"


def _why(
    best: ComparedConfiguration, configurations: Iterable[ComparedConfiguration], first: str, others: Sequence[str]
) -> str:
    """Why these sides have no ratio to the first."""
    results = {name: own for one in (*configurations, best) for name, own in one.results.items()}
    kinds = {results[name].kind for name in others if name in results}
    if kinds - {results[first].kind}:
        return (
            "tools, inputs and mode of what was published are others than those of what was measured here"
            if MEASURED in {*kinds, results[first].kind}
            else "the published runs of one sample alone had other cores a step than those of several"
        )
    return "they have no N in common"
