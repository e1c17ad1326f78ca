"""`gpd compare`: studies and published figures side by side, on the terminal, as Markdown and as JSON."""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gpd import published, reference
from gpd.comparison.comparability import ALLOWABLE, Difference, grouped
from gpd.comparison.compare import Best, BestRows, CompareError, Comparison, PointRows, Row, compare
from gpd.comparison.compare_grids import Grid, Layout, grids
from gpd.comparison.sides import Side, curves_of, published_side, study_side
from gpd.errors import GpdError
from gpd.lab.study import Series
from gpd.reports.formats import markdown
from gpd.tables import collect
from gpd.tables.estimates import Estimate, Ratio

PUBLISHED = "published"
PARTS = ("scheduled", "independent", "none", "compact", "scatter")  # modes and bindings: which part of a study
DONE, REFUSED = 0, 1  # exit codes
METHOD = (
    "Mean \u00b1 standard error over repeats. Ratio: of the means, to those of the first side, with its 95% confidence"
    " interval (CI), which takes two repeats of each. A gigabase: of the samples that succeeded. Barrier time is from a"
    " step's first start to its last end over all samples, busy time the sum over its jobs."
)


class SideError(GpdError):
    """An argument that can't be compared; the message is one line."""


def run(
    names: Sequence[str], allow: Collection[str], console: Console, as_json: bool = False, report: Path | None = None
) -> int:
    """Compare studies (folders), parts of them, `published` or `published:SKU`; `report` gets Markdown.

    Returns the exit code.

    0: compared; 1: not comparable, and why. Raises GpdError for an argument that is no study, or has nothing in it.
    """
    try:
        compared = compare(read_sides(names), _checked(allow))
        overview = PUBLISHED in names
        if report is not None and not compared.refused:
            report.write_text(to_markdown(compared, Layout(overview=overview)), encoding="utf-8")
    except CompareError as error:
        return _fail(REFUSED, str(error).splitlines())
    if as_json:
        typer.echo(to_json(compared))
    if compared.refused:
        return _fail(REFUSED, [f"not comparable: {one}; --allow {one.name}" for one in grouped(compared.refused)])
    if not as_json:
        show(compared, Layout(console.width, overview), console)
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


@dataclass(frozen=True)
class _Asked:
    """A study that was named, `name` is its own: which modes and bindings of it, none: all of them."""

    folder: Path
    name: str
    parts: tuple[str, ...]

    def has(self, series: Series) -> bool:
        return set(self.parts) <= {series.mode, series.binding}


def read_sides(names: Sequence[str]) -> list[Side]:
    """Read what is to be compared, in order. Raises SideError, and as collect() and published.read() do.

    A study that is the only one is compared within itself: each of its modes and bindings is a side.
    """
    studies = _named([name for name in names if not _is_published(name)])
    sides: list[Side] = []
    for name in names:
        if _is_published(name):
            sides += _read_published(name)
        else:
            sides += _read_study(studies[name], alone=len(studies) == 1)
    _check(sides)
    return sides


def _named(names: Sequence[str]) -> dict[str, _Asked]:
    """Return what was asked for by what was said; studies of one name are told apart by their folders."""
    asked = {name: _split(name) for name in names}
    if len(asked) < len(names):
        raise SideError(f"{', '.join(name for name, count in Counter(names).items() if count > 1)}: named twice")
    folders = Counter(folder.name for folder in {folder.resolve() for folder, _ in asked.values()})
    return {
        name: _Asked(folder, folder.resolve().name if folders[folder.resolve().name] == 1 else str(folder), parts)
        for name, (folder, parts) in asked.items()
    }


def _split(name: str) -> tuple[Path, tuple[str, ...]]:
    """Return the folder and the parts of it that a name such as `runs/study:scheduled:scatter` asks for."""
    head, *parts = name.split(":")
    while parts and parts[0] not in PARTS:  # a folder may have a colon in its name
        head = f"{head}:{parts.pop(0)}"
    return (Path(name), ()) if Path(name).is_dir() else (Path(head), tuple(parts))


def _check(sides: Sequence[Side]) -> None:
    if twice := [name for name, count in Counter(side.name for side in sides).items() if count > 1]:
        raise SideError(f"{', '.join(twice)}: named twice")
    for at, side in enumerate(sides):
        for other in sides[:at]:
            if side.study and side.study == other.study and set(side.curves) & set(other.curves):
                raise SideError(f"{other.name} and {side.name}: the same runs would be on both sides")
    if len(sides) < 2:
        modes = " with one mode and one binding" if sides else ""
        found = f", and this is a study{modes}" if sides and not sides[0].published else ""
        raise SideError(f"two at least are needed: folders of studies, published or published:SKU{found}")


def _is_published(name: str) -> bool:
    return name.partition(":")[0] == PUBLISHED


def _read_published(name: str) -> list[Side]:
    series = reference.series(published.read())
    sku = name.partition(":")[2]
    if sku and sku not in (known := [one.sku for one in series]):
        raise SideError(f"{name}: the SKUs are {', '.join(known)}")
    return [published_side(one) for one in series if sku in ("", one.sku)]


def _read_study(asked: _Asked, alone: bool) -> list[Side]:
    folder = asked.folder
    if not (folder / "study.json").is_file() and not any(folder.glob("*/cell.json")):
        raise SideError(f"{folder}: not a study: no study.json and no cell in it; name the folder of a study")
    tables = collect.collect(folder)
    found = curves_of(tables)
    if not found:
        raise SideError(f"{folder}: no finished cell but warm-ups; 'gpd throughput run' goes on where it stopped")
    curves = [series for series in found if asked.has(series)]
    if not curves:
        there = ", ".join(dict.fromkeys(f"{series.mode}:{series.binding}" for series in found))
        raise SideError(f"{folder}: no finished cell is {':'.join(asked.parts)}; there are {there}")
    whole = {":".join((asked.name, *asked.parts)): curves}
    parts = dict(_parts(asked.name, curves)) if alone else {}
    return [study_side(name, tables, of, asked.name) for name, of in (parts if len(parts) > 1 else whole).items()]


def _parts(study: str, curves: Sequence[Series]) -> Iterator[tuple[str, list[Series]]]:
    """Split a study's curves by mode and binding, under names that can be asked for."""
    kinds = list(dict.fromkeys((series.mode, series.binding) for series in curves))
    modes = Counter(mode for mode, _ in kinds)
    for mode, binding in kinds:
        name = ":".join((study, mode, *([binding] if modes[mode] > 1 else [])))
        yield name, [series for series in curves if (series.mode, series.binding) == (mode, binding)]


# ------------------------------------------------------------------------------------------------- show


def _above(compared: Comparison) -> list[str]:
    """What has to be read before the tables."""
    return [*(f"differs: {one}" for one in grouped(compared.differences)), *compared.notes]


def show(compared: Comparison, layout: Layout, console: Console) -> None:
    """Print differences, tables, and how to read them."""
    for line in _above(compared):
        console.print(Text(line), soft_wrap=True)
    for grid in grids(compared, layout):
        console.print()
        console.print(_rich(grid))
        for note in grid.notes:
            console.print(Text(note), soft_wrap=True)
    console.print()
    console.print(Text(METHOD), soft_wrap=True)


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


def to_markdown(compared: Comparison, layout: Layout) -> str:
    """Return what show() prints as Markdown."""
    parts = ["# Comparison", _list(_above(compared))]
    for grid in grids(compared, layout):
        parts += [f"## {markdown(grid.caption)}", _markdown_table(grid), _list(grid.notes)]
    parts += ["## How to read it", METHOD]
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
    machine = {"processors": list(side.processors), "skus": list(side.skus), "cores": list(side.cores)}
    return {"name": side.name, "study": side.study or None, "published": side.published, **machine}


def _point(sides: Sequence[Side], point: PointRows) -> dict:
    counts = {
        side.name: {"repeats": one.repeats, "failed": one.failed, "gigabases_per_sample": one.gigabases}
        for side, one in zip(sides, point.measured, strict=True)
        if one is not None
    }
    rows = [_figure(sides, row) for row in point.rows]
    return {**asdict(point.shared), "n": point.n, "sides": counts, "figures": rows}


def _figure(sides: Sequence[Side], row: Row) -> dict:
    values = {
        side.name: _with_ratio(one, quotient)
        for side, one, quotient in zip(sides, row.estimates, row.ratios, strict=True)
        if one is not None
    }
    return {"figure": row.figure.column, "step": row.figure.step or None, "sides": values}


def _best(sides: Sequence[Side], rows: BestRows) -> dict:
    found = {side.name: best for side, best in zip(sides, rows.sides, strict=True) if best is not None}
    return {**asdict(rows.shared), "sides": {name: _best_of_side(best) for name, best in found.items()}}


def _best_of_side(best: Best) -> dict:
    daily = {
        name: {figure.column: _with_ratio(one.estimate, one.ratio) for figure, one in found.items()}
        for name, found in (("most", best.most), ("safe", best.safe))
    }
    return {"series": asdict(best.series), "knee": asdict(best.knee), **daily}


def _with_ratio(one: Estimate, quotient: Ratio | None) -> dict:
    return {**asdict(one), "ratio": quotient and asdict(quotient)}
