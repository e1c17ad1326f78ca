"""A size as a page: what is needed of each machine, their measured curves, one picture of all. Pure."""

from collections.abc import Callable, Iterator, Sequence

from gpd.reports.figures import Curve, Drawing, Panel, Point, draw_curves, draw_panels
from gpd.reports.findings import Notice
from gpd.reports.page import Page, Section
from gpd.reports.study_figures import Shown
from gpd.sizing.grids import need_grid, source_grid
from gpd.sizing.machine import Range
from gpd.sizing.nodes_needed import Need
from gpd.sizing.sources import CoreHours
from gpd.text.formats import number


def sizing_page(needs: Sequence[Need], sources: Sequence[CoreHours]) -> Page:
    """The page of an answer."""
    return Page(
        title=need_grid(needs).caption,
        notices=tuple(Notice("warning", f"{one.machine.name}: {one.scaled}") for one in needs if one.scaled),
        sections=(
            Section("What is needed", grids=(need_grid(needs),), figures=tuple(_figures(needs))),
            *(Section(one.machine.name, lines=tuple(told(one))) for one in needs),
            Section("Beside what others published", grids=(source_grid(needs, sources),)),
        ),
    )


def told(one: Need) -> Iterator[str]:
    """What has to be known of an answer, line by line."""
    if one.scaled:
        yield one.scaled
    yield f"limited by {one.limit}"
    yield from one.changes
    yield f"watts: {one.power.source}" if one.power else "watts: not known, so no energy; give --watts"
    if one.machine.bandwidth_mb_s is not None:
        yield f"memory bandwidth of the node, measured: {number(one.machine.bandwidth_mb_s)} MB/s"
    yield from one.machine.notes


def _figures(needs: Sequence[Need]) -> Iterator[Shown]:
    yield Shown("One node, at each N that was measured. Bars: 95% intervals, where runs tell them.", _curves(needs))
    yield Shown("One node of each; what a panel lacks is not known.", _picture(needs))


def _curves(needs: Sequence[Need]) -> Drawing:
    curves = [Curve(one.machine.name, tuple(_points(one)), one.n) for one in needs]
    words = "; ".join(
        f"{curve.label}: " + ", ".join(f"{number(point.value)} at N = {point.n}" for point in curve.points)
        for curve in curves
    )
    title = f"Genomes a day of one node, {needs[0].asked.depth:g}x"
    return draw_curves("measured", title, words, curves, "genomes a day")


def _points(one: Need) -> Iterator[Point]:
    for measured in one.measured:
        daily = one.asked.daily(measured)
        interval = None if daily.low is None or daily.high is None else (daily.low, daily.high)
        yield Point(measured.n, daily.mid, interval=interval)


def _picture(needs: Sequence[Need]) -> Drawing:
    of: dict[str, Callable[[Need], Range | None]] = {
        "genomes a day": lambda one: one.genomes_per_day,
        "genomes a kWh": lambda one: one.kwh and one.kwh.over(1.0),
        "genomes a unit of money": lambda one: one.cost and one.cost.over(1.0),
    }
    panels = [
        Panel(label, bars)
        for label, figure in of.items()
        if (bars := {o.machine.name: (r.low or r.mid, r.mid, r.worst) for o in needs if (r := figure(o)) is not None})
    ]
    words = "; ".join(
        f"{panel.label}: " + ", ".join(f"{name} {number(value)}" for name, (_, value, _) in panel.bars.items())
        for panel in panels
    )
    return draw_panels("machines", "Machines side by side", words, panels)
