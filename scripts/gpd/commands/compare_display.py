"""A comparison on the terminal, as JSON and as a page."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console

from gpd.commands.subcommands import print_grids, print_lines
from gpd.comparison.comparability import Difference, grouped
from gpd.comparison.compare import ComparedConfiguration, Comparison
from gpd.comparison.comparison_grids import grids
from gpd.comparison.nodes import described
from gpd.comparison.results import A_CORE, GENOMES, GIGABASES, HUMAN, Metric, Side
from gpd.comparison.verdict import verdict
from gpd.reports.scope import scopes

NAME_SKUS = "steps of published results: name SKUs, as published:8352Y, instead of published"
METHOD = (
    "Ratio: to the first side that is like it, with its 95% confidence interval (CI), which takes two repeats of each."
    " Where repeats drew the same samples they are paired: the geometric mean of the ratios by repeat, and the interval"
    " of their logarithms; else the ratio of the means. Mean \u00b1 half-width of its 95% interval over repeats"
    " (Student's t; of two repeats there is hardly one). A gigabase: of the samples that succeeded. Elapsed step time"
    " is from a step's first start to its last end over all samples, summed step time the sum over its jobs."
)


def show(compared: Comparison, console: Console, overview: bool = False) -> None:
    """Print the verdict, what spoils it, tables, and how to read them."""
    print_lines(console, [*verdict(compared), "", *spoils(compared)])
    for grid in grids(compared, console.width, overview):
        console.print()
        print_grids(console, [grid])
    print_lines(console, ["", *notes(compared, overview), METHOD])


def notes(compared: Comparison, overview: bool) -> list[str]:
    """What else is to be known."""
    return [*compared.notes, *scopes(compared.sides), *([NAME_SKUS] if overview else [])]


def spoils(compared: Comparison) -> list[str]:
    """What differs, and what else weakens the figures."""
    differing = (f"differs: {difference}" for difference in grouped(compared.differences))
    return list(dict.fromkeys([*differing, *compared.spoils]))


def to_html(compared: Comparison, overview: bool = False) -> str:
    """Return it as a page, with figures."""
    from gpd.reports.comparison_page import comparison_page
    from gpd.reports.page import Section, render

    method = Section("How to read it", text=METHOD, lines=tuple(notes(compared, overview)))
    return render(comparison_page(compared, verdict(compared), spoils(compared), method, overview))


def to_json(compared: Comparison) -> str:
    """Return the comparison as JSON, without figures where it was refused; unknown is null, times in s and h."""
    shown = not compared.refused
    document = {
        "comparable": shown,
        "refused": [_difference(difference) for difference in compared.refused],
        "differences": [_difference(difference) for difference in compared.differences],
        "verdict": verdict(compared) if shown else [],
        "notes": [*compared.spoils, *compared.notes],
        "sides": [_side(side) for side in compared.sides],
        "configurations": [_configuration(one) for one in compared.configurations if shown],
        "best": [_best(one, compared.sides) for one in compared.best if shown],
    }
    return json.dumps(document, indent=2, ensure_ascii=False, default=asdict)


def _difference(difference: Difference) -> dict:
    values = [{"value": value, "in": names} for value, names in difference.holders.items()]
    return {"name": difference.name, "detail": difference.detail or None, "values": values}


def _side(side: Side) -> dict:
    machine = {"processors": side.processors, "skus": side.skus, "cores": side.cores}
    node = side.node and described(side.node)
    return {"name": side.name, "study": side.study or None, "published": side.published, **machine, "node": node}


def _configuration(shown: ComparedConfiguration) -> dict:
    counts = {
        name: {
            "repeats": results.repeats,
            "failed": results.observation.failed,
            "gigabases_per_sample": results.gigabases,
        }
        for name, results in shown.results.items()
    }
    figures = [
        {"figure": metric.column, "step": metric.step or None, "sides": _values(shown, metric)}
        for metric in shown.metrics
    ]
    return {**asdict(shown.common), "n": shown.n, "sides": counts, "figures": figures}


def _values(shown: ComparedConfiguration, metric: Metric) -> dict[str, dict]:
    return {
        name: {**asdict(results.estimate(metric)), "ratio": shown.ratio(name, metric)}
        for name, results in shown.results.items()
    }


def _best(best: ComparedConfiguration, sides: Sequence[Side]) -> dict:
    figures = {metric.column: _values(best, metric) for metric in (GENOMES, A_CORE, GIGABASES, HUMAN)}
    of_sides = {}
    for side in sides:
        if side.name in best.match:
            curve = best.match[side.name]
            saturation = side.saturation(curve)
            own = {column: values[side.name] for column, values in figures.items() if side.name in values}
            of_sides[side.name] = {"curve": curve, "best_n": saturation.best_n, "saturation": saturation, "best": own}
    return {**asdict(best.common), "sides": of_sides}
