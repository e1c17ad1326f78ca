"""A comparison on the terminal, as JSON and as a page."""

import json
from collections.abc import Mapping
from dataclasses import asdict

from rich.console import Console

from gpd.commands.subcommands import print_grids, print_lines
from gpd.comparison.comparability import Difference, grouped
from gpd.comparison.compare import BestRows, Comparison, ConfigurationRows, Row
from gpd.comparison.grids import Layout, grids
from gpd.comparison.nodes import described
from gpd.comparison.results import Side

METHOD = (
    "Mean \u00b1 half-width of its 95% interval over repeats (Student's t; of two repeats there is hardly one). Ratio:"
    " to the first side, with its 95% confidence interval (CI), which takes two repeats of each. Where repeats drew"
    " the same samples they are paired: the geometric mean of the ratios by repeat, and the interval of their"
    " logarithms; else the ratio of the means. A gigabase: of the samples that succeeded. Elapsed step time is from a"
    " step's first start to its last end over all samples, summed step time the sum over its jobs."
)


def show(compared: Comparison, layout: Layout, console: Console) -> None:
    """Print differences, tables, and how to read them."""
    print_lines(console, [*(f"differs: {difference}" for difference in grouped(compared.differences)), *compared.notes])
    for grid in grids(compared, layout):
        console.print()
        print_grids(console, [grid])
    print_lines(console, ["", METHOD])


def to_html(compared: Comparison, layout: Layout) -> str:
    """Return it as a page, with figures."""
    from gpd.reports.comparison_page import comparison_page
    from gpd.reports.page import render

    return render(comparison_page(compared, layout, METHOD))


def to_json(compared: Comparison) -> str:
    """Return the comparison as JSON, without figures where it was refused; unknown is null, times in s and h."""
    shown = not compared.refused
    document = {
        "comparable": shown,
        "refused": [_difference(difference) for difference in compared.refused],
        "differences": [_difference(difference) for difference in compared.differences],
        "notes": compared.notes,
        "sides": [_side(side) for side in compared.sides],
        "configurations": [_configuration(rows) for rows in compared.configurations if shown],
        "best": [_best(rows) for rows in compared.best if shown],
    }
    return json.dumps(document, indent=2, ensure_ascii=False, default=asdict)


def _difference(difference: Difference) -> dict:
    values = [{"value": value, "in": names} for value, names in difference.holders.items()]
    return {"name": difference.name, "detail": difference.detail or None, "values": values}


def _side(side: Side) -> dict:
    machine = {"processors": side.processors, "skus": side.skus, "cores": side.cores}
    node = side.node and described(side.node)
    return {"name": side.name, "study": side.study or None, "published": side.published, **machine, "node": node}


def _configuration(shown: ConfigurationRows) -> dict:
    counts = {
        name: {
            "repeats": results.repeats,
            "failed": results.observation.failed,
            "gigabases_per_sample": results.gigabases,
        }
        for name, results in shown.results.items()
    }
    figures = [
        {"figure": row.metric.column, "step": row.metric.step or None, "sides": _values(row)} for row in shown.rows
    ]
    return {**asdict(shown.common), "n": shown.n, "sides": counts, "figures": figures}


def _values(row: Row) -> Mapping[str, dict]:
    return {name: {**asdict(value), "ratio": row.ratios[name]} for name, value in row.estimates.items()}


def _best(shown: BestRows) -> dict:
    rows = {
        which: {row.metric.column: _values(row) for row in rows}
        for which, rows in (("best", shown.rows), ("most", shown.most))
    }
    sides = {
        name: {"curve": curve, "best_n": shown.saturations[name].best_n, "saturation": shown.saturations[name]}
        | {
            which: {column: values[name] for column, values in of.items() if name in values}
            for which, of in rows.items()
        }
        for name, curve in shown.match.items()
    }
    return {**asdict(shown.common), "sides": sides}
