"""A comparison on the terminal, as JSON and as a page."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from gpd.comparison.comparability import Difference, grouped
from gpd.comparison.compare import Best, BestRows, Comparison, ConfigurationRows, Row
from gpd.comparison.compared import Side
from gpd.comparison.grids import Layout, grids
from gpd.comparison.nodes import described
from gpd.statistics.estimates import Estimate, Ratio
from gpd.text.grid import rich_table

METHOD = (
    "Mean \u00b1 standard error over repeats. Ratio: of the means, to those of the first side, with its 95% confidence"
    " interval (CI), which takes two repeats of each. A gigabase: of the samples that succeeded. Elapsed step time is"
    " from a step's first start to its last end over all samples, summed step time the sum over its jobs."
)


def _above(compared: Comparison) -> list[str]:
    """What has to be read before the tables."""
    return [*(f"differs: {difference}" for difference in grouped(compared.differences)), *compared.notes]


def show(compared: Comparison, layout: Layout, console: Console) -> None:
    """Print differences, tables, and how to read them."""
    for line in _above(compared):
        console.print(Text(line), soft_wrap=True)
    for grid in grids(compared, layout):
        console.print()
        console.print(rich_table(grid))
        for note in grid.notes:
            console.print(Text(note), soft_wrap=True)
    console.print()
    console.print(Text(METHOD), soft_wrap=True)


def to_html(compared: Comparison, layout: Layout) -> str:
    """Return it as a page, with figures."""
    from gpd.reports.comparison_page import comparison_page
    from gpd.reports.page import render

    return render(comparison_page(compared, layout, METHOD))


# ------------------------------------------------------------------------------------------------- JSON


def to_json(compared: Comparison) -> str:
    """Return the comparison as JSON, without figures where it was refused; unknown is null, times in s and h."""
    shown = not compared.refused
    described = {
        "comparable": shown,
        "refused": [_difference(difference) for difference in compared.refused],
        "differences": [_difference(difference) for difference in compared.differences],
        "notes": list(compared.notes),
        "sides": [_side(side) for side in compared.sides],
        "configurations": [_point(compared.sides, point) for point in compared.points if shown],
        "best": [_best(compared.sides, rows) for rows in compared.best if shown],
    }
    return json.dumps(described, indent=2, ensure_ascii=False)


def _difference(difference: Difference) -> dict:
    values = [{"value": value, "in": list(names)} for value, names in difference.holders.items()]
    return {"name": difference.name, "detail": difference.detail or None, "values": values}


def _side(side: Side) -> dict:
    machine = {"processors": list(side.processors), "skus": list(side.skus), "cores": list(side.cores)}
    node = side.node and described(side.node)
    return {"name": side.name, "study": side.study or None, "published": side.published, **machine, "node": node}


def _point(sides: Sequence[Side], point: ConfigurationRows) -> dict:
    counts = {
        side.name: {"repeats": result.repeats, "failed": result.failed, "gigabases_per_sample": result.gigabases}
        for side, result in zip(sides, point.measured, strict=True)
        if result is not None
    }
    rows = [_figure(sides, row) for row in point.rows]
    return {**asdict(point.shared), "n": point.n, "sides": counts, "figures": rows}


def _figure(sides: Sequence[Side], row: Row) -> dict:
    values = {
        side.name: _with_ratio(estimate, ratio)
        for side, estimate, ratio in zip(sides, row.estimates, row.ratios, strict=True)
        if estimate is not None
    }
    return {"figure": row.figure.column, "step": row.figure.step or None, "sides": values}


def _best(sides: Sequence[Side], rows: BestRows) -> dict:
    present = {side.name: best for side, best in zip(sides, rows.sides, strict=True) if best is not None}
    return {**asdict(rows.shared), "sides": {name: _best_of_side(best) for name, best in present.items()}}


def _best_of_side(best: Best) -> dict:
    figures = {
        name: {figure.column: _with_ratio(daily.estimate, daily.ratio) for figure, daily in at_best.items()}
        for name, at_best in (("most", best.most), ("safe", best.safe))
    }
    return {"curve": asdict(best.curve_key), "saturation": asdict(best.saturation), **figures}


def _with_ratio(estimate: Estimate, ratio: Ratio | None) -> dict:
    return {**asdict(estimate), "ratio": ratio and asdict(ratio)}
