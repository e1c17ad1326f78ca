"""`gpd published show` and `gpd published check`: figures of others as tables and as JSON."""

import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gpd.commands.verbs import Terminal, Verbs, say
from gpd.published.figures import (
    FIGURES,
    SINGLE,
    STEPS,
    THROUGHPUT,
    Figure,
    PublishedRun,
    Recomputed,
    Statement,
    figures,
    half_unit,
    read,
    read_statements,
    skus,
)
from gpd.text.formats import counted

TITLES = {
    THROUGHPUT: "throughput",
    SINGLE: "one sample",
    "total_hours": "total hours",
    "genomes_per_day": "genomes a day",
}

app = typer.Typer(cls=Verbs, no_args_is_help=True, help="Look at figures that others published, and check them.")


@app.command()
def show(
    sku: Annotated[list[str] | None, typer.Option(help="A CPU's tables (repeatable). Default: list the CPUs.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show published runtimes a step, with totals and genomes a day recomputed from them; or which CPUs there are.

    Example: gpd published show --sku 7763
    """
    runs, statements = read(), read_statements()
    if unknown := [name for name in sku or [] if name not in skus(runs)]:
        raise typer.BadParameter(f"{', '.join(unknown)}: the SKUs are {', '.join(skus(runs))}")
    if as_json:
        say(runs_to_json(run for run in runs if not sku or run.sku in sku))
    elif sku:
        for name in sku:
            show_sku(name, runs, statements, Terminal())
    else:
        show_skus(runs, Terminal())


@app.command()
def check(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Recompute every published total and genomes-a-day figure from its rows, and list those that do not follow.

    They are others' figures: the exit code is 0 also where some do not follow, and 2 where the tables are broken.

    Example: gpd published check
    """
    printed = figures(read())
    if as_json:
        say(check_to_json(printed))
    else:
        show_check(printed, Terminal())


# ------------------------------------------------------------------------------------------------ check

RULE = """\
What rounding explains is let pass: half a unit of the last digit for each step (0.005 h of 0.01 h, 0.045 h over nine),
carried over to genomes a day, and half a unit of the printed figure itself."""
FINDING = ("table", "SKU", "N", "figure", "printed", "follows", "difference", "could be")
WORDS = {"table", "SKU", "figure", "published", "step, hours"}  # columns that are no numbers


def show_check(printed: Sequence[Figure], console: Console) -> None:
    """Print the figures that do not follow from their rows, and those that can't be recomputed."""
    wrong = [figure for figure in printed if figure.follows is False]
    console.print(Text(verdict(printed)), soft_wrap=True)
    if wrong:
        table = _table(*FINDING, box=None, pad_edge=False, header_style="bold")
        for figure in wrong:
            table.add_row(*map(Text, _finding(figure)))
        console.print(table)
    for figure in printed:
        if figure.follows is None:
            said = f"not recomputed, as rows or failed samples are missing: {_name(figure)}, printed {figure.printed}"
            console.print(Text(said), soft_wrap=True)
    console.print(Text(RULE), soft_wrap=True)


def verdict(printed: Sequence[Figure]) -> str:
    """Say how many figures were recomputed, and how many of them do not follow."""
    known = [figure.follows for figure in printed if figure.follows is not None]
    wrong = known.count(False)
    outcome = "all follow" if known else "nothing to check"
    if wrong:
        outcome = f"{wrong} {'does' if wrong == 1 else 'do'} not follow"
    return f"{counted(len(known), 'printed figure')} recomputed from the steps' hours and the failed samples: {outcome}"


def _finding(figure: Figure) -> list[str]:
    run = figure.run
    cells = [TITLES[run.table], run.sku, str(run.n_samples), TITLES[figure.name]]
    difference = "" if figure.difference is None else f"{figure.difference:+.2f}"
    could_be = "" if figure.recomputed is None else _span(figure.recomputed, figure.printed)
    return [*cells, str(figure.printed), _rounded(figure.recomputed), difference, could_be]


def _span(recomputed: Recomputed, printed: Decimal) -> str:
    """Return the first and the last number, of as many digits as `printed`, that would follow."""
    low = max(recomputed.low - half_unit(printed), Decimal(0)).quantize(printed, ROUND_CEILING)
    high = (recomputed.high + half_unit(printed)).quantize(printed, ROUND_FLOOR)
    return f"{low}-{high}"


def _name(figure: Figure) -> str:
    run = figure.run
    return f"{TITLES[figure.name]}, {run.sku}, N = {run.n_samples} ({TITLES[run.table]})"


def check_to_json(printed: Sequence[Figure]) -> str:
    """Return how many figures follow, and those that do not or can't be recomputed, as JSON."""
    described = {
        "follow": sum(figure.follows is True for figure in printed),
        "do_not_follow": [_described(figure) for figure in printed if figure.follows is False],
        "not_recomputed": [_described(figure) for figure in printed if figure.follows is None],
    }
    return json.dumps(described, indent=2)


def _described(figure: Figure) -> dict:
    run, recomputed = figure.run, figure.recomputed
    return {
        "table": run.table,
        "sku": run.sku,
        "n_samples": run.n_samples,
        "n_failed": run.n_failed,
        "figure": figure.name,
        "printed": float(figure.printed),
        "follows": _float(recomputed.value if recomputed else None),
        "difference": _float(figure.difference),
    }


# ------------------------------------------------------------------------------------------------ show


def show_skus(runs: Sequence[PublishedRun], console: Console) -> None:
    """Print a row a SKU: what was published of it."""
    table = _table("SKU", "published", "cores a socket", "GHz", "one, hours", "samples at once")
    for sku in skus(runs):
        own = [run for run in runs if run.sku == sku]
        alone = [run for run in own if run.table == SINGLE]
        together = ", ".join(str(run.n_samples) for run in own if run.table == THROUGHPUT)
        dates = ", ".join(sorted({run.published for run in own if run.published}))
        cells = [(_text(run.cores_per_socket), _text(run.base_ghz), _rounded(run.total_hours)) for run in alone]
        table.add_row(*map(Text, (sku, dates, *(cells[0] if cells else ("", "", "")), together)))
    console.print(table)


def show_sku(sku: str, runs: Sequence[PublishedRun], statements: Sequence[Statement], console: Console) -> None:
    """Print the published tables of a SKU, totals and genomes a day recomputed from the steps."""
    together = [run for run in runs if (run.sku, run.table) == (sku, THROUGHPUT)]
    alone = [run for run in runs if (run.sku, run.table) == (sku, SINGLE)]
    if together:
        console.print(Text(", ".join(filter(None, (together[0].cpu, together[0].server, together[0].published)))))
        console.print(_step_table(together, [(f"N = {run.n_samples}", run.hours) for run in together]))
    for run in alone:
        console.print(Text(f"{sku}, one sample, cores given to each step, {_text(run.published)}"))
        console.print(_step_table([run], [("cores", run.cores_used), ("hours", run.hours)]))
    for figure in figures([*together, *alone]):
        if figure.follows is False and figure.recomputed:
            said = f"{_name(figure)}: printed {figure.printed}, {_rounded(figure.recomputed)} follows from the steps"
            console.print(Text(said), soft_wrap=True)
    for statement in statements:
        if statement.sku == sku:
            console.print(Text(_stated(statement)), soft_wrap=True)


def _stated(statement: Statement) -> str:
    return f"Tuxedo pipeline, {statement.published}, {statement.platform}: {statement.statement}"


def _step_table(runs: Sequence[PublishedRun], columns: Sequence[tuple[str, Mapping[str, object]]]) -> Table:
    """A row a step; below them what each run came to, under its last column."""
    table = _table("step, hours", *(name for name, _ in columns))
    for step in STEPS.values():
        table.add_row(step, *(_text(values.get(step)) for _, values in columns))
    table.add_section()
    blank = [""] * (len(columns) - len(runs))
    table.add_row("failed", *blank, *(_text(run.n_failed) for run in runs))
    table.add_row("total", *blank, *(_rounded(run.total_hours) for run in runs))
    table.add_row("genomes a day", *blank, *(_rounded(run.genomes_per_day) for run in runs))
    return table


def _table(*columns: str, **style: Any) -> Table:
    table = Table(**style)
    for column in columns:
        table.add_column(column, justify="left" if column in WORDS else "right", overflow="fold")
    return table


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _rounded(recomputed: Recomputed | None) -> str:
    return "" if recomputed is None else f"{recomputed.value:.2f}"


def runs_to_json(runs: Iterable[PublishedRun]) -> str:
    """Return runs with their hours a step, what was printed and what follows, as JSON; unknown is null."""
    return json.dumps([_run_described(run) for run in runs], indent=2)


def _run_described(run: PublishedRun) -> dict:
    recomputed = {name: run.recompute(name) for name in FIGURES}
    return {
        **{name: getattr(run, name) for name in ("table", "sku", "published", "server", "cpu", "cores_per_socket")},
        "base_ghz": _float(run.base_ghz),
        "n_samples": run.n_samples,
        "n_failed": run.n_failed,
        "hours": {step: _float(value) for step, value in run.hours.items()},
        "cores_used": dict(run.cores_used) or None,
        "printed": {name: _float(run.printed.get(name)) for name in FIGURES},
        "recomputed": {name: _float(value.value if value else None) for name, value in recomputed.items()},
    }


def _float(value: Decimal | None) -> float | None:
    return None if value is None else float(value)
