"""A page of sections, filled in as the report is: for what is no study's own, comparisons and sizes. Pure."""

from dataclasses import dataclass

from gpd.reports.findings import Notice
from gpd.reports.report import environment
from gpd.reports.study_figures import Shown
from gpd.text.grid import Grid


@dataclass(frozen=True)
class Section:
    """Under a title: a paragraph, figures, tables with their notes, lines of a list; each only where there is one."""

    title: str
    text: str = ""
    figures: tuple[Shown, ...] = ()
    grids: tuple[Grid, ...] = ()
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Page:
    title: str
    notices: tuple[Notice, ...]
    sections: tuple[Section, ...]


def render(page: Page) -> str:
    """Return the page as HTML that needs nothing else; all text is escaped."""
    return environment().get_template("page.html.j2").render(page=page)
