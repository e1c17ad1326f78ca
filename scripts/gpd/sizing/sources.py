"""Core hours of whole genomes that others published, each with its source and conditions; one follows from rows here.

They are for reading beside an answer, not to be held against it: other tools, depths and machines. Pure.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from gpd.published.curves import COVERAGE, curves
from gpd.published.figures import PublishedRun
from gpd.sizing.published import whole


@dataclass(frozen=True)
class CoreHours:
    """Core hours of one genome; `depth` in x."""

    core_hours: float
    depth: float
    source: str
    conditions: str


CITED = (
    CoreHours(
        31,
        20,
        "Heldenbrand et al., BMC Bioinformatics 20:557, 2019 (PMC6842142)",
        "GATK 4, one thread a tool, many samples on one node; about",
    ),
    CoreHours(
        230,
        50,
        "Franke and Crowgey, Genomics & Informatics 18:e10, 2020",
        "GATK 4.1.0 on x86, one genome in nearly 24 h; about, as cited: on how many cores was not looked up",
    ),
)


def core_hours(runs: Iterable[PublishedRun]) -> tuple[CoreHours, ...]:
    """Those that are cited, and the least that follows from the throughput tables, at an N without failures."""
    found = [
        CoreHours(
            curve_key.cores * point.total_hours / point.n,
            COVERAGE,
            f"resources/published ({curve_key.published})",
            f"GATK 3.6; {curve_key.sku}, {curve_key.cores} cores x {point.total_hours:.2f} h / {point.n} genomes"
            " at once, least of all",
        )
        for curve_key in curves(runs)
        for point in whole(curve_key)
        if curve_key.cores and point.total_hours
    ]
    return (min(found, key=lambda one: one.core_hours), *CITED)
