"""The tables of a size, as text: what is needed, and what others published. Pure."""

from collections.abc import Callable, Sequence

from gpd.sizing.machine import Range
from gpd.sizing.nodes_needed import Need
from gpd.sizing.sources import CoreHours
from gpd.text.formats import counted, number
from gpd.text.grid import Entry, Grid, Group, Line

NOT_KNOWN = "not known"
DIGITS, WHOLE = 3, 1


def ranged(value: Range | None, digits: int = DIGITS) -> Entry:
    """A figure, and from where to where it may be."""
    if value is None:
        return Entry(NOT_KNOWN)
    ends = [number(end, digits) for end in (value.low, value.high)]
    return Entry(number(value.mid, digits), "" if value.low == value.high else f"({'-'.join(ends)})")


def _amount(value: float | None, unit: str = "") -> Entry:
    return Entry(NOT_KNOWN) if value is None else Entry(f"{number(value)}{unit}")


def need_grid(needs: Sequence[Need]) -> Grid:
    """A column a machine, a line a figure; money and energy only where somebody asked or knows."""
    lines: dict[str, Callable[[Need], Entry]] = {
        "cores": lambda one: Entry(str(one.machine.cores)),
        "samples at once (N)": lambda one: Entry(str(one.n)),
        "hours of N samples": lambda one: ranged(one.makespan_h),
        "genomes a day, a node": lambda one: ranged(one.genomes_per_day),
        "nodes needed": lambda one: ranged(one.nodes, WHOLE),
        "nodes counted with": lambda one: Entry(str(one.nodes_counted)),
        "days of these, in whole batches": lambda one: ranged(one.days),
        "core hours a genome": lambda one: ranged(one.core_hours),
        "CPU utilisation": lambda one: _amount(one.at.cpu_utilisation),
        "memory, GiB a node": lambda one: _amount(one.memory_gib),
        "scratch disk, GiB a node": lambda one: _amount(one.scratch_gib),
        "kept on disk, GiB a genome": lambda one: _amount(one.kept_gib),
        "shared file system, MiB/s a node": lambda one: ranged(one.network_mib_s),
        "watts a node": lambda one: _amount(one.power.watts if one.power else None),
        "energy, kWh a genome": lambda one: ranged(one.kwh),
        **({"CO2, kg a genome": lambda one: ranged(one.co2_kg)} if _any(needs, "carbon") else {}),
        **({"cost a genome": lambda one: ranged(one.cost)} if _any(needs, "cost") else {}),
        **({"cost a week": lambda one: ranged(_a_week(one, one.cost))} if _any(needs, "cost") else {}),
    }
    asked = needs[0].asked
    return Grid(
        caption=f"{asked.genomes_per_week:,.4g} genomes a week at {asked.depth:g}x",
        heads=("", *(one.machine.name for one in needs)),
        groups=(Group(tuple(Line(name, tuple(map(of, needs))) for name, of in lines.items())),),
    )


def _any(needs: Sequence[Need], what: str) -> bool:
    if what == "carbon":
        return needs[0].asked.carbon_g_per_kwh is not None
    return any(one.cost is not None for one in needs)


def _a_week(one: Need, amount: Range | None) -> Range | None:
    return None if amount is None else amount * one.asked.genomes_per_week


def source_grid(needs: Sequence[Need], sources: Sequence[CoreHours]) -> Grid:
    """Core hours of a genome: those of this answer, and others' of other depths with their conditions."""
    ours = [
        Line(one.machine.name, (ranged(one.core_hours), Entry(f"{one.asked.depth:g}"), Entry(_conditions(one))))
        for one in needs
    ]
    theirs = [
        Line(one.source, (Entry(number(one.core_hours, 2)), Entry(f"{one.depth:g}"), Entry(one.conditions)))
        for one in sources
    ]
    return Grid(
        caption="Core hours of a whole genome",
        heads=("", "core hours", "depth, x", "conditions"),
        groups=(Group(tuple(ours), "this answer"), Group(tuple(theirs), "published")),
        figures=False,
    )


def _conditions(one: Need) -> str:
    return f"N = {one.n} on {counted(one.machine.cores, 'core')}, idle ones included"
