"""A size as a page: what is needed of each machine, and their measured curves. Pure."""

from collections.abc import Sequence

from gpd.reports.charts import Curve, draw_curves
from gpd.reports.page import Notice, Page, Section
from gpd.reports.study_figures import ReportFigure
from gpd.sizing.nodes_needed import Sizing
from gpd.sizing.published_machines import CoreHours
from gpd.sizing.sizing_grids import sizing_grid, source_grid


def sizing_page(sizings: Sequence[Sizing], sources: Sequence[CoreHours]) -> Page:
    """The page of an answer."""
    return Page(
        title=sizing_grid(sizings).caption,
        notices=tuple(Notice("warning", f"{one.machine.name}: {one.scaled}") for one in sizings if one.scaled),
        sections=(
            Section("What is needed", grids=(sizing_grid(sizings),), figures=(_figure(sizings),)),
            *(Section(one.machine.name, lines=tuple(one.remarks)) for one in sizings),
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
