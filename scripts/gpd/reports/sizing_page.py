"""A size as a page: what is needed of each machine, and their measured curves. Pure."""

from collections.abc import Iterator, Sequence

from gpd.reports.figures import Curve, Drawing, Panel, Point, draw_curves, draw_panels
from gpd.reports.findings import Notice
from gpd.reports.page import Page, Section
from gpd.reports.study_figures import Shown
from gpd.sizing.grids import sizing_grid, source_grid
from gpd.sizing.machine import Range
from gpd.sizing.nodes_needed import Sizing
from gpd.sizing.published import CoreHours
from gpd.text.formats import number


def sizing_page(sizings: Sequence[Sizing], sources: Sequence[CoreHours]) -> Page:
    """The page of an answer."""
    return Page(
        title=sizing_grid(sizings).caption,
        notices=tuple(Notice("warning", f"{one.machine.name}: {one.scaled}") for one in sizings if one.scaled),
        sections=(
            Section("What is needed", grids=(sizing_grid(sizings),), figures=tuple(_figures(sizings))),
            *(Section(one.machine.name, lines=tuple(one.remarks)) for one in sizings),
            Section("Beside what others published", grids=(source_grid(sizings, sources),)),
        ),
    )


def _figures(sizings: Sequence[Sizing]) -> Iterator[Shown]:
    yield Shown("One node, at each N that was measured. Bars: 95% intervals, where runs tell them.", _curves(sizings))
    yield Shown("One node of each; what a panel lacks is not known.", _picture(sizings))


def _curves(sizings: Sequence[Sizing]) -> Drawing:
    curves = [Curve(one.machine.name, tuple(_points(one)), one.n) for one in sizings]
    words = "; ".join(
        f"{curve.label}: " + ", ".join(f"{number(point.value)} at N = {point.n}" for point in curve.points)
        for curve in curves
    )
    title = f"Genomes a day of one node, {sizings[0].demand.depth:g}x"
    return draw_curves("measured", title, words, curves, "genomes a day")


def _points(one: Sizing) -> Iterator[Point]:
    for measured in one.measured:
        daily = one.demand.daily(measured)
        interval = None if daily.low is None or daily.high is None else (daily.low, daily.high)
        yield Point(measured.n, daily.mid, interval=interval)


def _picture(sizings: Sequence[Sizing]) -> Drawing:
    of: dict[str, Callable[[Sizing], Range | None]] = {
        "genomes a day": lambda one: one.genomes_per_day,
        "genomes a kWh": lambda one: one.kwh and one.kwh.over(1.0),
        "genomes a unit of money": lambda one: one.cost and one.cost.over(1.0),
    }
    panels = [
        Panel(label, bars)
        for label, figure in of.items()
        if (bars := {o.machine.name: (r.low or r.mid, r.mid, r.worst) for o in sizings if (r := figure(o)) is not None})
    ]
    words = "; ".join(
        f"{panel.label}: " + ", ".join(f"{name} {number(value)}" for name, (_, value, _) in panel.bars.items())
        for panel in panels
    )
    return draw_panels("machines", "Machines side by side", words, panels)
