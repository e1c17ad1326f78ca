"""The report of a study, from its tables: the answer, tables, figures, faults, machines, method.

What it says is a pure function of the tables: no clock, no path of this machine, the same bytes every time.
"""

from collections.abc import Sequence
from pathlib import Path

from gpd.comparison import agreement
from gpd.comparison.agreement import Disagreement
from gpd.files import write_text
from gpd.pipelines import PIPELINES
from gpd.published import curves
from gpd.published.curves import PublishedCurve
from gpd.records.run_spec import CurveKey
from gpd.reports.failures import about_agreement, about_failures, disagreement_grid, failure_grid
from gpd.reports.grids import (
    label,
    rows,
    search_grid,
    searched_curves,
    step_grids,
    stream_grid,
)
from gpd.reports.headline import SOUGHT, headline
from gpd.reports.host_grid import host_grid, software_grid
from gpd.reports.method import method_lines
from gpd.reports.node_findings import NODE_TITLE, node_section
from gpd.reports.notices import notices
from gpd.reports.page import HTML, Page, Section, render
from gpd.reports.study_figures import (
    reference_figure,
    saturation_of,
    step_figure,
    throughput_figure,
    timeline_figure,
    utilisation_figure,
)
from gpd.tables.collect import Tables
from gpd.tables.columns import CLOCKS, ConfigurationRow
from gpd.text.formats import listed, sentence
from gpd.text.grid import Grid


def write(
    tables: Tables,
    folder: Path,
    disagreements: Sequence[Disagreement] | None = None,
    references: Sequence[PublishedCurve] | None = None,
) -> Path:
    """Write the report of a study into a folder; return its path.

    Without `disagreements` the records of the runs are compared; without `references` the published curves are shown.
    Raises OSError.
    """
    if disagreements is None:
        disagreements = agreement.disagreements(tables.records)
    if references is None:
        references = curves.curves()
    path = folder / HTML
    write_text(path, render(find(tables, disagreements, references)))
    return path


def find(tables: Tables, disagreements: Sequence[Disagreement], references: Sequence[PublishedCurve]) -> Page:
    """Say what the tables of a study say. The same tables give the same page."""
    records, curve_keys = tables.records, searched_curves(tables)
    pipelines = list(dict.fromkeys(curve.pipeline for curve in curve_keys))
    machines, software = host_grid(records), software_grid(records)
    return Page(
        title=f"Throughput of {listed(dict.fromkeys(run.study for run in tables.runs)) or 'no run has ended'}",
        notices=tuple(notices(tables, disagreements)),
        headlines=tuple(headline(pipeline, tables) for pipeline in pipelines),
        sections=(
            *(_pipeline(pipeline, curve_keys, tables, references) for pipeline in pipelines),
            *_streams(tables),
            Section("Failures", about_failures(tables), grids=_present(failure_grid(tables.samples))),
            Section(
                "Output agreement",
                about_agreement(records, disagreements),
                grids=_present(disagreement_grid(disagreements)) if disagreements else (),
            ),
            Section(
                "Not finished",
                "These runs did not end; nothing of them is in this report. Run the study again to finish them."
                if tables.unfinished
                else "Every run that was begun has ended.",
                lines=tables.unfinished,
            ),
            Section("Machine and software", grids=_present(machines, software)),
            node_section(tables.node)
            if tables.node
            else Section(
                NODE_TITLE, "Not measured: run gpd node, and studies that are run from then on have its record."
            ),
            Section("Method", lines=tuple(method_lines(tables))),
        ),
    )


ABOUT_STREAMS = (
    "A sample starts when another ends. Samples a day are those that ended in the window, without ramp and tail; their "
    "95% interval is by batch means. What one takes is a median. Samples are those of the pool, each drawn many times."
)


def _streams(tables: Tables) -> tuple[Section, ...]:
    grid = stream_grid(tables.streams)
    return (Section("Streams", ABOUT_STREAMS, grids=(grid,), lines=grid.notes),) if grid else ()


def _present(*grids: Grid | None) -> tuple[Grid, ...]:
    return tuple(grid for grid in grids if grid)


# ------------------------------------------------------------------------------------------ pipelines


def _pipeline(
    pipeline: str, curve_keys: Sequence[CurveKey], tables: Tables, references: Sequence[PublishedCurve]
) -> Section:
    """The curves of a pipeline beside each other, then each curve."""
    own, configurations = [curve for curve in curve_keys if curve.pipeline == pipeline], tables.configurations
    published = reference_figure(references) if PIPELINES[pipeline].genomes else None
    return Section(
        f"Pipeline {pipeline}",
        figures=(
            throughput_figure(pipeline, own, configurations),
            utilisation_figure(pipeline, own, configurations),
            *((published,) if published else ()),
        ),
        parts=tuple(
            Section(
                label(curve).capitalize(),
                _saturation(curve, configurations),
                (
                    step_figure(curve, tables.summary, configurations),
                    timeline_figure(curve, tables.jobs, tables.summary),
                ),
                (
                    *(grid for clock in CLOCKS for grid in step_grids(curve, clock, tables.summary, configurations)),
                    *_present(search_grid(curve, tables)),
                ),
            )
            for curve in own
        ),
    )


def _saturation(curve: CurveKey, configurations: Sequence[ConfigurationRow]) -> str:
    if not rows(curve, configurations):
        return f"No saturation point: {SOUGHT}"
    saturation = saturation_of(curve, configurations)
    if saturation is None:
        return "No saturation point: one N alone was run."
    if saturation.n is None:
        return f"No saturation point: {saturation.reason}."
    return f"Saturation point, the best N: N = {saturation.best_n}. {sentence(saturation.reason)}"
