"""A size as a page: what is needed of each machine, and their measured curves. Pure."""

from collections.abc import Sequence

from gpd.reports.charts import Curve, draw_curves
from gpd.reports.page import Notice, Page, Section
from gpd.reports.study_figures import ReportFigure
from gpd.sizing.nodes_needed import Sizing
from gpd.sizing.published_machines import CoreHours
from gpd.sizing.sizing_grids import sizing_grid, source_grid
from gpd.text.formats import listed


def sizing_page(sizings: Sequence[Sizing], sources: Sequence[CoreHours]) -> Page:
    """The page of an answer; what is to be said of several machines is said once."""
    scaled: dict[str, list[str]] = {}
    for one in sizings:
        scaled.setdefault(one.scaled or "", []).append(one.machine.name)
    remarks = {one.machine.name: [line for line in one.remarks if line != one.scaled] for one in sizings}
    first, *others = remarks.values()
    common = [line for line in first if others and all(line in own for own in others)]
    return Page(
        title=sizing_grid(sizings).caption,
        notices=tuple(Notice("warning", f"{listed(names)}: {what}") for what, names in scaled.items() if what),
        sections=(
            Section("What is needed", grids=(sizing_grid(sizings),), figures=(_figure(sizings),)),
            *(Section(name, lines=tuple(line for line in own if line not in common)) for name, own in remarks.items()),
            *([Section("Each of them", lines=tuple(common))] if common else []),
            Section("Beside what others published", grids=(source_grid(sizings, sources),)),
        ),
    )


def _figure(sizings: Sequence[Sizing]) -> ReportFigure:
    daily = [{at.n: one.demand.daily(at) for at in one.measured} for one in sizings]
    curves = [Curve(one.machine.name, points, _ringed(one)) for one, points in zip(sizings, daily, strict=True)]
    title = f"Genomes a day of one node, {sizings[0].demand.depth:g}x"
    return ReportFigure(
        "One node, at each N that was measured. Bars: 95% intervals, where runs tell them.",
        draw_curves("measured", title, curves, "genomes a day"),
    )


def _ringed(one: Sizing) -> int | None:
    """The N that answers; None where it is the largest that was measured, for more samples may give more."""
    return one.n if one.n < one.measured[-1].n else None
