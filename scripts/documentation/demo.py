"""The first page's pictures, and what documents show of the demo's figures and outputs.

    gpd demo
    python -m documentation.demo demo-run [--docs docs]

Writes docs/pictures/*.svg and docs/evidence/data/demo.json. `python -m documentation` makes the page of
evidence and the documents' blocks of output of the latter. The first cohort of the tutorials runs for a minute.
"""

import argparse
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from documentation.drawings import for_dark_pages
from documentation.outputs import WIDTH, outputs
from documentation.pages import DOCS
from gpd.reports.grids import all_curves, configurations_grid
from gpd.reports.page import HTML
from gpd.reports.study_figures import ReportFigure, throughput_figure, timeline_figure
from gpd.tables.collect import Tables, collect
from gpd.text.grid import rich_table

SHOWN = {  # figures of a run, and their decimals
    "genomes_per_day": ("genomes a day", 0),
    "makespan_s": ("makespan, s", 1),
    "cpu_utilisation": ("CPU utilisation", 3),
}
STUDY = "throughput/study"  # in the demo's folder
PIXELS_A_POINT = 96 / 72


def pictures(tables: Tables) -> Mapping[str, str]:
    """The throughput curve and the timeline of a study's first curve, as SVG, by their names."""
    curve = all_curves(tables.configurations)[0]
    return {
        "throughput": _svg(throughput_figure(curve.pipeline, [curve], tables.configurations)),
        "timeline": _svg(timeline_figure(curve, tables.jobs, tables.summary)),
    }


def _svg(figure: ReportFigure) -> str:
    if figure.drawing is None:
        raise SystemExit(figure.note)
    points = float(figure.drawing.svg.partition('viewBox="0 0 ')[2].split()[0])
    sized = figure.drawing.svg.replace("<svg", f'<svg width="{points * PIXELS_A_POINT:.0f}"', 1)
    return "\n".join(line.rstrip() for line in for_dark_pages(sized).splitlines()) + "\n"


def record(tables: Tables, demo: Path) -> Mapping[str, Any]:
    """The figures of each N, as a bench records its own, and what terminals showed."""
    first = min(tables.records, key=lambda run: run.start)
    host, settings = first.host, first.settings
    if host is None or settings is None or settings.workflow_commit is None:
        raise SystemExit(f"{demo / STUDY}: its records do not say where and of what commit it ran")
    return {
        "bench": "demo",
        "about": "The demo's throughput study: tiny simulated genomes, of which nothing of a human one follows.",
        "command": "gpd demo throughput",
        "commit": settings.workflow_commit[:12],
        "changed": False,
        "date": f"{first.start:%Y-%m-%d}",
        "machine": {
            "cpu": host.cpu_model,
            "threads": host.usable_threads,
            "memory_gib": round((host.memory_mib or 0) / 1024, 1),
            "os": host.os,
            "kernel": host.kernel,
        },
        "tools": {tool: version for tool, version in (settings.tools or {}).items() if version},
        "figures": list(figures(tables)),
        "outputs": {"throughput": report(tables)} | outputs(demo),
    }


def figures(tables: Tables) -> Iterator[Mapping[str, Any]]:
    """Each figure of each N of the first curve, a value a repeat."""
    curve = all_curves(tables.configurations)[0]
    counted = [run for run in tables.runs if run.curve_key == curve and run.counted]
    for n in sorted({run.n for run in counted}):
        runs = [run for run in counted if run.n == n]
        for column, (what, decimals) in SHOWN.items():
            values = [getattr(run, column) for run in runs]
            yield {"what": f"N = {n}: {what}", "values": values, "least": None, "most": None, "decimals": decimals}


def report(tables: Tables) -> list[str]:
    """What `gpd report` prints of the first curve, without the lines of the frame, and of the report."""
    text = io.StringIO()
    grid = configurations_grid(all_curves(tables.configurations)[0], tables.configurations)
    Console(file=text, width=WIDTH).print(rich_table(grid))
    lines = [line.rstrip() for line in text.getvalue().splitlines() if any(map(str.isalnum, line))]
    return [*lines, *grid.notes, f"report: demo-run/{STUDY}/{HTML}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("demo", type=Path, help="the folder that gpd demo made")
    parser.add_argument("--docs", type=Path, default=DOCS, help="where to write (%(default)s)")
    arguments = parser.parse_args()
    tables = collect(arguments.demo / STUDY)
    made = {f"pictures/{name}.svg": svg for name, svg in pictures(tables).items()}
    made["evidence/data/demo.json"] = json.dumps(record(tables, arguments.demo), indent=1, ensure_ascii=False) + "\n"
    for name, text in made.items():
        path = arguments.docs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
