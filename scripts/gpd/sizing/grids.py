"""The tables of a size, as text: what is needed, and what others published."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from gpd.sizing.machine import Range
from gpd.sizing.nodes_needed import Sizing
from gpd.sizing.published import CoreHours
from gpd.text.formats import counted, number
from gpd.text.grid import Entry, Grid, Group, Line, group

NOT_KNOWN = "not known"
DIGITS, WHOLE = 3, 1


def ranged(value: Range | None, digits: int = DIGITS) -> Entry:
    """A figure, and from where to where it may be."""
    if value is None:
        return Entry(NOT_KNOWN)
    ends = [number(end, digits) for end in (value.low, value.high)]
    return Entry(number(value.mid, digits), "" if value.low == value.high else f"({'-'.join(ends)})")


def _amount(value: float | None, digits: int = DIGITS) -> Entry:
    return Entry(NOT_KNOWN) if value is None else Entry(number(value, digits))


def sizing_grid(sizings: Sequence[Sizing]) -> Grid:
    """A column a machine, a line a figure; money and energy only where somebody asked or knows."""
    demand = sizings[0].demand
    lines: dict[str, Callable[[Sizing], Entry]] = {
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
        "memory that jobs at once ask for, GiB": lambda one: _amount(one.declared_gib),
        "scratch disk, GiB a node": lambda one: _amount(one.scratch_gib),
        "kept on disk, GiB a genome": lambda one: _amount(one.kept_gib),
        "shared file system, MiB/s a node": lambda one: ranged(one.network_mib_s),
        "watts a node": lambda one: _amount(one.power.watts if one.power else None),
        "energy, kWh a genome": lambda one: ranged(one.kwh),
    }
    if demand.carbon_g_per_kwh is not None:
        lines["CO2, kg a genome"] = lambda one: ranged(one.co2_kg)
    if any(one.cost for one in sizings):
        lines["cost a genome"] = lambda one: ranged(one.cost)
        lines["cost a week, hours in use"] = lambda one: ranged(one.cost and one.cost * demand.genomes_per_week)
        lines["cost a week, whole nodes"] = lambda one: _amount(one.cost_of_whole_nodes)
        lines["idle part of whole nodes"] = lambda one: ranged(one.idle_share, 2)
    if any(one.spot_cost for one in sizings):
        lines["hours of N samples, spot"] = lambda one: ranged(one.spot_hours)
        lines["cost a genome, spot"] = lambda one: ranged(one.spot_cost)
        lines["cost a week, spot"] = lambda one: ranged(one.spot_cost and one.spot_cost * demand.genomes_per_week)
    if demand.price_per_gib_month is not None:
        lines["storage a month, of a genome"] = lambda one: _amount(one.storage_a_month)
        lines["storage a month, of a week's genomes"] = lambda one: _amount(
            one.storage_a_month and one.storage_a_month * demand.genomes_per_week
        )
    return Grid(
        caption=f"{demand.genomes_per_week:,.4g} genomes a week at {demand.depth:g}x",
        heads=("", *(f"{one.machine.name}{', extrapolated' * one.at.extrapolated}" for one in sizings)),
        groups=(Group(tuple(Line(name, tuple(map(of, sizings))) for name, of in lines.items())),),
    )


def source_grid(sizings: Sequence[Sizing], sources: Sequence[CoreHours]) -> Grid:
    """Core hours of a genome: those of this answer, and others' of other depths; their conditions stand below."""
    ours = [(one.machine.name, ranged(one.core_hours), f"{one.demand.depth:g}") for one in sizings]
    theirs = [(one.source, _amount(one.core_hours, digits=2), f"{one.depth:g}") for one in sources]
    at = [f"N = {one.n} on {counted(one.machine.cores, 'core')}, idle ones included" for one in sizings]
    return Grid(
        caption="Core hours of a whole genome",
        heads=("", "core hours", "depth, x"),
        groups=(replace(group(ours), title="this answer"), replace(group(theirs), title="published")),
        notes=(
            *(f"{one.machine.name}: {conditions}" for one, conditions in zip(sizings, at, strict=True)),
            *(f"{one.source}: {one.conditions}. What does not follow: {one.does_not_follow}" for one in sources),
        ),
        figures=False,
    )
