"""The pages of evidence, made of what benches wrote with --json."""

import json
import re
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from documentation.pages import DOCS, MARK, ROOT, escaped

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)

Record = Mapping[str, Any]
EXAMPLES = (  # show recorded output
    ROOT / "README.md",
    *(DOCS / "tutorials" / page for page in ("demo.md", "first-cohort.md")),
    *(DOCS / "how-to" / page for page in ("filter-variants.md", "publish-results.md")),
)
OUTPUT = re.compile(r"(<!-- output of (\w+): (\w+) -->\n).*?(?=<!-- end of output -->)", re.DOTALL)


def pages() -> dict[str, str]:
    """The page of each record, by its file; disk.md and faults.md are written by what measures them, in tests/."""
    return {name: bench_page({**record, "bench": name}) for name, record in records().items()}


def records() -> dict[str, Record]:
    """What benches wrote, by the name of the file: that of the bench, or of one of several of it."""
    paths = sorted((DOCS / "evidence/data").glob("*.json"))
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def examples() -> dict[Path, str]:
    """The documents that show output, with what was recorded of it."""
    return {path: with_outputs(path.read_text(encoding="utf-8"), records()) for path in EXAMPLES}


def with_outputs(text: str, found: Mapping[str, Record]) -> str:
    """A text with the output that each of its marks names: `<!-- output of RECORD: NAME -->`."""

    def block(mark: re.Match[str]) -> str:
        lines = found[mark[2]]["outputs"][mark[3]]
        return "\n".join((f"{mark[1]}```", *lines, "```", ""))

    return OUTPUT.sub(block, text)


def bench_page(record: Record) -> str:
    figures = [row(figure) for figure in record["figures"]]
    source = f"docs/evidence/data/{record['bench']}.json"
    return TEMPLATES.get_template("evidence.md.jinja").render(
        record, mark=MARK, source=source, rows=figures, escaped=escaped
    )


def row(figure: Record) -> dict[str, str]:
    """A figure's median, spread and bounds."""
    values = sorted(figure["values"])
    least, median, most = (
        f"{value:,.{figure['decimals']}f}" for value in (values[0], statistics.median(values), values[-1])
    )
    bounds = (("at least", figure["least"]), ("at most", figure["most"]))
    return {
        "what": figure["what"],
        "median": median,
        "n": str(len(values)),
        "spread": f"{least} to {most}" if len(values) > 1 else "",
        "goal": ", ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None),
    }
