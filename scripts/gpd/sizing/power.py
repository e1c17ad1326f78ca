"""What a node draws, and what follows from it: energy, carbon and money.

Energy = watts x hours, for the whole makespan as if all cores were busy. Carbon = energy x what a kilowatt-hour of
the grid emits, as in Green Algorithms (Lannelongue et al., Advanced Science 8:2100707, 2021): that method also counts
the cooling of the building (PUE), which nobody measured here; multiply `--watts` by it where you know it.

Watts, the first that there is: what was given for a node (`--watts`), what its own counters said of packages and memory
while all cores were busy (node.json), or the processors' thermal design power, which tells neither memory nor disks,
fans and power supplies.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpd.errors import GpdError
from gpd.published.curves import FOLDER, read_table
from gpd.sizing.machine import Machine
from gpd.text.formats import counted

PRICE_COLUMNS = ("name", "price_per_hour")


@dataclass(frozen=True)
class Power:
    """Watts of a node, and what they are of."""

    watts: float
    source: str


def read_tdp() -> dict[str, float]:
    """Watts of one processor by SKU."""
    return {row["sku"]: float(row["watts"]) for row in read_table(FOLDER, "tdp")}


def power(machine: Machine, watts: float | None, tdp: Mapping[str, float]) -> Power | None:
    """What a node of this kind draws; None: not known."""
    if watts is not None:
        return Power(watts, "given")
    if machine.watts is not None:
        return Power(machine.watts, "counters of packages and memory, all cores busy (gpd node)")
    known = [tdp[sku] for sku in machine.skus if sku in tdp]
    if len(known) == 1 and machine.sockets:
        return Power(known[0] * machine.sockets, f"TDP of {counted(machine.sockets, 'processor')} alone")
    return None


def read_prices(path: Path) -> dict[str, float]:
    """Prices of a node's hour from a TSV with the columns `name` (a study, or a SKU) and `price_per_hour`.

    Raises GpdError, and OSError.
    """
    prices = {}
    with path.open(encoding="utf-8", newline="") as lines:
        reader = csv.DictReader(lines, delimiter="\t")
        if missing := [column for column in PRICE_COLUMNS if column not in (reader.fieldnames or ())]:
            header = " and ".join(PRICE_COLUMNS)
            raise GpdError(f"{path}: no column {', '.join(missing)}; it has a header with {header}")
        for row in reader:
            try:
                prices[row["name"]] = float(row["price_per_hour"] or "")
            except ValueError:
                text = row["price_per_hour"] or ""
                raise GpdError(f"{path} line {reader.line_num}: price_per_hour is no number: {text}") from None
            if not 0 <= prices[row["name"]] < float("inf"):
                text = row["price_per_hour"]
                raise GpdError(f"{path} line {reader.line_num}: price_per_hour must be 0 or more, and is {text}")
    return prices


def price_of(machine: Machine, price: float | None, prices: Mapping[str, float]) -> float | None:
    """What an hour of a node costs: by the machine's name, by its SKU, or the one price for all."""
    names = (machine.name, machine.name.removeprefix("published:"), *machine.skus)
    return next((prices[name] for name in names if name in prices), price)
