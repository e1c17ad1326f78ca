"""`gpd compare`: studies and published figures side by side, on the terminal, as Markdown and as JSON."""

import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gpd import published, reference
from gpd.comparison.comparability import ALLOWABLE, Difference
from gpd.comparison.compare import Best, BestRows, CompareError, Comparison, PointRows, Row, compare
from gpd.comparison.compare_grids import Grid, grids, knees
from gpd.comparison.sides import Side, published_side, study_side
from gpd.reports.formats import markdown
from gpd.tables import collect
from gpd.tables.estimates import Estimate, Ratio

PUBLISHED = "published"
DONE, REFUSED, UNUSABLE = 0, 1, 2  # exit codes
METHOD = (
    "Mean \u00b1 standard error over repeats. Ratio: of the means, to the first column's, with its 95% confidence"
    " interval (CI), which takes two repeats of each. Barrier time is from a step's first start to its last end over"
    " all samples, busy time the sum over its jobs."
)


class SideError(ValueError):
    """An argument that can't be compared; the message is one line."""


def run(
    names: Sequence[str], allow: Collection[str], console: Console, as_json: bool = False, report: Path | None = None
) -> int:
    """Compare studies (folders), `published` or `published:SKU`; `report` gets Markdown. Returns the exit code.

    0: compared; 1: not comparable, and why; 2: an argument that is no study, or nothing in it.
    """
    try:
        compared = compare(read_sides(names), _checked(allow))
        if report is not None and not compared.refused:
            report.write_text(to_markdown(compared), encoding="utf-8")
    except CompareError as error:
        return _fail(REFUSED, str(error).splitlines())
    except (SideError, collect.CollectError, published.PublishedError, OSError) as error:
        return _fail(UNUSABLE, [str(error)])
    if as_json:
        typer.echo(to_json(compared))
    if compared.refused:
        return _fail(REFUSED, [f"not comparable: {one}; --allow {one.name}" for one in compared.refused])
    if not as_json:
        show(compared, console)
    return DONE


def _fail(code: int, lines: Sequence[str]) -> int:
    for line in lines:
        typer.echo(f"gpd compare: {line}", err=True)
    return code


def _checked(allow: Collection[str]) -> Collection[str]:
    if unknown := [name for name in allow if name not in ALLOWABLE]:
        raise SideError(f"--allow {', '.join(unknown)}: what may differ is {', '.join(ALLOWABLE)}")
    return allow


# ---------------------------------------------------------------------------------------------- reading


def read_sides(names: Sequence[str]) -> list[Side]:
    """Read what is to be compared, in order. Raises SideError, and as collect() and published.read() do."""
    folders = [Path(name) for name in names if not _is_published(name)]
    clashing = Counter(folder.resolve().name for folder in folders)
    sides: list[Side] = []
    for name in names:
        if _is_published(name):
            sides += _read_published(name)
        else:
            alone = clashing[Path(name).resolve().name] == 1
            sides.append(_read_study(Path(name), Path(name).resolve().name if alone else name))
    if twice := [name for name, count in Counter(side.name for side in sides).items() if count > 1]:
        raise SideError(f"{', '.join(twice)}: named twice")
    if len(sides) < 2:
        raise SideError("two at least are needed: folders of studies, published or published:SKU")
    return sides


def _is_published(name: str) -> bool:
    return name.partition(":")[0] == PUBLISHED


def _read_published(name: str) -> list[Side]:
    series = reference.series(published.read())
    sku = name.partition(":")[2]
    if sku and sku not in (known := [one.sku for one in series]):
        raise SideError(f"{name}: the SKUs are {', '.join(known)}")
    return [published_side(one) for one in series if sku in ("", one.sku)]


def _read_study(folder: Path, name: str) -> Side:
    if not (folder / "study.json").is_file() and not any(folder.glob("*/cell.json")):
        raise SideError(f"{folder}: not a study: no study.json and no cell in it; name the folder of a study")
    side = study_side(name, collect.collect(folder))
    if not side.points:
        raise SideError(f"{folder}: no finished cell but warm-ups; 'gpd throughput run' goes on where it stopped")
    return side


# ------------------------------------------------------------------------------------------------- show


def _above(compared: Comparison) -> list[str]:
    """What has to be read before the tables."""
    return [*(f"differs: {one}" for one in compared.differences), *compared.notes]


def show(compared: Comparison, console: Console) -> None:
    """Print differences, tables, and how to read them."""
    for line in _above(compared):
        console.print(Text(line), soft_wrap=True)
    for grid in grids(compared):
        console.print()
        console.print(_rich(grid))
    for line in ("", *knees(compared), METHOD):
        console.print(Text(line), soft_wrap=True)


def _rich(grid: Grid) -> Table:
    table = Table(title=Text(grid.caption), title_justify="left")
    for at, head in enumerate(grid.heads):
        table.add_column(Text(head), justify="right" if at else "left", no_wrap=not at, overflow="fold")
    for title, rows in grid.groups:
        table.add_section()
        if title:
            table.add_row(Text(title, "italic"))
        for row in rows:
            table.add_row(*map(Text, row))
    return table


def to_markdown(compared: Comparison) -> str:
    """Return what show() prints as Markdown."""
    parts = ["# Comparison", _list(_above(compared))]
    for grid in grids(compared):
        parts += [f"## {markdown(grid.caption)}", _markdown_table(grid)]
    parts += ["## How to read it", _list(knees(compared)), METHOD]
    return "\n\n".join(filter(None, parts)) + "\n"


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {markdown(line)}" for line in lines)


def _markdown_table(grid: Grid) -> str:
    width = len(grid.heads)
    lines = [f"| {' | '.join(map(markdown, grid.heads))} |", f"| {' | '.join(['---', *['---:'] * (width - 1)])} |"]
    for title, rows in grid.groups:
        if title:
            lines.append(f"| *{markdown(title)}* |{'  |' * (width - 1)}")
        lines += [f"| {' | '.join(map(markdown, row))} |" for row in rows]
    return "\n".join(lines)


# ------------------------------------------------------------------------------------------------- JSON


def to_json(compared: Comparison) -> str:
    """Return the comparison as JSON, without figures where it was refused; unknown is null, times in s and h."""
    shown = not compared.refused
    described = {
        "comparable": shown,
        "refused": [_difference(one) for one in compared.refused],
        "differences": [_difference(one) for one in compared.differences],
        "notes": list(compared.notes),
        "sides": [_side(side) for side in compared.sides],
        "points": [_point(compared.sides, point) for point in compared.points if shown],
        "best": [_best(compared.sides, rows) for rows in compared.best if shown],
    }
    return json.dumps(described, indent=2, ensure_ascii=False)


def _difference(one: Difference) -> dict:
    values = [{"value": value, "in": list(names)} for value, names in one.holders.items()]
    return {"name": one.name, "detail": one.detail or None, "values": values}


def _side(side: Side) -> dict:
    return {"name": side.name, "published": side.published, "skus": list(side.skus), "cores": list(side.cores)}


def _point(sides: Sequence[Side], point: PointRows) -> dict:
    series = asdict(point.point.series)
    counts = {
        side.name: {"repeats": one.repeats, "failed": one.failed}
        for side, one in zip(sides, point.measured, strict=True)
        if one is not None
    }
    return {**series, "n": point.point.n, "sides": counts, "figures": [_figure(sides, row) for row in point.rows]}


def _figure(sides: Sequence[Side], row: Row) -> dict:
    values = {
        side.name: _with_ratio(one, quotient)
        for side, one, quotient in zip(sides, row.estimates, row.ratios, strict=True)
        if one is not None
    }
    return {"figure": row.figure.column, "step": row.figure.step or None, "sides": values}


def _best(sides: Sequence[Side], rows: BestRows) -> dict:
    found = {side.name: best for side, best in zip(sides, rows.sides, strict=True) if best is not None}
    return {**asdict(rows.series), "sides": {name: _best_of_side(best) for name, best in found.items()}}


def _best_of_side(best: Best) -> dict:
    daily = {
        name: {figure.column: _with_ratio(one.estimate, one.ratio) for figure, one in found.items()}
        for name, found in (("most", best.most), ("safe", best.safe))
    }
    return {"series": asdict(best.series), "knee": asdict(best.knee), **daily}


def _with_ratio(one: Estimate, quotient: Ratio | None) -> dict:
    return {**asdict(one), "ratio": quotient and asdict(quotient)}
