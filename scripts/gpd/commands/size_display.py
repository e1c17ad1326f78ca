"""A size on the terminal, as JSON and as a page."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from gpd.commands.subcommands import print_grids, print_lines
from gpd.sizing.grids import sizing_grid, source_grid
from gpd.sizing.nodes_needed import Sizing
from gpd.sizing.published import CoreHours

METHOD = (
    "From an N that was measured, with samples of about this size, unless it says extrapolated. In brackets: 95%"
    " confidence intervals. Every batch is N samples that start together."
)


def show(sizings: Sequence[Sizing], sources: Sequence[CoreHours], console: Console) -> None:
    print_grids(console, [sizing_grid(sizings)])
    for one in sizings:
        console.print(Text(one.machine.name, "bold"))
        print_lines(console, [f"  {line}" for line in one.remarks])
    console.print()
    print_grids(console, [source_grid(sizings, sources)])
    print_lines(console, [METHOD])


def to_json(sizings: Sequence[Sizing], sources: Sequence[CoreHours]) -> str:
    """Return it as JSON; what is not known is null."""
    described = {
        "asked": sizings[0].demand,
        "machines": [_described(one) for one in sizings],
        "published_core_hours": sources,
    }
    return json.dumps(described, indent=2, ensure_ascii=False, default=asdict)


def _described(one: Sizing) -> dict:
    return {
        "name": one.machine.name,
        "source": one.machine.source,
        "skus": one.machine.skus,
        "cores": one.machine.cores,
        "n": one.n,
        "keeps_deadline": one.within,
        "measured_gigabases_per_sample": one.at.gigabases,
        "extrapolated": one.at.extrapolated,
        "makespan_h": one.makespan_h,
        "genomes_per_day_per_node": one.genomes_per_day,
        "nodes": one.nodes,
        "nodes_counted": one.nodes_counted,
        "days": one.days,
        "core_hours_per_genome": one.core_hours,
        "cpu_utilisation": one.at.cpu_utilisation,
        "memory_gib_per_node": one.memory_gib,
        "declared_memory_gib_per_node": one.declared_gib,
        "scratch_gib_per_node": one.scratch_gib,
        "kept_gib_per_genome": one.kept_gib,
        "shared_mib_per_s_per_node": one.network_mib_s,
        "power": one.power,
        "kwh_per_genome": one.kwh,
        "co2_kg_per_genome": one.co2_kg,
        "cost_per_genome": one.cost,
        "cost_per_week_whole_nodes": one.cost_of_whole_nodes,
        "idle_share_of_whole_nodes": one.idle_share,
        "spot_makespan_h": one.spot_hours,
        "spot_cost_per_genome": one.spot_cost,
        "storage_cost_per_genome_month": one.storage_a_month,
        "limit": one.limit,
        "told": list(one.remarks),
    }
