"""`gpd size`: how many nodes so many genomes take, from studies and published figures."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpd.commands.subcommands import Terminal, say

if TYPE_CHECKING:
    from gpd.sizing.machine import Machine
    from gpd.sizing.nodes_needed import Asked, Need

PERIODS = {"day": 1, "week": 7, "month": 365.25 / 12, "year": 365.25}  # days
TIMES = {"m": 1 / 60, "h": 1, "d": 24}  # hours


@dataclass(frozen=True)
class Given:
    """What the command line says of machines and prices, as it was written."""

    studies: tuple[Path, ...]
    published: tuple[str, ...]
    watts: str | None
    price: str | None
    prices: Path | None


def command(
    genomes: Annotated[str, typer.Option(help="How many, as 200/week; or a day, month, year.")],
    depth: Annotated[str, typer.Option(help="Their depth, x.")] = "30",
    study: Annotated[list[Path] | None, typer.Option(help="A study's folder (repeatable).")] = None,
    published: Annotated[
        list[str] | None, typer.Option(help="A SKU of published figures (repeatable). Default without a study: all.")
    ] = None,
    deadline: Annotated[str | None, typer.Option(help="What a batch of N samples may take, as 24h, 90m, 2d.")] = None,
    nodes: Annotated[str | None, typer.Option(help="How many nodes there are.")] = None,
    watts: Annotated[str | None, typer.Option(help="What a node draws, at the wall.")] = None,
    carbon: Annotated[str | None, typer.Option(help="What a kWh emits, g CO2.")] = None,
    price_per_hour: Annotated[str | None, typer.Option(help="Of a node.")] = None,
    prices: Annotated[
        Path | None,
        typer.Option(help="TSV with name (a study, a SKU) and price_per_hour.", exists=True, dir_okay=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    html: Annotated[Path | None, typer.Option(help="Also write a page to this file.", dir_okay=False)] = None,
) -> None:
    """Say how many nodes so many genomes take: hours, memory, disk, energy, money; intervals, and what limits.

    From what was measured of each machine, in its study or in published figures, at an N that was run with samples of
    about the size that is asked for. Nothing is extrapolated: without such runs it says what to measure. Several
    machines stand side by side.

    Example: gpd size --genomes 200/week --depth 30 --published 8358 --published 7763
    """
    from gpd.commands import size_display
    from gpd.published import figures
    from gpd.sizing.sources import core_hours

    asked = _asked(genomes, depth, deadline, nodes, carbon)
    given = Given(tuple(study or ()), tuple(published or ()), watts, price_per_hour, prices)
    shown = size_display.Shown(answer(asked, given), core_hours(figures.read()))
    if html is not None:
        html.write_text(size_display.to_html(shown), encoding="utf-8")
    if as_json:
        say(size_display.to_json(shown))
    else:
        console = Terminal()
        size_display.show(shown, Terminal(width=max(console.width, 140)))


def answer(asked: "Asked", given: Given) -> list["Need"]:
    """What is needed of each machine, studies first. Raises GpdError."""
    from gpd.sizing import power
    from gpd.sizing.nodes_needed import need

    watts, price = _number("--watts", given.watts), _number("--price-per-hour", given.price, zero=True)
    table, tdp = power.read_prices(given.prices) if given.prices else {}, power.read_tdp()
    machines = [*_of_studies(given.studies), *_of_published(given.published, bool(given.studies))]
    return [
        need(asked, machine, power.power(machine, watts, tdp), power.price_of(machine, price, table))
        for machine in machines
    ]


def _of_studies(folders: Sequence[Path]) -> Iterator["Machine"]:
    from gpd.sizing import study
    from gpd.tables import collect

    names = [folder.resolve().name for folder in folders]
    for folder, name in zip(folders, names, strict=True):
        yield study.machine(name if names.count(name) == 1 else str(folder), collect.collect(folder))


def _of_published(skus: Sequence[str], has_studies: bool) -> list["Machine"]:
    from gpd.published import figures
    from gpd.sizing import published
    from gpd.sizing.nodes_needed import NeedError

    if not skus and has_studies:
        return []
    made = published.machines(figures.read())
    names = [sku.removeprefix(published.PREFIX) for sku in skus] or list(made)
    if unknown := [name for name in names if name not in made]:
        raise NeedError(f"--published {', '.join(unknown)}: curves were published of {', '.join(made)}")
    return [made[name] for name in names]


# ---- what was asked ----------------------------------------------------------------------------------------------


def _asked(genomes: str, depth: str, deadline: str | None, nodes: str | None, carbon: str | None) -> "Asked":
    from gpd.sizing.nodes_needed import Asked, NeedError

    count, _, period = genomes.partition("/")
    period = period.strip() or "week"
    if period not in PERIODS:
        raise NeedError(f"--genomes {genomes}: not as 200/week; a period is one of {', '.join(PERIODS)}")
    number = _number("--genomes", count)
    x = _number("--depth", depth)
    many = _number("--nodes", nodes)
    if many is not None and many != int(many):
        raise NeedError(f"--nodes {nodes}: a whole number from 1 is needed")
    return Asked(
        genomes_per_week=(number or 0.0) * PERIODS["week"] / PERIODS[period],
        depth=x or 0.0,
        deadline_h=_hours(deadline),
        nodes=None if many is None else int(many),
        carbon_g_per_kwh=_number("--carbon", carbon, zero=True),
    )


def _hours(text: str | None) -> float | None:
    from gpd.sizing.nodes_needed import NeedError

    if text is None:
        return None
    found = re.fullmatch(r"([0-9.]+)\s*([mhd])", text.strip())
    if not found:
        raise NeedError(f"--deadline {text}: a time as 24h, 90m or 2d is needed")
    return (_number("--deadline", found[1]) or 0.0) * TIMES[found[2]]


def _number(option: str, text: str | None, zero: bool = False) -> float | None:
    """Read a number above zero, or from zero on; None where none was given. Raises NeedError, a line."""
    from gpd.sizing.nodes_needed import NeedError

    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (value > 0 or (zero and value == 0)) or math.isinf(value):
        raise NeedError(f"{option} {text}: a number {'of 0 or more' if zero else 'above 0'} is needed")
    return value
