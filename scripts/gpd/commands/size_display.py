"""A size on the terminal, as JSON and as a page."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from gpd.commands.subcommands import print_grids, print_lines
from gpd.sizing.nodes_needed import Sizing
from gpd.sizing.published_machines import CoreHours
from gpd.sizing.quantities import quantities
from gpd.sizing.sizing_grids import sizing_grid, source_grid
from gpd.statistics.estimates import Estimate

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
        "keeps_deadline": one.within,
        "measured_gigabases_per_sample": one.at.gigabases,
        "extrapolated": one.at.extrapolated,
        "quantities": {
            found.key: {"label": found.label, **asdict(found.value or Estimate()), "unit": found.unit, "why": found.why}
            for found in quantities(one)
        },
        "limit": one.limit,
        "told": list(one.remarks),
    }


def to_html(sizings: Sequence[Sizing], sources: Sequence[CoreHours]) -> str:
    """Return it as a page."""
    from gpd.reports.page import render
    from gpd.reports.sizing_page import sizing_page

    return render(sizing_page(sizings, sources))
