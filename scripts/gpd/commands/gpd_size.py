"""`gpd size`: how many nodes so many genomes take, from studies, rehearsals and published results."""

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpd.commands.subcommands import Terminal, say
from gpd.errors import GpdError

if TYPE_CHECKING:
    from gpd.sizing.machine import Machine

PERIODS = {"day": 1, "week": 7, "month": 365.25 / 12, "year": 365.25}  # days
TIMES = {"m": 1 / 60, "h": 1, "d": 24}  # hours


def _number(option: str, zero: bool = False) -> Callable[[str], float]:
    """Return what reads a number above zero, or from zero on."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (value > 0 or (zero and value == 0)) or math.isinf(value):
            raise GpdError(f"{option} {text}: a number {'of 0 or more' if zero else 'above 0'} is needed")
        return value

    return read


def _genomes_per_week(text: str) -> float:
    count, _, period = (part.strip() for part in text.partition("/"))
    if (period or "week") not in PERIODS:
        raise GpdError(f"--genomes {text}: not as 200/week; a period is one of {', '.join(PERIODS)}")
    return _number("--genomes")(count) * PERIODS["week"] / PERIODS[period or "week"]


def _hours(text: str) -> float:
    number, unit = text.strip()[:-1].strip(), text.strip()[-1:]
    if unit not in TIMES or not number.replace(".", "", 1).isdecimal():
        raise GpdError(f"--deadline {text}: a time as 24h, 90m or 2d is needed")
    return _number("--deadline")(number) * TIMES[unit]


def _whole(text: str) -> int:
    number = _number("--nodes")(text)
    if number != int(number):
        raise GpdError(f"--nodes {text}: a whole number from 1 is needed")
    return int(number)


def _option(read: Callable, description: str) -> typer.models.OptionInfo:
    return typer.Option(parser=read, metavar="<str>", help=description)


Genomes = Annotated[float, _option(_genomes_per_week, "How many, as 200/week; or a day, month, year.")]
Depth = Annotated[float, _option(_number("--depth"), "Their depth, x.")]
Studies = Annotated[list[Path] | None, typer.Option(help="A study's folder or package, or registry:NAME (repeatable).")]
Published = Annotated[
    list[str] | None,
    typer.Option(help="A SKU of published results (repeatable). Default without a study or a rehearsal: all."),
]
Rehearsals = Annotated[
    list[Path] | None,
    typer.Option(help="The record of a rehearsal (repeatable): any depth, extrapolated.", exists=True, dir_okay=False),
]
Deadline = Annotated[float | None, _option(_hours, "What a batch of N samples may take, as 24h, 90m, 2d.")]
Nodes = Annotated[int | None, _option(_whole, "How many nodes there are.")]
Watts = Annotated[float | None, _option(_number("--watts"), "What a node draws, at the wall.")]
PricePerHour = Annotated[float | None, _option(_number("--price-per-hour", zero=True), "Of a node.")]
Prices = Annotated[
    Path | None,
    typer.Option(help="TSV with name (a study, a SKU) and price_per_hour.", exists=True, dir_okay=False),
]
Extrapolate = Annotated[
    bool, typer.Option("--extrapolate", help="Answer from samples of any size, by gigabases alone.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Html = Annotated[Path | None, typer.Option(help="Also write a page to this file.", dir_okay=False)]


def command(
    genomes: Genomes,
    depth: Depth = 30,
    study: Studies = None,
    published: Published = None,
    rehearsal: Rehearsals = None,
    deadline: Deadline = None,
    nodes: Nodes = None,
    watts: Watts = None,
    price_per_hour: PricePerHour = None,
    prices: Prices = None,
    extrapolate: Extrapolate = False,
    as_json: AsJson = False,
    html: Html = None,
) -> None:
    """Say how many nodes so many genomes take: hours, memory, disk, energy, money; intervals, and what limits.

    From what was measured of each machine, in its study or in published results, at an N that was run with samples of
    about the size that is asked for. Without such runs it says what to measure; --extrapolate answers all the same, and
    --rehearsal by what each rule took of a genome of full size and little depth.
    Several machines stand side by side.

    Example: gpd size --genomes 200/week --depth 30 --published 8358 --published 7763
    """
    from gpd.benchmark.registry import resolved
    from gpd.commands import size_display
    from gpd.packages.read import studies
    from gpd.sizing import cost
    from gpd.sizing.nodes_needed import Demand, size
    from gpd.sizing.published_machines import core_hours

    demand = Demand(genomes, depth, deadline, nodes)
    table = cost.read_prices(prices) if prices else {}
    with studies() as folder:  # of packages, until they are read
        measured = list(_of_studies([Path(side) for given in study or [] for side in resolved(str(given))], folder))
    machines = [
        *measured,
        *_of_rehearsals(rehearsal or [], demand.gigabases),
        *_of_published(published or [], bool(study or rehearsal)),
    ]
    sizings = [
        size(demand, machine, watts, cost.price_of(machine, price_per_hour, table), extrapolate) for machine in machines
    ]
    sources = core_hours()
    if html is not None:
        html.write_text(size_display.to_html(sizings, sources), encoding="utf-8")
    if as_json:
        say(size_display.to_json(sizings, sources))
    else:
        size_display.show(sizings, sources, Terminal(width=max(Terminal().width, 140)))


def _of_studies(paths: Sequence[Path], folder: Callable[[Path], Path]) -> Iterator["Machine"]:
    """The machines of studies, or of packages, each by its name; `folder` gives where a study is."""
    from gpd.sizing import study_machine
    from gpd.tables import collect

    names = [folder(path).resolve().name for path in paths]
    for path, name in zip(paths, names, strict=True):
        yield study_machine.machine(name if names.count(name) == 1 else str(path), collect.of_one_machine(folder(path)))


def _of_rehearsals(records: Sequence[Path], gigabases: float) -> Iterator["Machine"]:
    from gpd.sizing import rehearsal_machine

    for path in records:
        yield rehearsal_machine.machine(str(path), rehearsal_machine.read(path), gigabases)


def _of_published(skus: Sequence[str], measured: bool) -> list["Machine"]:
    from gpd.sizing import published_machines

    if not skus and measured:
        return []
    made = published_machines.machines()
    names = [sku.removeprefix(published_machines.PREFIX) for sku in skus] or list(made)
    if unknown := [name for name in names if name not in made]:
        raise GpdError(f"--published {', '.join(unknown)}: curves were published of {', '.join(made)}")
    return [made[name] for name in names]
