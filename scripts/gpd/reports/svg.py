"""How figures become SVG: fonts, axes with margins in inches, legends, and the text that stands within a page. Pure.

Text stays text: it can be searched, read aloud and printed sharply.
"""

import io
import re
from dataclasses import dataclass
from html import escape
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
TEXT, MUTED = "#1a1a1a", "#6b6b6b"
HALF_W, FULL_W = 4.5, 9.4  # inches; two halves stand beside each other, and a half alone fits a phone
LEGEND_ROW = 0.2  # inches

SETTINGS: dict[Any, Any] = {  # matplotlib's own type of it names every key
    "svg.fonttype": "none",
    "font.size": 9.5,
    "text.color": TEXT,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": TEXT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e2e2e2",
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": TEXT,
    "ytick.labelcolor": TEXT,
    "legend.frameon": False,
    "errorbar.capsize": 3,
    "path.simplify": False,
    "text.parse_math": False,
}


@dataclass(frozen=True)
class Drawing:
    """A figure: `name` is fit for a file, `description` says in words what is to be seen."""

    name: str
    title: str
    description: str
    svg: str
    wide: bool = False


def axes(
    width: float, height: float, bottom: float, left: float = 0.72, top: float = 0.15, right: float = 0.12
) -> tuple[Figure, Axes]:
    """Axes with margins in inches: a layout that asks fonts for their widths would differ between machines."""
    figure = Figure(figsize=(width, height))
    FigureCanvasSVG(figure)
    inner = (width - left - right) / width, (height - bottom - top) / height
    return figure, figure.add_axes((left / width, bottom / height, *inner))


def half(lines: int, columns: int = 2) -> tuple[Figure, Axes]:
    """Axes of half a page's width above a legend."""
    legend = -(-lines // columns) * LEGEND_ROW
    return axes(HALF_W, 3.0 + legend, bottom=0.62 + legend)


def legend(figure: Figure, handles: list, labels: list[str], columns: int) -> None:
    spacing: dict[str, Any] = {"handlelength": 1.6, "columnspacing": 1.2, "labelspacing": 0.35}
    figure.legend(handles, labels, loc="lower left", ncols=columns, bbox_to_anchor=(0.01, 0.0), **spacing)


def drawing(figure: Figure, name: str, title: str, description: str, wide: bool = False) -> Drawing:
    """The figure as an SVG element that can stand within a page beside others, and as a file."""
    written = io.StringIO()
    figure.savefig(written, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    svg = written.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<style.*?</style>", "", svg, flags=re.DOTALL)  # it would rule the page
    svg = re.sub(r'font-family: [^;"]*(; )?', "", svg)
    own = escape(name)
    svg = re.sub(r'\bid="|href="#|url\(#', lambda found: f"{found[0]}{own}-", svg)  # unique among a page's figures
    head, _, drawn = svg.partition(">")
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    labelled = f'role="img" aria-labelledby="{own}-title {own}-description"'
    looks = f'font-family="{FONTS}" stroke-linejoin="round" stroke-linecap="butt"'
    named = f'<title id="{own}-title">{escape(title)}</title><desc id="{own}-description">{escape(description)}</desc>'
    return Drawing(name, title, description, f"{head} {labelled} {looks}>{named}{drawn}", wide)
