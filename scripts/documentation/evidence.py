"""The pages of evidence, made of what benches wrote with --json."""

import json
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from documentation.pages import DOCS, MARK, cell, slug

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)

Record = Mapping[str, Any]


def pages() -> dict[str, str]:
    """The page of each bench, by its name; disk.md and faults.md are written by what measures them, in tests/."""
    records = (json.loads(path.read_text(encoding="utf-8")) for path in sorted((DOCS / "evidence/data").glob("*.json")))
    return {record["bench"]: bench_page(record) for record in records}


def bench_page(record: Record) -> str:
    figures = [row(record["bench"], figure) for figure in record["figures"]]
    source = f"docs/evidence/data/{record['bench']}.json"
    return TEMPLATES.get_template("evidence.md.jinja").render(record, mark=MARK, source=source, rows=figures, cell=cell)


def row(bench: str, figure: Record) -> dict[str, str]:
    """A figure's name, median, spread and bounds."""
    values = sorted(figure["values"])
    least, median, most = (
        f"{value:,.{figure['decimals']}f}" for value in (values[0], statistics.median(values), values[-1])
    )
    bounds = (("at least", figure["least"]), ("at most", figure["most"]))
    return {
        "name": f"{bench}.{slug(figure['what'])}",
        "what": figure["what"],
        "median": median,
        "n": str(len(values)),
        "spread": f"{least} to {most}" if len(values) > 1 else "",
        "goal": ", ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None),
    }
