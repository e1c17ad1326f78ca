"""A size on the terminal, as Markdown, as JSON and as a page."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from random import Random

from rich.console import Console
from rich.text import Text

from gpd.commands.compare_display import rich_table
from gpd.sizing.grids import held_out_grid, need_grid, source_grid
from gpd.sizing.model import Range
from gpd.sizing.needs import Need
from gpd.sizing.published import Errors
from gpd.sizing.sources import CoreHours
from gpd.text.formats import markdown
from gpd.text.grid import Grid, markdown_table

METHOD = (
    "In brackets: 95% of what models of resampled runs give, each with the error of a run that was left out of its fit,"
    " and widened beyond what was seen. Every batch is N samples that start together."
)


@dataclass(frozen=True)
class Shown:
    """The answers for all machines, how well published runs are predicted, and what others published."""

    needs: Sequence[Need]
    errors: Mapping[str, Errors]
    sources: Sequence[CoreHours]

    @property
    def grids(self) -> list[Grid]:
        return [need_grid(self.needs), source_grid(self.needs, self.sources), held_out_grid(self.errors)]


def show(shown: Shown, console: Console) -> None:
    from gpd.reports.sizing_page import told

    needs, *others = shown.grids
    console.print(rich_table(needs))
    for one in shown.needs:
        console.print(Text(one.model.name, "bold"))
        for line in told(one):
            console.print(Text(f"  {line}"), soft_wrap=True)
    for grid in others:
        console.print()
        console.print(rich_table(grid))
        for note in grid.notes:
            console.print(Text(note), soft_wrap=True)
    console.print(Text(METHOD), soft_wrap=True)


def to_markdown(shown: Shown) -> str:
    """Return what show() prints as Markdown."""
    from gpd.reports.sizing_page import told

    needs, *others = shown.grids
    parts = ["# Size", f"## {markdown(needs.caption)}", markdown_table(needs)]
    for one in shown.needs:
        parts += [f"## {markdown(one.model.name)}", "\n".join(f"- {markdown(line)}" for line in told(one))]
    for grid in others:
        parts += [f"## {markdown(grid.caption)}", markdown_table(grid), "\n".join(map(markdown, grid.notes))]
    parts += ["## How to read it", METHOD]
    return "\n\n".join(filter(None, parts)) + "\n"


def to_html(shown: Shown, seed: int) -> str:
    """Return it as a page, with the curve of each machine."""
    from gpd.reports.page import render
    from gpd.reports.sizing_page import sizing_page

    ranges = {one.model.name: _ranges(one, Random(seed)) for one in shown.needs}
    return render(sizing_page(shown.needs, ranges, shown.errors, shown.sources))


def _ranges(one: Need, draw: Random) -> dict[int, Range]:
    """Genomes a day of a node, by N."""
    return {p.n: one.model.makespan_h(p, draw).over(24.0 * p.n) for p in one.curve.predictions}


def to_json(shown: Shown) -> str:
    """Return it as JSON; what is not known is null."""
    described = {
        "asked": asdict(shown.needs[0].asked),
        "machines": [_described(one) for one in shown.needs],
        "published_core_hours": [asdict(one) for one in shown.sources],
        "held_out_errors": {name: asdict(one) for name, one in shown.errors.items()},
    }
    return json.dumps(described, indent=2, ensure_ascii=False)


def _described(one: Need) -> dict:
    from gpd.reports.sizing_page import told

    return {
        "name": one.model.name,
        "source": one.model.source,
        "skus": list(one.model.skus),
        "cores": one.model.cores,
        "n": one.n,
        "keeps_deadline": one.within,
        "extrapolated_factor": one.factor,
        "makespan_h": asdict(one.makespan_h),
        "genomes_per_day_per_node": asdict(one.genomes_per_day),
        "nodes": asdict(one.nodes),
        "nodes_counted": one.nodes_counted,
        "days": asdict(one.days),
        "core_hours_per_genome": asdict(one.core_hours),
        "cpu_utilisation": one.prediction.cpu_utilisation,
        "full_share": one.prediction.full_share,
        "memory_gib_per_node": one.memory_gib,
        "scratch_gib_per_node": one.scratch_gib,
        "kept_gib_per_genome": one.kept_gib,
        "shared_mib_per_s_per_node": one.network_mib_s and asdict(one.network_mib_s),
        "power": one.power and asdict(one.power),
        "kwh_per_genome": one.kwh and asdict(one.kwh),
        "co2_kg_per_genome": one.co2_kg and asdict(one.co2_kg),
        "cost_per_genome": one.cost and asdict(one.cost),
        "limit": one.limit,
        "told": list(told(one)),
    }
