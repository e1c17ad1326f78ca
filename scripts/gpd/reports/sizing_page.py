"""A size as a page: what is needed of each machine, and their measured curves. Pure."""

from collections.abc import Iterator, Sequence

from gpd.reports.figures import Curve, CurvePoint, draw_curves
from gpd.reports.page import Notice, Page, Section
from gpd.reports.study_figures import ReportFigure
from gpd.sizing.grids import need_grid, source_grid
from gpd.sizing.nodes_needed import Need
from gpd.sizing.sources import CoreHours
from gpd.text.formats import number


def sizing_page(needs: Sequence[Need], sources: Sequence[CoreHours]) -> Page:
    """The page of an answer."""
    return Page(
        title=need_grid(needs).caption,
        notices=tuple(Notice("warning", f"{one.machine.name}: {one.scaled}") for one in needs if one.scaled),
        sections=(
            Section("What is needed", grids=(need_grid(needs),), figures=(_figure(needs),)),
            *(Section(one.machine.name, lines=tuple(remarks(one))) for one in needs),
            Section("Beside what others published", grids=(source_grid(needs, sources),)),
        ),
    )


def remarks(one: Need) -> Iterator[str]:
    """What has to be known of an answer, line by line."""
    if one.scaled:
        yield one.scaled
    yield f"limited by {one.limit}"
    yield from one.changes
    yield f"watts: {one.power.source}" if one.power else "watts: not known, so no energy; give --watts"
    if one.machine.bandwidth_mb_s is not None:
        yield f"memory bandwidth of the node, measured: {number(one.machine.bandwidth_mb_s)} MB/s"
    yield from one.machine.notes


def _figure(needs: Sequence[Need]) -> ReportFigure:
    curves = [Curve(one.machine.name, tuple(_points(one)), one.n) for one in needs]
    title = f"Genomes a day of one node, {needs[0].asked.depth:g}x"
    return ReportFigure(
        "One node, at each N that was measured. Bars: 95% intervals, where runs tell them.",
        draw_curves("measured", title, curves, "genomes a day"),
    )


def _points(one: Need) -> Iterator[CurvePoint]:
    for measured in one.measured:
        daily = one.asked.daily(measured)
        interval = None if daily.low is None or daily.high is None else (daily.low, daily.high)
        yield CurvePoint(measured.n, daily.mid, interval)
