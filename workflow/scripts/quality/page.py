"""The table of samples as a page of its own: sorted and filtered in the browser, with pictures, without a network.

    page.py --columns COLUMNS.tsv --template samples.html SAMPLES.tsv > SAMPLES.html

A picture has a point a sample: of one figure, in the order of its values; of two, one against the other.
Standard library only.
"""

import argparse
import csv
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from urllib.parse import quote

LEVELS = ("fail", "warn", "pass")
WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 420, 260, 62, 44, 12, 24
TICKS = 5  # on an axis, about
WORDS = ("reason",)  # columns that hold sentences

Row = Mapping[str, str]
Columns = Sequence[Mapping[str, str]]


def number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


# ---- pictures -----------------------------------------------------------------------------------------


def ticks(low: float, high: float) -> list[float]:
    """Round values that cover the range."""
    if low == high:
        low, high = low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2
    rough = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [step * at for at in range(first, last + 1)]


def drawn(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.6g}"


def mark(x: float, y: float, level: str) -> str:
    """A verdict by its colour and its shape."""
    if level == "fail":
        return f'<path class="fail" d="M{x:.1f} {y - 6:.1f}l6 6-6 6-6-6z"/>'
    if level == "warn":
        return f'<path class="warn" d="M{x:.1f} {y - 6:.1f}l6 10h-12z"/>'
    return f'<circle class="pass" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>'


def axis(values: Sequence[float], begin: float, end: float, upright: bool) -> tuple[str, list[float]]:
    """Its lines and numbers, and the place of each value."""
    marks = ticks(min(values), max(values))
    scale = (end - begin) / (marks[-1] - marks[0])
    parts = []
    for value in marks:
        at, text = begin + scale * (value - marks[0]), drawn(value)
        if upright:
            parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
            parts.append(f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{text}</text>')
        else:
            parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
            parts.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{text}</text>')
    return "".join(parts), [begin + scale * (value - marks[0]) for value in values]


def picture(title: str, axes: Columns, rows: Iterable[Row]) -> str:
    """Empty where no sample has the figures."""
    found = [(row, [number(row[each["column"]]) for each in axes]) for row in rows]
    points: list[tuple[Row, list[float]]] = [
        (row, [value for value in values if value is not None]) for row, values in found if None not in values
    ]
    if not points:
        return ""
    named = [each["column"] + (f" ({each['unit']})" if each["unit"] != "-" else "") for each in axes]
    if len(axes) == 1:
        points = sorted(points, key=lambda point: point[1])
        points = [(row, [float(rank), *values]) for rank, (row, values) in enumerate(points, 1)]
        named = ["samples, by value", *named]
    lines, xs = axis([values[0] for _, values in points], LEFT, WIDTH - RIGHT, upright=False)
    more, ys = axis([values[1] for _, values in points], HEIGHT - BOTTOM, TOP, upright=True)
    placed = list(zip(points, xs, ys, strict=True))
    placed.sort(key=lambda each: LEVELS.index(each[0][0]["verdict"]), reverse=True)  # the worst are drawn last
    marks = "".join(point(row, axes, x, y) for (row, _), x, y in placed)
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(title)}">{lines}{more}{marks}'
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{escape(named[0])}</text>'
        f'<text transform="rotate(-90)" x="{-(TOP + HEIGHT - BOTTOM) / 2}" y="12" text-anchor="middle">'
        f"{escape(named[1])}</text></svg></figure>"
    )


def point(row: Row, axes: Columns, x: float, y: float) -> str:
    name = row["sample_name"]
    figures = ", ".join(f"{each['column']} {row[each['column']]}" for each in axes)
    text = escape(f"{name}: {figures} ({row['verdict']})")
    return f'<a href="#sample-{quote(name)}" tabindex="-1">{mark(x, y, row["verdict"])}<title>{text}</title></a>'


def pictures(columns: Columns, rows: Sequence[Row]) -> Iterator[str]:
    titles = dict.fromkeys(column["picture"] for column in columns if column["picture"] != "-")
    for title in titles:
        yield picture(title, [column for column in columns if column["picture"] == title], rows)


# ---- the table ----------------------------------------------------------------------------------------


def kind(name: str, rows: Iterable[Row]) -> str:
    """How a column is sorted and set."""
    values = [row[name] for row in rows if row[name]]
    if values and all(number(value) is not None for value in values):
        return "number"
    return "words" if name in WORDS else ""


def page(template: Template, columns: Columns, rows: Sequence[Row]) -> str:
    """Failures first."""
    ordered = sorted(rows, key=lambda row: LEVELS.index(row["verdict"]))
    kinds = {column["column"]: kind(column["column"], rows) for column in columns}
    more = {column["column"]: "" if column["shown"] == "yes" else "more" for column in columns}
    first = columns[0]["column"]
    more[first] = ""
    head = "".join(
        f'<th scope="col" class="{more[name]}" data-kind="{kinds[name]}" title="{escape(column["meaning"])}">'
        f'<button type="button">{escape(name)}</button></th>'
        for column in columns
        for name in [column["column"]]
    )
    classes = {name: f"{kinds[name]} {more[name]}".strip() for name in kinds}
    lines = []
    for row in ordered:
        fields = "".join(f'<td class="{classes[name]}">{escape(row[name])}</td>' for name in kinds if name != first)
        name = escape(row[first])
        lines.append(f'<tr class="{row["verdict"]}" id="sample-{name}"><th scope="row">{name}</th>{fields}</tr>')
    counts = {level: sum(row["verdict"] == level for row in rows) for level in LEVELS}
    counted = ", ".join(f"{count} {level}" for level, count in counts.items())
    return template.substitute(
        summary=f"{len(rows)} samples: {counted}.",
        key="".join(f"<span><svg viewBox='0 0 14 14'>{mark(7, 7, level)}</svg> {level}</span>" for level in LEVELS),
        pictures="\n".join(filter(None, pictures(columns, rows))),
        filters="\n".join(
            f'<label><input type="checkbox" data-verdict="{level}" checked> {level} ({count})</label>'
            for level, count in counts.items()
        ),
        head=head,
        rows="\n".join(lines),
    )


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--columns", type=Path, required=True)
    parser.add_argument("--template", type=Path, required=True)
    parser.add_argument("samples", type=Path)
    given = parser.parse_args(argv)
    template = Template(given.template.read_text(encoding="utf-8"))
    sys.stdout.write(page(template, read(given.columns), read(given.samples)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
