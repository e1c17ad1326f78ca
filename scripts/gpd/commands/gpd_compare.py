"""`gpd compare`: studies and published results side by side."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from gpd.commands.subcommands import Terminal, say
from gpd.errors import GpdError

DONE, REFUSED = 0, 1  # exit codes


def command(
    sides: Annotated[
        list[str],
        typer.Argument(
            help="Studies (folders or packages), whole or a part as STUDY:shared; published or published:SKU; registry "
            "or registry:NAME.",
            metavar="A B ...",
        ),
    ],
    allow: Annotated[
        list[str] | None, typer.Option(help="What may differ nonetheless, such as inputs (repeatable).")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Also write a page to this file.", dir_okay=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Put studies, or packages of them, side by side: genomes a day, totals and steps, with ratios to the first.

    Ratios have 95% intervals.

    One study alone is compared within itself, mode against mode and binding against binding. `published` gives an
    overview of all published results, and published:SKU each step of one.

    Runs that differ in inputs, reference, tools, settings, binding or cache are refused with exit code 1, a line each;
    --allow names what may differ, which is then printed above the tables.

    Example: gpd compare runs/xeon runs/epyc published:7763
    """
    console = Terminal()
    console = Terminal(width=max(console.width, 120 if console.is_terminal else 140))  # no table is narrower
    raise typer.Exit(run(sides, set(allow or []), console, as_json, html))


def run(
    names: Sequence[str],
    allow: Collection[str],
    console: Console,
    as_json: bool = False,
    page: Path | None = None,
) -> int:
    """Compare sides; `page` gets HTML. Returns the exit code.

    0: compared; 1: not comparable, and why. Raises GpdError for an argument that is no study, or has nothing in it.
    """
    from gpd.benchmark.registry import label, resolved
    from gpd.commands import compare_display
    from gpd.comparison.comparability import ALLOWABLE, grouped
    from gpd.comparison.compare import CompareError, compare
    from gpd.comparison.reading import PUBLISHED, read_sides
    from gpd.packages.read import studies

    if unknown := [name for name in allow if name not in ALLOWABLE]:
        raise GpdError(f"--allow {', '.join(unknown)}: what may differ is {', '.join(ALLOWABLE)}")
    overview = PUBLISHED in names
    names = [side for name in names for side in resolved(name)]
    try:
        with studies() as folder:
            compared = compare(read_sides(names, folder, {name: label(name) for name in names}), allow)
    except CompareError as error:
        return _refuse(str(error).splitlines())
    if page is not None and not compared.refused:
        page.write_text(compare_display.to_html(compared, overview), encoding="utf-8")
    if as_json:
        say(compare_display.to_json(compared))
    if compared.refused:
        refused = grouped(compared.refused)
        lines = (f"not comparable: {difference}; --allow {difference.name}" for difference in refused)
        return _refuse(list(dict.fromkeys(lines)))
    if not as_json:
        compare_display.show(compared, console, overview)
    return DONE


def _refuse(lines: Sequence[str]) -> int:
    for line in lines:
        say(f"gpd compare: {line}", err=True)
    return REFUSED
