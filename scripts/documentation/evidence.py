"""The pages of evidence, made of what benches wrote with --json, and the figures between markers in README.md."""

import csv
import json
import re
import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from documentation.pages import DOCS, MARK, ROOT, cell, code, page, slug, table

DATA = DOCS / "evidence/data"
DISK = ROOT / "tests/golden/disk/measured.tsv"
FIGURE = re.compile(r"(<!-- figure: (\S+) -->)(.*?)(<!-- -->)", re.DOTALL)
TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)

Record = Mapping[str, Any]


def pages() -> dict[str, str]:
    """Every generated page of docs/evidence, by its name; faults.md is written by tests/faults/matrix.py."""
    made = {record["bench"]: bench_page(record) for record in records()}
    return made | {"disk": disk_page()}


def records() -> Iterator[Record]:
    """What benches wrote, the latest of each."""
    for path in sorted(DATA.glob("*.json")):
        yield json.loads(path.read_text(encoding="utf-8"))


def bench_page(record: Record) -> str:
    figures = [shown(record["bench"], figure) for figure in record["figures"]]
    source = f"docs/evidence/data/{record['bench']}.json"
    return TEMPLATES.get_template("evidence.md.jinja").render(record, mark=MARK, source=source, rows=figures, cell=cell)


def shown(bench: str, figure: Record) -> dict[str, str]:
    """A figure's cells: its name, its median, and how far it spreads."""
    values = sorted(figure["values"])
    least, median, most = (
        f"{value:,.{figure['decimals']}f}" for value in (values[0], statistics.median(values), values[-1])
    )
    bounds = (("at least", figure["least"]), ("at most", figure["most"]))
    goal = ", ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)
    return {
        "name": f"{bench}.{slug(figure['what'])}",
        "what": figure["what"],
        "median": median,
        "n": str(len(values)),
        "spread": f"{least} to {most}" if len(values) > 1 else "",
        "goal": goal,
    }


def by_name() -> dict[str, str]:
    """Every figure that a document may cite, as it is shown, by its name."""
    benches = (shown(record["bench"], figure) for record in records() for figure in record["figures"])
    return {figure["name"]: figure["median"] for figure in benches} | {
        f"disk.{row['name'].replace('_', '-')}": ratio(row["peak_bytes"], row) for row in disk_rows()
    }


def with_figures(text: str) -> str:
    """A document with the figures between its markers taken from the evidence."""
    known = by_name()

    def replaced(found: re.Match[str]) -> str:
        if found[2] not in known:
            raise ValueError(f"no evidence has the figure {found[2]}")
        return f"{found[1]}{known[found[2]]}{found[4]}"

    return FIGURE.sub(replaced, text)


# ---- disk --------------------------------------------------------------------------------------------


def disk_rows() -> list[dict[str, str]]:
    with DISK.open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


def ratio(size: str, row: Mapping[str, str]) -> str:
    """Bytes of disk for each byte of the sample's compressed FASTQ."""
    return f"{int(size) / fastq_bytes(row):.2f}"


def fastq_bytes(row: Mapping[str, str]) -> int:
    """The size of a sample's read files: the second number of each unit."""
    return sum(unit[1] for unit in json.loads(row["units"]))


def disk_page() -> str:
    rows = (
        (
            row["name"].replace("_", " "),
            ", ".join(f"{code(f'{key}: {value}')}" for key, value in json.loads(row["settings"]).items()),
            f"{fastq_bytes(row) / 1e6:.1f}",
            ratio(row["peak_bytes"], row),
            ratio(row["kept_bytes"], row),
        )
        for row in disk_rows()
    )
    heads = ("sample", "settings", "compressed FASTQ, MB", "peak, bytes per byte", "kept, bytes per byte")
    return page(
        "Disk",
        "tests/golden/disk/measured.tsv",
        "How much disk one sample takes while it runs, and how much it keeps, for each byte of its compressed FASTQ.",
        "```sh\npython tests/golden/disk/record.py\n```",
        "Each sample ran alone, once (n = 1), one job after the other. Sizes of files do not depend on the machine. "
        "The tests hold the predictions that `gpd run` makes against this table.",
        table(heads, rows),
    )
