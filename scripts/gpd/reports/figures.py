"""The figures of a report, drawn by matplotlib as SVG. Pure: numbers in, text out, the same text every time.

Numbers come in the unit that the axis names. Text stays text: it can be searched, read aloud and printed sharply.
"""

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
TEXT, MUTED = "#1a1a1a", "#6b6b6b"
HEADROOM = 1.06  # above the highest point, for its ring and error bar
HALF_W, FULL_W = 4.5, 9.4  # inches; two halves stand beside each other, and a half alone fits a phone
MOST_BARS = 1500  # of a timeline: past that they are thinner than a line
MOST_LANES_NAMED = 32
MOST_RUNS_NUMBERED = 16  # a side of a map
LEAST_PIXELS = 512
LEGEND_ROW = 0.2  # inches
SAMPLES_AT_ONCE = "samples at once (N)"

# Okabe and Ito's palette (Color Universal Design, 2008) and a grey: told apart by the colour-blind too. Those that
# run longest are furthest apart; hard filters stand in for the recalibration of variants and are hatched besides.
STEP_LOOKS: Mapping[str, tuple[str, str]] = {
    "map_and_sort": ("#0072B2", ""),
    "mark_duplicates": ("#56B4E9", ""),
    "realigner_targets": ("#999999", ""),
    "realign_indels": ("#404040", ""),
    "base_recalibration": ("#F0E442", ""),
    "haplotype_caller": ("#E69F00", ""),
    "genotype_gvcfs": ("#009E73", ""),
    "hard_filter": ("#CC79A7", "////"),
    "variant_recalibration": ("#CC79A7", ""),
    "apply_variant_recalibration": ("#D55E00", ""),
    "align": ("#0072B2", ""),
    "assemble": ("#56B4E9", ""),
    "merge": ("#999999", ""),
    "quantify": ("#E69F00", ""),
    "differential_expression": ("#009E73", ""),
    "visualize": ("#CC79A7", ""),
}
DARK = {"#0072B2", "#404040", "#D55E00", "#009E73"}  # white can be read on these, black on the others
LINES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#404040", "#999999")
GREYS = ("#4d4d4d", "#7a7a7a", "#a0a0a0")
MARKERS = "os^Dv<>p"
DASHES = ("-", "--", ":", "-.")

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
    "axes.linewidth": 0.8,
    "grid.color": "#e2e2e2",
    "grid.linewidth": 0.7,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": TEXT,
    "ytick.labelcolor": TEXT,
    "hatch.linewidth": 0.8,
    "legend.frameon": False,
    "legend.fontsize": 9,
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


@dataclass(frozen=True)
class Point:
    """A mean at N samples at once; `error` is its standard error, None where there is one value alone.

    `interval` is drawn in its place where there is one: from where to where.
    """

    n: int
    value: float
    error: float | None = None
    interval: tuple[float, float] | None = None

    @property
    def bar(self) -> tuple[float, float] | None:
        """How far its error bar reaches below and above it."""
        if self.interval is not None:
            return self.value - self.interval[0], self.interval[1] - self.value
        return None if self.error is None else (self.error, self.error)


@dataclass(frozen=True)
class Curve:
    """Points in order of N; `saturation point` is the N past which more samples at once do not help."""

    label: str
    points: tuple[Point, ...]
    saturation: int | None = None


@dataclass(frozen=True)
class Panel:
    """Bars of one unit, by what they are of: each a figure and from where to where it may be."""

    label: str
    bars: Mapping[str, tuple[float, float, float]]


@dataclass(frozen=True)
class Stack:
    """One bar: what each step took, in the order they are stacked."""

    label: str
    parts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Bar:
    """A job on `lanes` lanes from lane `lane` on, counted from 0."""

    step: str
    lane: int
    lanes: int
    start: float
    end: float
    failed: bool = False


@dataclass(frozen=True)
class MapLook:
    """How a map is labelled: rows and columns alike, what they are, the unit; and before which of them lines stand."""

    labels: Sequence[str]
    rows: str
    columns: str
    unit: str
    edges: Sequence[int] = ()
    digits: int = 0


def draw_curves(
    name: str,
    title: str,
    description: str,
    curves: Sequence[Curve],
    y_label: str,
    muted: bool = False,
    x_label: str = SAMPLES_AT_ONCE,
) -> Drawing:
    """Lines against N with error bars; saturation points are ringed. `muted` draws lines for reference in grey."""
    saturations = any(curve.saturation is not None for curve in curves)
    rows = -(-(len(curves) + saturations) // 2)
    with matplotlib.rc_context(SETTINGS | {"svg.hashsalt": name}):
        figure, axes = _axes(HALF_W, 3.0 + rows * LEGEND_ROW, bottom=0.62 + rows * LEGEND_ROW)
        for at, curve in enumerate(curves):
            _draw_curve(axes, curve, at, muted)
        _count_axis(axes, sorted({point.n for curve in curves for point in curve.points}), x_label)
        axes.set_ylim(0, HEADROOM * axes.get_ylim()[1])
        axes.set_ylabel(y_label)
        handles, labels = axes.get_legend_handles_labels()
        if saturations:
            handles.append(Line2D([], [], ls="", marker="o", ms=11, mfc="none", mec=TEXT))
            labels.append("saturation point")
        _legend(figure, handles, labels, columns=2)
        return Drawing(name, title, description, _svg(figure, name, title, description))


def draw_map(name: str, title: str, description: str, runs: Sequence[Sequence[float | None]], look: MapLook) -> Drawing:
    """A square of colours, row by row from above; each run bears its figure where there is room for it."""
    wide = len(runs) > MOST_RUNS_NUMBERED
    values = np.ma.masked_invalid(np.array([[np.nan if v is None else v for v in row] for row in runs]))
    with matplotlib.rc_context(SETTINGS | {"svg.hashsalt": name, "axes.grid": False}):
        side = FULL_W * 0.72 if wide else HALF_W * 0.74
        figure = Figure(figsize=(FULL_W if wide else HALF_W, side + 0.75))
        FigureCanvasSVG(figure)
        width, height = figure.get_size_inches()
        axes = figure.add_axes((0.62 / width, 0.55 / height, side / width, side / height))
        axes.set_facecolor("#f2f2f2")
        image = axes.imshow(_enlarged(values), cmap="cividis_r", interpolation="none", extent=_edges(len(runs)))
        bar = figure.add_axes(((0.62 + side + 0.12) / width, 0.55 / height, 0.13 / width, side / height))
        figure.colorbar(image, cax=bar).outline.set_visible(False)
        bar.set_title(look.unit, fontsize=8.5, loc="left")
        if not wide:
            _number_runs(axes, values, look)
        for at in look.edges:
            for line in (axes.axhline, axes.axvline):
                line(at - 0.5, color="#fff", lw=1.0)
        named = range(0, len(runs), -(-len(runs) // MOST_LANES_NAMED))
        axes.set_xticks(named, [look.labels[at] for at in named], rotation=90 if wide else 0)
        axes.set_yticks(named, [look.labels[at] for at in named])
        axes.tick_params(length=0, labelsize=7.5 if wide else 9)
        axes.set_xlabel(look.columns)
        axes.set_ylabel(look.rows)
        return Drawing(name, title, description, _svg(figure, name, title, description), wide=wide)


def draw_stacks(
    name: str,
    title: str,
    description: str,
    stacks: Sequence[Stack],
    y_label: str,
    numbers: Mapping[str, str],
    x_label: str = SAMPLES_AT_ONCE,
) -> Drawing:
    """A bar for each N, steps stacked from the first upwards; each part that has room bears its step's number."""
    steps = [step for step in numbers if any(step in stack.parts for stack in stacks)]
    rows = -(-len(steps) // 2)
    with matplotlib.rc_context(SETTINGS | {"svg.hashsalt": name, "axes.grid.axis": "y"}):
        figure, axes = _axes(HALF_W, 3.0 + rows * LEGEND_ROW, bottom=0.62 + rows * LEGEND_ROW)
        highest = max((sum(stack.parts.values()) for stack in stacks), default=0) or 1
        for at, stack in enumerate(stacks):
            _draw_stack(axes, at, stack, steps, numbers, least=highest * 0.06)
        axes.set_xticks(range(len(stacks)), [stack.label for stack in stacks])
        room = max(3 - len(stacks), 0) / 2  # a lone bar is no wall
        axes.set_xlim(-0.6 - room, len(stacks) - 0.4 + room)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        _legend(figure, *_step_key(steps, numbers), columns=2)
        return Drawing(name, title, description, _svg(figure, name, title, description))


def draw_panels(name: str, title: str, description: str, panels: Sequence[Panel]) -> Drawing:
    """Panels below each other, a bar for each thing that is compared, with its interval."""
    names = list(dict.fromkeys(of for panel in panels for of in panel.bars))
    with matplotlib.rc_context(SETTINGS | {"svg.hashsalt": name, "axes.grid.axis": "x"}):
        each = 0.62 + 0.34 * len(names)
        figure = Figure(figsize=(HALF_W, each * len(panels) + 0.1))
        FigureCanvasSVG(figure)
        width, height = figure.get_size_inches()
        left = min(0.3 + 0.075 * max(map(len, names)), 2.2)
        for at, panel in enumerate(panels):
            bottom = (height - (at + 1) * each + 0.5) / height
            axes = figure.add_axes((left / width, bottom, (width - left - 0.15) / width, 0.34 * len(names) / height))
            _draw_panel(axes, panel, names)
        return Drawing(name, title, description, _svg(figure, name, title, description))


def draw_timeline(
    name: str,
    title: str,
    description: str,
    bars: Sequence[Bar],
    lanes: Sequence[str],
    axis: tuple[str, str],
    numbers: Mapping[str, str],
) -> Drawing:
    """Which job held what when: a row a lane, a bar a job; `axis` names time and lanes."""
    drawn = sorted(longest(bars), key=lambda bar: (bar.start, bar.lane))
    steps = [step for step in numbers if any(bar.step == step for bar in drawn)]
    failed = any(bar.failed for bar in drawn)
    rows = -(-(len(steps) + failed) // 3)
    with matplotlib.rc_context(SETTINGS | {"svg.hashsalt": name, "axes.grid.axis": "x"}):
        height = 1.0 + rows * LEGEND_ROW + min(max(0.3 * len(lanes), 0.6), 6.0)
        left = 0.55 + 0.07 * max(map(len, lanes), default=0)
        figure, axes = _axes(FULL_W, height, left=min(left, 2.4), bottom=0.62 + rows * LEGEND_ROW, top=0.12)
        end = max((bar.end for bar in drawn), default=1) or 1
        _draw_bars(axes, drawn, steps)
        _number_bars(axes, [bar for bar in drawn if bar.end - bar.start > end * 0.02], numbers, len(lanes))
        axes.set_xlim(0, end)
        axes.set_ylim(len(lanes), 0)
        _name_lanes(axes, lanes)
        axes.set_xlabel(axis[0])
        axes.set_ylabel(axis[1])
        handles, labels = _step_key(steps, numbers)
        if failed:
            handles.append(Patch(facecolor="#fff", edgecolor=TEXT, hatch="xxxx", linewidth=0.8))
            labels.append("failed")
        _legend(figure, handles, labels, columns=3)
        return Drawing(name, title, description, _svg(figure, name, title, description), wide=True)


def longest(bars: Sequence[Bar]) -> list[Bar]:
    """Return the bars that a timeline draws: the longest MOST_BARS of them."""
    return sorted(bars, key=lambda bar: (bar.start - bar.end, bar.start, bar.lane))[:MOST_BARS]


# ------------------------------------------------------------------------------------------------ parts


def _axes(width: float, height: float, bottom: float, left: float = 0.72, top: float = 0.15) -> tuple[Figure, Axes]:
    """Axes with margins in inches: a layout that asks fonts for their widths would differ between machines."""
    figure = Figure(figsize=(width, height))
    FigureCanvasSVG(figure)
    inner = (width - left - 0.12) / width, (height - bottom - top) / height
    return figure, figure.add_axes((left / width, bottom / height, *inner))


def _draw_curve(axes: Axes, curve: Curve, at: int, muted: bool) -> None:
    colours = GREYS if muted else LINES
    colour, mark = colours[at % len(colours)], MARKERS[at % len(MARKERS)]
    n, values = [point.n for point in curve.points], [point.value for point in curve.points]
    dashes = DASHES[at % len(DASHES)] if muted else "-"
    axes.plot(n, values, color=colour, marker=mark, ls=dashes, ms=5, lw=1.6, label=curve.label)
    known = [(point.n, point.value, point.bar) for point in curve.points if point.bar is not None]
    if known:
        x, y, bars = zip(*known, strict=True)
        axes.errorbar(x, y, yerr=list(zip(*bars, strict=True)), fmt="none", ecolor=colour, elinewidth=1.2)
    ringed = [point for point in curve.points if point.n == curve.saturation]
    axes.plot([p.n for p in ringed], [p.value for p in ringed], ls="", marker="o", ms=13, mfc="none", mec=colour)


def _draw_panel(axes: Axes, panel: Panel, names: Sequence[str]) -> None:
    for row, name in enumerate(names):
        if name in panel.bars:
            low, value, high = panel.bars[name]
            reach = [[value - low], [high - value]]
            axes.barh(row, value, 0.6, color=LINES[row % len(LINES)], xerr=reach, ecolor=TEXT)
    axes.set_yticks(range(len(names)), [_short(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(0, None)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(panel.label)


def _count_axis(axes: Axes, counts: Sequence[int], label: str) -> None:
    """N on the x axis: each that was run where they fit, whole numbers otherwise."""
    span = max(counts[-1] - counts[0], 1)
    gaps = [high - low for low, high in pairwise(counts)]
    if min(gaps, default=span) / span >= 0.05:
        axes.set_xticks(counts)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlim(counts[0] - 0.07 * span, counts[-1] + 0.07 * span)
    axes.set_xlabel(label)


def _draw_stack(
    axes: Axes, at: int, stack: Stack, steps: Iterable[str], numbers: Mapping[str, str], least: float
) -> None:
    bottom = 0.0
    for step in steps:
        height = stack.parts.get(step, 0.0)
        colour, hatch = _look(step)
        axes.bar(at, height, 0.62, bottom=bottom, color=colour, hatch=hatch, edgecolor="#fff", linewidth=0.6)
        if height >= least:
            where = at, bottom + height / 2
            axes.text(*where, numbers[step], ha="center", va="center", fontsize=8, color=_ink(colour))
        bottom += height


def _draw_bars(axes: Axes, bars: Sequence[Bar], steps: Iterable[str]) -> None:
    """Draw the bars of each step at once, and a hatch over those that failed."""
    for step in steps:
        boxes = [_box(bar) for bar in bars if bar.step == step]
        colour, hatch = _look(step)
        axes.add_collection(
            PolyCollection(boxes, facecolors=colour, edgecolors="#fff", linewidths=0.4, hatch=hatch or None)
        )
    failed = [_box(bar) for bar in bars if bar.failed]
    if failed:
        axes.add_collection(
            PolyCollection(failed, facecolors="none", edgecolors=TEXT, linewidths=1.0, hatch="xxxx", zorder=3)
        )


def _box(bar: Bar) -> list[tuple[float, float]]:
    low, high = bar.lane + 0.08, bar.lane + bar.lanes - 0.08
    return [(bar.start, low), (bar.end, low), (bar.end, high), (bar.start, high)]


def _number_bars(axes: Axes, bars: Iterable[Bar], numbers: Mapping[str, str], lanes: int) -> None:
    """Write each step's number on its bars, where they are high enough for it."""
    for bar in bars:
        if bar.lanes / lanes >= 0.02 and not bar.failed:
            where = (bar.start + bar.end) / 2, bar.lane + bar.lanes / 2
            ink = _ink(_look(bar.step)[0])
            axes.text(*where, numbers[bar.step], ha="center", va="center", fontsize=7.5, color=ink)


def _enlarged(values: np.ma.MaskedArray) -> np.ma.MaskedArray:
    """Many pixels a run: some viewers smooth what they scale up."""
    times = max(1, LEAST_PIXELS // len(values))
    return np.ma.masked_invalid(np.kron(values.filled(np.nan), np.ones((times, times))))


def _edges(runs: int) -> tuple[float, float, float, float]:
    """Where a square picture lies so that runs have whole numbers, counted from above."""
    return -0.5, runs - 0.5, runs - 0.5, -0.5


def _number_runs(axes: Axes, values: np.ma.MaskedArray, look: MapLook) -> None:
    """Write each figure on its run: white where the colour is dark, which the greatest are."""
    dark = (values.min() + values.max()) / 2
    for (row, column), value in np.ndenumerate(values):
        if value is not np.ma.masked:
            ink = "#ffffff" if value > dark else "#000000"
            axes.text(column, row, f"{value:.{look.digits}f}", ha="center", va="center", fontsize=7.5, color=ink)


def _name_lanes(axes: Axes, lanes: Sequence[str]) -> None:
    every = -(-len(lanes) // MOST_LANES_NAMED)
    named = range(0, len(lanes), max(every, 1))
    axes.set_yticks([lane + 0.5 for lane in named], [_short(lanes[lane]) for lane in named])
    axes.tick_params(axis="y", length=0)


def _short(name: str, most: int = 24) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _look(step: str) -> tuple[str, str]:
    return STEP_LOOKS.get(step, ("#404040", ""))


def _ink(colour: str) -> str:
    return "#ffffff" if colour in DARK else "#000000"


def _step_key(steps: Iterable[str], numbers: Mapping[str, str]) -> tuple[list, list[str]]:
    looks = [(step, *_look(step)) for step in steps]
    handles = [Patch(facecolor=colour, hatch=hatch, edgecolor="#fff", linewidth=0.6) for _, colour, hatch in looks]
    return handles, [f"{numbers[step]} {step}" for step, *_ in looks]


def _legend(figure: Figure, handles: list, labels: list[str], columns: int) -> None:
    figure.legend(
        handles,
        labels,
        loc="lower left",
        ncols=columns,
        bbox_to_anchor=(0.01, 0.0),
        borderaxespad=0.2,
        handlelength=1.6,
        columnspacing=1.2,
        labelspacing=0.35,
    )


# -------------------------------------------------------------------------------------------------- svg


def _svg(figure: Figure, name: str, title: str, description: str) -> str:
    """Return the figure as an SVG element that can stand within a page beside others, and as a file."""
    written = io.StringIO()
    figure.savefig(written, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    root = ElementTree.fromstring(written.getvalue())
    for defs in root.findall(f"{{{SVG}}}defs"):
        for style in defs.findall(f"{{{SVG}}}style"):  # it would rule the page that the figure stands in
            defs.remove(style)
    for element in root.iter():
        _adapt(element, name)
    root.attrib.pop("width")
    root.attrib.pop("height")
    root.attrib |= {
        "role": "img",
        "aria-labelledby": f"{name}-title {name}-description",
        "font-family": FONTS,
        "stroke-linejoin": "round",
        "stroke-linecap": "butt",
    }
    for at, (tag, text) in enumerate((("title", title), ("desc", description))):
        element = ElementTree.Element(f"{{{SVG}}}{tag}", {"id": f"{name}-{tag.replace('desc', 'description')}"})
        element.text = text
        root.insert(at, element)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _adapt(element: ElementTree.Element, name: str) -> None:
    """Make an element's identifier unique in a page of several figures, and leave the font to the whole figure."""
    for key, value in element.attrib.items():
        if key == "id":
            element.set(key, f"{name}-{value}")
        elif key == f"{{{XLINK}}}href":
            element.set(key, value.replace("#", f"#{name}-", 1))
        elif "url(#" in value:
            element.set(key, value.replace("url(#", f"url(#{name}-"))
    style = element.get("style", "")
    if "font-family" in style:
        kept = [rule for rule in style.split("; ") if not rule.startswith("font-family")]
        element.set("style", "; ".join(kept))
