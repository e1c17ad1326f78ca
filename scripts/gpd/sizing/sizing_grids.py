"""The tables of a size, as text: what is needed, and what others published."""

from collections.abc import Sequence
from dataclasses import replace

from gpd.sizing.nodes_needed import Sizing
from gpd.sizing.published_machines import CoreHours
from gpd.sizing.quantities import Quantity, quantities
from gpd.statistics.estimates import Estimate
from gpd.text.formats import DIGITS, counted, from_to, number
from gpd.text.grid import Entry, Grid, Group, group, line

NOT_KNOWN = Entry("not known")


def _entry(value: Estimate | None, digits: int = DIGITS) -> Entry:
    """A value, and from where to where it may be."""
    if value is None:
        return NOT_KNOWN
    return Entry(number(value.value, digits), "" if value.low == value.high else from_to(value.low, value.high, digits))


def _of(found: Quantity | None) -> Entry:
    return NOT_KNOWN if found is None else _entry(found.value, 1 if found.whole else DIGITS)


def sizing_grid(sizings: Sequence[Sizing]) -> Grid:
    """A column a machine, a line a quantity, and what it follows from."""
    demand = sizings[0].demand
    columns = [{found.key: found for found in quantities(one)} for one in sizings]
    lines = {key: found for column in columns for key, found in column.items()}
    rows = [
        line(
            ", ".join(filter(None, (found.label, found.unit))),
            *(_of(column.get(key)) for column in columns),
            found.why,
        )
        for key, found in lines.items()
    ]
    return Grid(
        caption=f"{demand.genomes_per_week:,.4g} genomes a week at {demand.depth:g}x",
        heads=("", *(f"{one.machine.name}{', extrapolated' * one.at.extrapolated}" for one in sizings), "how"),
        groups=(Group(tuple(rows)),),
        remarks=True,
    )


def source_grid(sizings: Sequence[Sizing], sources: Sequence[CoreHours]) -> Grid:
    """Core hours of a genome: those of this answer, and others' of other depths; their conditions stand below."""
    ours = [
        (one.machine.name, _entry(found.value), f"{one.demand.depth:g}")
        for one in sizings
        for found in quantities(one)
        if found.key == "core_hours"
    ]
    theirs = [
        (one.source, NOT_KNOWN if one.core_hours is None else Entry(number(one.core_hours, 2)), f"{one.depth:g}")
        for one in sources
    ]
    at = [f"N = {one.n} on {counted(one.machine.cores, 'core')}, idle ones included" for one in sizings]
    return Grid(
        caption="Core hours of a whole genome",
        heads=("", "core hours", "depth, x"),
        groups=(replace(group(ours), title="this answer"), replace(group(theirs), title="published")),
        notes=(
            *(f"{one.machine.name}: {conditions}" for one, conditions in zip(sizings, at, strict=True)),
            *(f"{one.source}: {one.conditions}. What does not follow: {one.does_not_follow}" for one in sources),
        ),
        numeric=False,
    )
