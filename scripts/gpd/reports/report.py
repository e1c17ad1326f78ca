"""Write the report of a study: report.html, which needs nothing else, and report.md with figures/ beside it.

The text is a pure function of the tables: no clock, no path of this machine, the same bytes every time.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from gpd.comparison import agreement
from gpd.comparison.agreement import Disagreement
from gpd.files import own_folder, write_text
from gpd.published import figures, series
from gpd.published.series import ReferenceSeries
from gpd.reports.figures import Drawing
from gpd.reports.findings import Findings, PipelineFindings, find
from gpd.reports.study_figures import Shown
from gpd.tables.collect import Tables
from gpd.text.formats import markdown
from gpd.text.grid import markdown_table

HTML, MARKDOWN, FIGURES = "report.html", "report.md", "figures"
TEMPLATES = PackageLoader("gpd.reports")


def write(
    tables: Tables,
    folder: Path,
    disagreements: Sequence[Disagreement] | None = None,
    references: Sequence[ReferenceSeries] | None = None,
) -> tuple[Path, Path]:
    """Write both reports of a study into a folder; return their paths, HTML first.

    Without `disagreements` the records of the cells are compared; without `references` the published curves are shown.
    Raises OSError, and PublishedError where a published table is broken.
    """
    if disagreements is None:
        disagreements = agreement.disagreements(tables.records)
    if references is None:
        references = series.curves(figures.read())
    findings = find(tables, disagreements, references)
    page, plain = folder / HTML, folder / MARKDOWN
    write_text(page, render_html(findings))
    write_text(plain, render_markdown(findings))
    write_figures(drawings(findings), folder / FIGURES)
    return page, plain


def render_html(findings: Findings) -> str:
    """Return the page; all text is escaped, figures stand within it."""
    return environment(HTML).get_template("report.html.j2").render(findings=findings)


def render_markdown(findings: Findings) -> str:
    """Return the page as Markdown; all text is escaped, figures are files beside it."""
    return environment(MARKDOWN).get_template("report.md.j2").render(findings=findings, figures=FIGURES)


def drawings(findings: Findings) -> Iterator[Drawing]:
    shown = [figure for pipeline in findings.pipelines for figure in _figures(pipeline)]
    shown += findings.node.figures if findings.node else ()
    yield from (figure.drawing for figure in shown if figure.drawing is not None)


def _figures(pipeline: PipelineFindings) -> tuple[Shown, ...]:
    return (*pipeline.figures, *(figure for line in pipeline.series for figure in line.figures))


@cache
def environment(kind: str) -> Environment:
    """Return what fills in a template. Text is escaped, unless it is Markup."""
    made = Environment(
        loader=TEMPLATES,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        autoescape=True,
        finalize=_escaped_for_markdown if kind == MARKDOWN else None,
    )
    made.filters["markdown_table"] = lambda grid: Markup(markdown_table(grid))
    made.filters["svg"] = lambda drawing: Markup(drawing.svg)
    return made


def _escaped_for_markdown(value: object) -> Markup:
    return value if isinstance(value, Markup) else Markup(markdown(value))


def write_figures(drawn: Iterable[Drawing], folder: Path) -> None:
    """Write each figure as a file, and remove those of an earlier report."""
    own_folder(folder)
    written = {f"{drawing.name}.svg": drawing.svg for drawing in drawn}
    for old in folder.glob("*.svg"):
        if old.name not in written:
            old.unlink()
    for name, svg in written.items():
        write_text(folder / name, svg)
