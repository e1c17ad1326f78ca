"""A page of sections, and how it becomes HTML that needs nothing else: reports, comparisons and sizes. Pure."""

from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from gpd.reports.study_figures import ReportFigure
from gpd.text.grid import Entry, Grid

HTML = "report.html"


@dataclass(frozen=True)
class Notice:
    """Something that must be known before any number is used: `error` breaks them, `warning` weakens them."""

    level: str
    text: str


@dataclass(frozen=True)
class Headline:
    """The best of a pipeline: the number, what it counts, where it was reached, and the same in other units."""

    pipeline: str
    best: Entry
    counts: str
    reached: str
    others: tuple[tuple[Entry, str], ...]
    scale: str


@dataclass(frozen=True)
class Section:
    """What stands under a title, each only where there is one; `parts` are sections within it."""

    title: str
    text: str = ""
    figures: tuple[ReportFigure, ...] = ()
    grids: tuple[Grid, ...] = ()
    lines: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()
    parts: tuple["Section", ...] = ()


@dataclass(frozen=True)
class Page:
    title: str
    notices: tuple[Notice, ...]
    sections: tuple[Section, ...]
    headlines: tuple[Headline, ...] = ()


def render(page: Page) -> str:
    """Return the page as HTML; all text is escaped, figures stand within it."""
    return _environment().get_template("page.html.j2").render(page=page)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("gpd.reports"),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        autoescape=True,
    )
    made.filters["svg"] = lambda drawing: Markup(drawing.svg)
    return made
