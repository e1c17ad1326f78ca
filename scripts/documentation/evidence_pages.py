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
    doubt = doubted(record)
    figures = [row(figure, doubt) for figure in record["figures"]]
    source = f"docs/evidence/data/{record['bench']}.json"
    return TEMPLATES.get_template("evidence.md.jinja").render(
        record, mark=MARK, source=source, rows=figures, doubt=doubt, escaped=escaped
    )


def doubted(record: Record) -> str:
    """Why figures show nothing of a tree that one can look at; empty where they do.

    `commit_lost`, which no bench writes, is noted of a commit that the repository does not have.
    """
    if record["changed"]:
        return "the tree had changes that are in no commit"
    return "the commit is not in this repository" if record.get("commit_lost") else ""


def row(figure: Record, doubt: str) -> dict[str, str]:
    """A figure's median, spread and bounds, and whether these hold."""
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
        "verdict": verdict(figure, doubt),
    }


def verdict(figure: Record, doubt: str) -> str:
    """Whether a figure keeps its bounds; empty where it has none.

    One run of what differs between runs shows no bound; results are the same each time.
    """
    least, most, values = figure["least"], figure["most"], figure["values"]
    if least is None and most is None:
        return ""
    if doubt:
        return "not shown: see above"
    kept = [is_within(value, least, most) for value in values]
    if not is_within(statistics.median(values), least, most):
        return f"**does not hold** ({kept.count(True)} of {len(kept)})"
    if len(values) == 1 and not figure["of_results"]:
        return "not shown: one run"
    return "holds" if all(kept) else f"holds in the median ({kept.count(True)} of {len(kept)})"


def is_within(value: float, least: float | None, most: float | None) -> bool:
    return (least is None or value >= least) and (most is None or value <= most)
