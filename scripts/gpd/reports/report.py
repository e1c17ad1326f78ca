"""Write the report of a study: report.html, which needs nothing else.

The text is a pure function of the tables: no clock, no path of this machine, the same bytes every time.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from gpd.comparison import agreement
from gpd.comparison.agreement import Disagreement
from gpd.files import write_text
from gpd.published import curves, figures
from gpd.published.curves import PublishedCurve
from gpd.reports.findings import Findings, find
from gpd.tables.collect import Tables

HTML = "report.html"
TEMPLATES = PackageLoader("gpd.reports")


def write(
    tables: Tables,
    folder: Path,
    disagreements: Sequence[Disagreement] | None = None,
    references: Sequence[PublishedCurve] | None = None,
) -> Path:
    """Write the report of a study into a folder; return its path.

    Without `disagreements` the records of the runs are compared; without `references` the published curves are shown.
    Raises OSError, and PublishedError where a published table is broken.
    """
    if disagreements is None:
        disagreements = agreement.disagreements(tables.records)
    if references is None:
        references = curves.curves(figures.read())
    findings = find(tables, disagreements, references)
    page = folder / HTML
    write_text(page, render_html(findings))
    return page


def render_html(findings: Findings) -> str:
    """Return the page; all text is escaped, figures stand within it."""
    return environment().get_template("report.html.j2").render(findings=findings)


@cache
def environment() -> Environment:
    """Return what fills in a template. Text is escaped, unless it is Markup."""
    made = Environment(
        loader=TEMPLATES,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        autoescape=True,
    )
    made.filters["svg"] = lambda drawing: Markup(drawing.svg)
    return made
