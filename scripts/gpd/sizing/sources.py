"""Core hours of whole genomes that others published, each with its source and conditions; one follows from rows here.

They are for reading beside a prediction, not to be held against it: other tools, depths and machines. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gpd.published.figures import PublishedRun
from gpd.published.series import COVERAGE
from gpd.sizing.published import cores_of, hours, throughput_runs, whole


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


def core_hours(runs: Sequence[PublishedRun]) -> tuple[CoreHours, ...]:
    """Those that are cited, and the least that follows from the throughput tables, at an N without failures."""
    cores = cores_of(runs)
    least = min(whole(throughput_runs(runs)), key=lambda run: hours(run) * cores[run.sku] / run.n_samples)
    amount = hours(least) * cores[least.sku] / least.n_samples
    told = f"{least.sku}, {cores[least.sku]} cores x {hours(least):.2f} h / {least.n_samples} genomes at once"
    return (
        CoreHours(amount, COVERAGE, f"resources/published ({least.published})", f"GATK 3.6; {told}, the least of all"),
        *CITED,
    )
