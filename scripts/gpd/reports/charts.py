"""The figures of a report, drawn by matplotlib as SVG. Pure: numbers in, text out, the same text every time.

Numbers come in the unit that the axis names.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import fsum
from textwrap import fill
from typing import Any, TypeVar

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from gpd.reports import looks, svg
from gpd.statistics.estimates import Estimate
from gpd.text.formats import number, unit_for

HEADROOM = 1.06  # above the highest point, for its ring and error bar
MOST_BARS = 1500  # of a timeline: past that they are thinner than a line
MOST_LANES_NAMED = 32
MOST_IN_HALF = 16  # cores: a map of more takes a page's width
LONGEST_NAME = 24  # characters
LEGEND_LINE, HALF_LEGEND_LINE = 52, 26  # characters; a legend of longer names than the latter has one column
SAMPLES_AT_ONCE = "samples at once (N)"
WHISKERS = "Lines at a part's top: the 95% confidence interval of its own mean; a part without has one repeat."
INTERVALS = "Bars: 95% confidence intervals of the mean, by Student's t; a point without has one repeat."


Key = TypeVar("Key", int, str)


def known(estimates: Mapping[Key, Estimate]) -> dict[Key, Estimate]:
    """Those that have a value."""
    return {key: one for key, one in estimates.items() if one.value is not None}


@dataclass(frozen=True)
class Curve:
    """Means by N, ascending; `saturation` is the N past which more samples at once do not help."""

    label: str
    points: Mapping[int, Estimate]
    saturation: int | None = None


@dataclass(frozen=True)
class Stack:
    """One bar: what each step took, in the order they are stacked."""

    label: str
    parts: Mapping[str, Estimate]

    @property
    def total(self) -> float:
        """The height of all of it."""
        return fsum(map(self.height, self.parts))

    def times(self, factor: float) -> "Stack":
        return Stack(self.label, {step: of.times(factor) for step, of in self.parts.items()})

    def height(self, step: str) -> float:
        return self.parts.get(step, Estimate()).value or 0.0

    def error(self, step: str) -> float | None:
        """How far it may be off to each side."""
        return self.parts.get(step, Estimate()).half_width

    def in_words(self) -> str:
        return ", ".join(f"{step} {number(of.value)}" for step, of in self.parts.items())


@dataclass(frozen=True)
class Bar:
    """A job on `lanes` lanes from lane `lane` on, counted from 0."""

    step: str
    lane: int
    lanes: int
    start: float
    end: float
    failed: bool = False


def draw_curves(
    name: str,
    title: str,
    curves: Sequence[Curve],
    y_label: str,
    muted: bool = False,
    x_label: str = SAMPLES_AT_ONCE,
) -> svg.Drawing:
    """Lines against N with error bars; saturation points are ringed. `muted` draws lines for reference in grey.

    A curve of which nothing is known is left out.
    """
    curves = [curve for curve in curves if curve.points]
    saturations = any(curve.saturation is not None for curve in curves)
    names = [fill(curve.label, LEGEND_LINE) for curve in curves] + ["saturation point"] * saturations
    columns = 2 if all(len(name) <= HALF_LEGEND_LINE for name in names) else 1
    with matplotlib.rc_context(svg.SETTINGS | {"svg.hashsalt": name}):
        figure, axes = svg.half("\n".join(names).count("\n") + 1, columns)
        for at, curve in enumerate(curves):
            _draw_curve(axes, curve, at, muted)
        _count_axis(axes, sorted({n for curve in curves for n in curve.points}), x_label)
        axes.set_ylim(0, HEADROOM * axes.get_ylim()[1])
        axes.set_ylabel(y_label)
        handles, _ = axes.get_legend_handles_labels()
        if saturations:
            handles.append(Line2D([], [], ls="", marker="o", ms=11, mfc="none", mec=svg.TEXT))
        svg.legend(figure, handles, names, columns)
        return svg.drawing(figure, name, title, in_words(curves, x_label))


def in_words(curves: Iterable[Curve], x_label: str = SAMPLES_AT_ONCE) -> str:
    """Say in words what curves show, for readers who can't see them."""
    x = "N" if x_label == SAMPLES_AT_ONCE else x_label
    return "; ".join(
        f"{curve.label}: " + ", ".join(f"{number(point.value)} at {x} = {n}" for n, point in curve.points.items())
        for curve in curves
    )


def draw_map(
    name: str,
    title: str,
    description: str,
    rows: Sequence[Sequence[float]],
    labels: Sequence[str],
    edges: Sequence[int],
) -> svg.Drawing:
    """CPUs against CPUs as a square of colours, in ns; lines stand before `edges`. What is NaN is grey."""
    wide = len(rows) > MOST_IN_HALF
    with matplotlib.rc_context(svg.SETTINGS | {"svg.hashsalt": name, "axes.grid": False}):
        side = svg.FULL_W * 0.72 if wide else svg.HALF_W * 0.74
        width, height = svg.FULL_W if wide else svg.HALF_W, side + 0.75
        figure, axes = svg.axes(width, height, bottom=0.55, left=0.62, top=0.2, right=width - side - 0.62)
        axes.set_facecolor("#f2f2f2")
        image = axes.imshow(np.array(rows), cmap="cividis_r", interpolation="none")
        bar = figure.add_axes(((0.62 + side + 0.12) / width, 0.55 / height, 0.13 / width, side / height))
        figure.colorbar(image, cax=bar).outline.set_visible(False)
        bar.set_title("ns", fontsize=8.5, loc="left")
        for at in edges:
            axes.axhline(at - 0.5, color="#fff", lw=1.0)
            axes.axvline(at - 0.5, color="#fff", lw=1.0)
        named = range(0, len(rows), -(-len(rows) // MOST_LANES_NAMED))
        axes.set_xticks(named, [labels[at] for at in named], rotation=90 if wide else 0)
        axes.set_yticks(named, [labels[at] for at in named])
        axes.tick_params(length=0, labelsize=7.5 if wide else 9)
        axes.set_xlabel("CPU")
        axes.set_ylabel("CPU")
        return svg.drawing(figure, name, title, description, wide)


def draw_stacks(
    name: str,
    title: str,
    stacks: Sequence[Stack],
    y_label: str,
    numbers: Mapping[str, str],
    x_label: str = SAMPLES_AT_ONCE,
) -> svg.Drawing:
    """A bar for each N, steps stacked from the first upwards; each part that has room bears its step's number.

    Parts are seconds, and drawn in the unit of the longest bar, whose name `y_label` has in place of {}.
    """
    unit = unit_for(max(stack.total for stack in stacks))
    stacks, y_label = [stack.times(1 / unit.seconds) for stack in stacks], y_label.format(unit.name)
    steps = [step for step in numbers if any(step in stack.parts for stack in stacks)]
    with matplotlib.rc_context(svg.SETTINGS | {"svg.hashsalt": name, "axes.grid.axis": "y"}):
        figure, axes = svg.half(len(steps))
        highest = max(stack.total for stack in stacks) or 1
        bottom = np.zeros(len(stacks))
        for step in steps:
            heights = np.array([stack.height(step) for stack in stacks])
            colour, hatch = looks.look(step, numbers)
            look: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": "#fff", "linewidth": 0.6}
            bars = axes.bar(range(len(stacks)), heights, 0.62, bottom=bottom, **look)
            named = [numbers[step] if height >= highest * 0.06 else "" for height in heights]
            axes.bar_label(bars, named, label_type="center", fontsize=8, color=looks.ink(colour))
            bottom += heights
            _draw_whiskers(axes, [stack.error(step) for stack in stacks], bottom, steps.index(step) / len(steps))
        axes.set_ylim(0)
        axes.set_xticks(range(len(stacks)), [stack.label for stack in stacks])
        room = max(3 - len(stacks), 0) / 2  # a lone bar is no wall
        axes.set_xlim(-0.6 - room, len(stacks) - 0.4 + room)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        svg.legend(figure, *looks.step_key(steps, numbers), columns=2)
        head = "N = " if x_label == SAMPLES_AT_ONCE else ""
        words = "; ".join(f"{head}{stack.label}: {stack.in_words()}" for stack in stacks)
        return svg.drawing(figure, name, title, f"{y_label.capitalize()}. {words}")


def draw_timeline(
    name: str,
    title: str,
    description: str,
    bars: Sequence[Bar],
    lanes: Sequence[str],
    axis: tuple[str, str],
    numbers: Mapping[str, str],
) -> svg.Drawing:
    """Which job held what when: a row a lane, a bar a job; `axis` names time and lanes."""
    longest = sorted(bars, key=lambda bar: (bar.start - bar.end, bar.start, bar.lane))[:MOST_BARS]
    drawn = sorted(longest, key=lambda bar: (bar.start, bar.lane))
    steps = [step for step in numbers if any(bar.step == step for bar in drawn)]
    failed = any(bar.failed for bar in drawn)
    rows = -(-(len(steps) + failed) // 3)
    with matplotlib.rc_context(svg.SETTINGS | {"svg.hashsalt": name, "axes.grid.axis": "x"}):
        height = 1.0 + rows * svg.LEGEND_ROW + min(max(0.3 * len(lanes), 0.6), 6.0)
        left = 0.55 + 0.07 * max(map(len, lanes), default=0)
        figure, axes = svg.axes(svg.FULL_W, height, left=min(left, 2.4), bottom=0.62 + rows * svg.LEGEND_ROW, top=0.12)
        end = max((bar.end for bar in drawn), default=1) or 1
        _draw_bars(axes, drawn, {step: looks.look(step, numbers) for step in steps})
        _number_bars(axes, [bar for bar in drawn if bar.end - bar.start > end * 0.02], numbers, len(lanes))
        axes.set_xlim(0, end)
        axes.set_ylim(len(lanes), 0)
        _name_lanes(axes, lanes)
        axes.set_xlabel(axis[0])
        axes.set_ylabel(axis[1])
        handles, labels = looks.step_key(steps, numbers)
        if failed:
            handles.append(Patch(facecolor="#fff", edgecolor=svg.TEXT, hatch="xxxx", linewidth=0.8))
            labels.append("failed")
        svg.legend(figure, handles, labels, columns=3)
        return svg.drawing(figure, name, title, description, wide=True)


# ------------------------------------------------------------------------------------------------ parts


def _draw_curve(axes: Axes, curve: Curve, at: int, muted: bool) -> None:
    colours = looks.GREYS if muted else looks.LINES
    colour, mark = colours[at % len(colours)], looks.MARKERS[at % len(looks.MARKERS)]
    values = {n: point.value for n, point in curve.points.items() if point.value is not None}
    dashes = looks.DASHES[at % len(looks.DASHES)] if muted else "-"
    axes.plot(
        list(values), list(values.values()), color=colour, marker=mark, ls=dashes, ms=5, lw=1.6, label=curve.label
    )
    bars = [(n, of.value, of.low, of.high) for n, of in curve.points.items() if of.low is not None]
    if bars:
        x, y, low, high = np.array(bars, dtype=float).T
        low = low.clip(min=0)  # nothing is done less than not at all
        axes.errorbar(x, y, yerr=(y - low, high - y), fmt="none", ecolor=colour, elinewidth=1.2)
    ringed = {n: value for n, value in values.items() if n == curve.saturation}
    axes.plot(list(ringed), list(ringed.values()), ls="", marker="o", ms=13, mfc="none", mec=colour)


def _draw_whiskers(axes: Axes, errors: Sequence[float | None], tops: np.ndarray, at: float) -> None:
    """The errors of one step, a part `at` of the way across each bar: those of steps stand beside each other."""
    known = [
        (x - 0.25 + 0.5 * at, top, error) for x, (top, error) in enumerate(zip(tops, errors, strict=True)) if error
    ]
    if known:
        x, y, error = np.array(known).T
        axes.errorbar(x, y, yerr=error, fmt="none", ecolor=svg.TEXT, elinewidth=0.9, capsize=2)


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


def _draw_bars(axes: Axes, bars: Sequence[Bar], of_steps: Mapping[str, tuple[str, str]]) -> None:
    """Draw the bars of each step at once, and a hatch over those that failed."""
    for step, (colour, hatch) in of_steps.items():
        boxes = [_box(bar) for bar in bars if bar.step == step]
        axes.add_collection(
            PolyCollection(boxes, facecolors=colour, edgecolors="#fff", linewidths=0.4, hatch=hatch or None)
        )
    failed = [_box(bar) for bar in bars if bar.failed]
    if failed:
        axes.add_collection(
            PolyCollection(failed, facecolors="none", edgecolors=svg.TEXT, linewidths=1.0, hatch="xxxx", zorder=3)
        )


def _box(bar: Bar) -> list[tuple[float, float]]:
    low, high = bar.lane + 0.08, bar.lane + bar.lanes - 0.08
    return [(bar.start, low), (bar.end, low), (bar.end, high), (bar.start, high)]


def _number_bars(axes: Axes, bars: Iterable[Bar], numbers: Mapping[str, str], lanes: int) -> None:
    """Write each step's number on its bars, where they are high enough for it."""
    for bar in bars:
        if bar.lanes / lanes >= 0.02 and not bar.failed:
            where = (bar.start + bar.end) / 2, bar.lane + bar.lanes / 2
            ink = looks.ink(looks.look(bar.step, numbers)[0])
            axes.text(*where, numbers[bar.step], ha="center", va="center", fontsize=7.5, color=ink)


def _name_lanes(axes: Axes, lanes: Sequence[str]) -> None:
    named = range(0, len(lanes), max(-(-len(lanes) // MOST_LANES_NAMED), 1))
    axes.set_yticks([lane + 0.5 for lane in named], [lanes[lane][:LONGEST_NAME] for lane in named])
    axes.tick_params(axis="y", length=0)
