"""A picture of the CPUs of a machine and the slots that jobs get of them, as SVG. Pure: one layout, one picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from gpd.machines.topology import (
    SHORT,
    Core,
    Group,
    Layout,
    counts,
    format_cpus,
    heading,
    nest,
    remarks,
    slot_names,
    told_levels,
)
from gpd.text.formats import counted

CELL_W, ROW_H = 54, 17  # a core is a cell with one row for each of its CPUs
GAP, LABEL_H, MARGIN = 8, 18, 20
CHAR_W = 7.2  # of the legend's text, generously
LEAST_W = 560
ASPECT = 1.6  # width by height that boxes are arranged for
# Neighbours differ in hue and lightness; black text can be read on all. Slots are numbered too: colours repeat.
COLOURS = (
    *("#7fb2e5", "#f6b26b", "#93c47d", "#e99ac0", "#ffe066", "#b39ddb", "#76d0c5", "#e68a7d"),
    *("#c5d86d", "#d7b594"),
)
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1a1a1a }
.title { font-size: 16px; font-weight: 600 }
.label { font-size: 11px; font-weight: 600; fill: #444 }
.cpu { font-size: 11px }
.slot { font-size: 9px; fill: #333; text-anchor: end }
.socket { fill: #f1f1f1; stroke: #555; stroke-width: 1.5 }
.numa { fill: #fafafa; stroke: #888 }
.l3 { fill: #fff; stroke: #aaa }
.core { fill: #fff; fill-opacity: 0; stroke: #555 }
.held { fill-opacity: .3 }
"""


@dataclass(frozen=True)
class Box:
    """A group or core with its size and what lies within it at which place; lengths are pixels."""

    shows: Group | Core
    width: float
    height: float
    within: tuple[tuple[float, float, "Box"], ...] = ()


@dataclass(frozen=True)
class Slots:
    """Where each CPU is in the slots, counted from 1."""

    layout: Layout

    def of(self, cpu: int) -> int | None:
        return next((number for number, slot in enumerate(self.layout.slots, 1) if cpu in slot), None)

    @property
    def keep_idle(self) -> bool:
        """Whether slots take whole cores of which jobs use a part."""
        return any(self.holding(core) and not all(map(self.of, core.cpus)) for core in self.layout.cores)

    def holding(self, core: Core) -> int | None:
        """Return the slot that a whole core belongs to; none where hyperthreads are CPUs of their own."""
        if self.layout.policy.smt:
            return None
        return next(filter(None, map(self.of, core.cpus)), None)


def draw(layout: Layout, title: str) -> str:
    """Return the picture as the text of an SVG file."""
    slots = Slots(layout)
    boxes = [_box(group) for group in nest(layout.cores, told_levels(layout.cores))]
    inner_w, inner_h, places = _arrange(boxes)
    names = slot_names(layout)
    entry_w = 36 + CHAR_W * max(map(len, names), default=0)
    pale = ["pale: kept idle for the job on the same core"] if slots.keep_idle else []
    lines = [counts(layout.cores), heading(layout), *pale, *remarks(layout)]
    width = max(inner_w, LEAST_W, entry_w, CHAR_W * max(map(len, lines))) + 2 * MARGIN
    columns = int((width - 2 * MARGIN) // entry_w)
    legend_y = 76 + inner_h + 30
    legend_h = 20 * ceil(len(names) / columns) + 20 * len(lines[2:])
    svg = _svg(width, legend_y + legend_h + MARGIN)
    _text(svg, MARGIN, 32, title, "title")
    _text(svg, MARGIN, 54, lines[0])
    for x, y, box in places:
        _draw_box(svg, MARGIN + x, 76 + y, box, slots)
    _text(svg, MARGIN, legend_y, lines[1], "label")
    for at, name in enumerate(names):
        _draw_entry(svg, MARGIN + at % columns * entry_w, legend_y + 10 + 20 * (at // columns), at + 1, name)
    for at, line in enumerate(lines[2:], ceil(len(names) / columns)):
        _text(svg, MARGIN, legend_y + 23 + 20 * at, line)
    indent(svg, " ")
    return tostring(svg, encoding="unicode", xml_declaration=False) + "\n"


# ------------------------------------------------------------------------------------------- arranging


def _box(group: Group) -> Box:
    """Size a group by what it holds: other groups, or cores."""
    held = [_box(inner) for inner in group.within] or [_cell(core) for core in group.cores]
    width, height, places = _arrange(held, gap=GAP if group.within else 0)
    placed = tuple((x + GAP, y + LABEL_H + GAP / 2, box) for x, y, box in places)
    return Box(group, width + 2 * GAP, height + LABEL_H + 1.5 * GAP, placed)


def _cell(core: Core) -> Box:
    return Box(core, CELL_W, ROW_H * len(core.cpus) + 1)


def _arrange(boxes: Sequence[Box], gap: float = GAP) -> tuple[float, float, list[tuple[float, float, Box]]]:
    """Place boxes on a grid of the best proportions; return its width and height, and the places."""
    wide, high = max(box.width for box in boxes) + gap, max(box.height for box in boxes) + gap

    def badness(columns: int) -> tuple[float, float]:
        rows = ceil(len(boxes) / columns)
        return rows * columns - len(boxes), abs(log(columns * wide / (rows * high) / ASPECT))

    columns = min(range(1, len(boxes) + 1), key=lambda n: sum(badness(n)))
    rows = ceil(len(boxes) / columns)
    places = [(at % columns * wide, at // columns * high, box) for at, box in enumerate(boxes)]
    return columns * wide - gap, rows * high - gap, places


# --------------------------------------------------------------------------------------------- drawing


def _svg(width: float, height: float) -> Element:
    size = {"width": f"{width:g}", "height": f"{height:g}", "viewBox": f"0 0 {width:g} {height:g}"}
    svg = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **size})
    SubElement(svg, "style").text = STYLE
    SubElement(svg, "rect", {"width": "100%", "height": "100%", "fill": "#fff"})
    return svg


def _text(parent: Element, x: float, y: float, text: str, kind: str = "") -> None:
    attributes = {"x": f"{x:g}", "y": f"{y:g}", **({"class": kind} if kind else {})}
    SubElement(parent, "text", attributes).text = text


def _rect(parent: Element, x: float, y: float, width: float, height: float, **look: str) -> None:
    place = {"x": f"{x:g}", "y": f"{y:g}", "width": f"{width:g}", "height": f"{height:g}"}
    SubElement(parent, "rect", place | {name.rstrip("_"): value for name, value in look.items()})


def _titled(parent: Element, title: str) -> Element:
    """Return a new group of elements that shows `title` when pointed at."""
    group = SubElement(parent, "g")
    SubElement(group, "title").text = title
    return group


def _draw_box(parent: Element, x: float, y: float, box: Box, slots: Slots) -> None:
    if isinstance(box.shows, Core):
        _draw_core(parent, x, y, box.shows, slots)
    else:
        _draw_group(parent, x, y, box.shows, box, slots)


def _draw_group(parent: Element, x: float, y: float, group: Group, box: Box, slots: Slots) -> None:
    drawn = _titled(parent, f"{group.name}: {counted(len(group.cores), 'core')}, CPUs {group.cpus}")
    _rect(drawn, x, y, box.width, box.height, class_=group.level, rx="4")
    _text(drawn, x + GAP, y + 14, group.name, "label")
    for right, down, inner in box.within:
        _draw_box(drawn, x + right, y + down, inner, slots)


def _draw_core(parent: Element, x: float, y: float, core: Core, slots: Slots) -> None:
    drawn = _titled(parent, _core_title(core, slots))
    held_by = slots.holding(core)
    for row, cpu in enumerate(core.cpus):
        top, number = y + row * ROW_H, slots.of(cpu)
        if taken_by := number or held_by:
            look = {} if number else {"class_": "held"}
            _rect(drawn, x, top, CELL_W, ROW_H, fill=_colour(taken_by), **look)
        _text(drawn, x + 5, top + 13, str(cpu), "cpu")
        if number:
            _text(drawn, x + CELL_W - 4, top + 12, f"s{number}", "slot")
    _rect(drawn, x, y, CELL_W, ROW_H * len(core.cpus), class_="core")


def _core_title(core: Core, slots: Slots) -> str:
    where = [f"{name} {getattr(core, level)}" for level, name in SHORT.items() if getattr(core, level) >= 0]
    numbers = sorted({number for cpu in core.cpus if (number := slots.of(cpu))})
    taken = [f"slot {number} (CPUs {format_cpus(slots.layout.slots[number - 1])})" for number in numbers]
    return f"core of CPUs {format_cpus(core.cpus)}: {', '.join([*where, *(taken or ['no slot'])])}"


def _draw_entry(parent: Element, x: float, y: float, number: int, name: str) -> None:
    entry = _titled(parent, f"slot {name.strip()}")
    _rect(entry, x, y, 16, 16, fill=_colour(number), stroke="#555")
    _text(entry, x + 22, y + 13, name.strip())


def _colour(number: int) -> str:
    return COLOURS[(number - 1) % len(COLOURS)]
