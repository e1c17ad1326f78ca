"""A size on the terminal, as JSON and as a page."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.text import Text

from gpd.sizing.grids import need_grid, source_grid
from gpd.sizing.nodes_needed import Need
from gpd.sizing.sources import CoreHours
from gpd.text.grid import rich_table

METHOD = (
    "From an N that was measured, with samples of about this size. In brackets: 95% confidence intervals. Every batch"
    " is N samples that start together."
)


@dataclass(frozen=True)
class Shown:
    """The answers for all machines, and what others published."""

    needs: Sequence[Need]
    sources: Sequence[CoreHours]


def show(shown: Shown, console: Console) -> None:
    from gpd.reports.sizing_page import remarks

    console.print(rich_table(need_grid(shown.needs)))
    for one in shown.needs:
        console.print(Text(one.machine.name, "bold"))
        for line in remarks(one):
            console.print(Text(f"  {line}"), soft_wrap=True)
    console.print()
    console.print(rich_table(source_grid(shown.needs, shown.sources)))
    console.print(Text(METHOD), soft_wrap=True)


def to_html(shown: Shown) -> str:
    """Return it as a page, with the curve of each machine."""
    from gpd.reports.page import render
    from gpd.reports.sizing_page import sizing_page

    return render(sizing_page(shown.needs, shown.sources))


def to_json(shown: Shown) -> str:
    """Return it as JSON; what is not known is null."""
    described = {
        "asked": asdict(shown.needs[0].asked),
        "machines": [_described(one) for one in shown.needs],
        "published_core_hours": [asdict(one) for one in shown.sources],
    }
    return json.dumps(described, indent=2, ensure_ascii=False)


def _described(one: Need) -> dict:
    from gpd.reports.sizing_page import remarks

    return {
        "name": one.machine.name,
        "source": one.machine.source,
        "skus": list(one.machine.skus),
        "cores": one.machine.cores,
        "n": one.n,
        "keeps_deadline": one.within,
        "measured_gigabases_per_sample": one.at.gigabases,
        "makespan_h": asdict(one.makespan_h),
        "genomes_per_day_per_node": asdict(one.genomes_per_day),
        "nodes": asdict(one.nodes),
        "nodes_counted": one.nodes_counted,
        "days": asdict(one.days),
        "core_hours_per_genome": asdict(one.core_hours),
        "cpu_utilisation": one.at.cpu_utilisation,
        "memory_gib_per_node": one.memory_gib,
        "scratch_gib_per_node": one.scratch_gib,
        "kept_gib_per_genome": one.kept_gib,
        "shared_mib_per_s_per_node": one.network_mib_s and asdict(one.network_mib_s),
        "power": one.power and asdict(one.power),
        "kwh_per_genome": one.kwh and asdict(one.kwh),
        "co2_kg_per_genome": one.co2_kg and asdict(one.co2_kg),
        "cost_per_genome": one.cost and asdict(one.cost),
        "limit": one.limit,
        "told": list(remarks(one)),
    }
