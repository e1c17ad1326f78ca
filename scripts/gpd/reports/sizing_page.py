"""A size as a page: what is needed of each machine, their curves with intervals, one picture of all. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from gpd.reports.figures import Curve, Drawing, Panel, Point, draw_curves, draw_panels
from gpd.reports.findings import Notice
from gpd.reports.page import Page, Section
from gpd.reports.study_figures import Shown
from gpd.sizing.grids import held_out_grid, need_grid, source_grid
from gpd.sizing.model import Range
from gpd.sizing.needs import Need, extrapolated
from gpd.sizing.published import Errors
from gpd.sizing.sources import CoreHours
from gpd.text.formats import number

Ranges = Mapping[str, Mapping[int, Range]]  # genomes a day of one node, by machine and N


def sizing_page(
    needs: Sequence[Need], ranges: Ranges, errors: Mapping[str, Errors], sources: Sequence[CoreHours]
) -> Page:
    """The page of an answer; `ranges` are those of the curves."""
    warnings = [(one.model.name, said) for one in needs if (said := extrapolated(one))]
    published = any(one.model.source == "published" for one in needs)
    return Page(
        title=need_grid(needs).caption,
        notices=tuple(Notice("warning", f"{name}: {said}") for name, said in warnings),
        sections=(
            Section("What is needed", grids=(need_grid(needs),), figures=tuple(_figures(needs, ranges))),
            *(Section(one.model.name, lines=tuple(told(one))) for one in needs),
            Section("Beside what others published", grids=(source_grid(needs, sources),)),
            *([Section("How well the model predicts", grids=(held_out_grid(errors),))] if published else []),
        ),
    )


def told(one: Need) -> Iterator[str]:
    """What has to be known of an answer, line by line."""
    if said := extrapolated(one):
        yield said
    yield f"limited by {one.limit}"
    yield from one.changes
    yield f"watts: {one.power.source}" if one.power else "watts: not known, so no energy; give --watts"
    if one.model.bandwidth_mb_s is not None:
        yield f"memory bandwidth of the node, measured: {number(one.model.bandwidth_mb_s)} MB/s"
    yield from one.model.notes


def _figures(needs: Sequence[Need], ranges: Ranges) -> Iterator[Shown]:
    yield Shown(
        "Predicted for one node. Bars: 95% of what resampled runs give, with the errors of runs that were left out.",
        _curves(needs, ranges),
    )
    yield Shown("One node of each; what a panel lacks is not known.", _picture(needs))


def _curves(needs: Sequence[Need], ranges: Ranges) -> Drawing:
    curves = [
        Curve(
            one.model.name,
            tuple(Point(n, of.mid, interval=(of.low, of.high)) for n, of in ranges[one.model.name].items()),
            one.n,
        )
        for one in needs
    ]
    words = "; ".join(
        f"{curve.label}: " + ", ".join(f"{number(point.value)} at N = {point.n}" for point in curve.points)
        for curve in curves
    )
    title = f"Predicted genomes a day of one node, {needs[0].asked.depth:g}x"
    return draw_curves("predicted", title, words, curves, "genomes a day")


def _picture(needs: Sequence[Need]) -> Drawing:
    of: dict[str, Callable[[Need], Range | None]] = {
        "genomes a day": lambda one: one.genomes_per_day,
        "genomes a kWh": lambda one: one.kwh and one.kwh.over(1.0),
        "genomes a unit of money": lambda one: one.cost and one.cost.over(1.0),
    }
    panels = [
        Panel(label, bars)
        for label, figure in of.items()
        if (bars := {o.model.name: (r.low, r.mid, r.high) for o in needs if (r := figure(o)) is not None})
    ]
    words = "; ".join(
        f"{panel.label}: " + ", ".join(f"{name} {number(value)}" for name, (_, value, _) in panel.bars.items())
        for panel in panels
    )
    return draw_panels("machines", "Machines side by side", words, panels)
