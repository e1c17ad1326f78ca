"""What a node draws, and what follows from it: energy and carbon.

Energy = watts x hours, for the whole makespan; but for watts over the runs as if all cores were busy. Carbon = energy x
what a kilowatt-hour of the grid emits, as in Green Algorithms (Lannelongue et al., Advanced Science 8:2100707, 2021):
that method also counts the cooling of the building (PUE), which nobody measured here; multiply `--watts` by it where
you know it.

Watts, the first that there is: what was given for a node (`--watts`), what its own counters of packages and memory said
over the runs (run.json), what they said while all cores were busy (node.json), or the processors' thermal design power,
which tells neither memory nor disks, fans and power supplies.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gpd.published.curves import FOLDER, read_table
from gpd.sizing.machine import Machine, Measured
from gpd.text.formats import counted

GIVEN = "given"


@dataclass(frozen=True)
class Power:
    """Watts of a node, and what they are of."""

    watts: float
    source: str


def read_tdp() -> dict[str, float]:
    """Watts of one processor by SKU."""
    return {row["sku"]: float(row["watts"]) for row in read_table(FOLDER, "tdp")}


def over_runs(power: Power | None, at: Measured) -> Power | None:
    """What counters said over the runs at this N, unless somebody knows better."""
    if at.watts is None or (power is not None and power.source == GIVEN):
        return power
    return Power(at.watts, "counters of packages and memory over the runs (RAPL)")


def power(machine: Machine, watts: float | None, tdp: Mapping[str, float]) -> Power | None:
    """What a node of this kind draws; None: not known."""
    if watts is not None:
        return Power(watts, GIVEN)
    if machine.watts is not None:
        return Power(machine.watts, "counters of packages and memory, all cores busy (gpd node)")
    known = [tdp[sku] for sku in machine.skus if sku in tdp]
    if len(known) == 1 and machine.sockets:
        return Power(known[0] * machine.sockets, f"TDP of {counted(machine.sockets, 'processor')} alone")
    return None
