"""Published results: read from the tables of this repository, and recomputed from their own rows.

Numbers are decimals as they were printed: their digits say how far each was rounded.
"""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from gpd.paths import ROOT

FOLDER = ROOT / "resources" / "published"
THROUGHPUT = "germline_throughput"
TOTALS = "germline_throughput_totals"
SINGLE = "germline_single_sample"
HOURS_PER_DAY = 24

# what the publications call a step, in their order: our name of it
STEPS = {
    "Mapping and sorting": "map_and_sort",
    "Mark duplicates": "mark_duplicates",
    "Generate realigning targets": "realigner_targets",
    "Insertion and deletion realigning": "realign_indels",
    "Base recalibration": "base_recalibration",
    "Haplotypecaller": "haplotype_caller",
    "Genotype GVCFs": "genotype_gvcfs",
    "Variant recalibration": "variant_recalibration",
    "Apply variant recalibration": "apply_variant_recalibration",
}
FIGURES = ("total_hours", "genomes_per_day")


@dataclass(frozen=True)
class Recomputed:
    """What follows from printed rows: the value, and its bounds, for each row may have been rounded."""

    value: Decimal
    low: Decimal
    high: Decimal

    def allows(self, printed: Decimal) -> bool:
        """Tell whether `printed`, which was rounded too, can come from the rows."""
        return self.low - half_unit(printed) <= printed <= self.high + half_unit(printed)


@dataclass(frozen=True)
class PublishedRun:
    """N samples at once on two CPUs: hours a step, and totals as they were printed. What was not printed is None.

    `table` names the file. `hours` has each of the nine steps. `printed` holds the FIGURES that were printed.
    """

    table: str
    sku: str
    n_samples: int
    n_failed: int | None
    hours: Mapping[str, Decimal | None]
    printed: Mapping[str, Decimal]
    published: str | None = None
    cores_per_socket: int | None = None

    @property
    def total_hours(self) -> Recomputed | None:
        """The sum of the nine steps; None where one is missing."""
        hours = [value for value in self.hours.values() if value is not None]
        if len(hours) < len(STEPS):
            return None
        lowest = (max(value - half_unit(value), Decimal(0)) for value in hours)
        highest = (value + half_unit(value) for value in hours)
        return Recomputed(*(sum(values, Decimal(0)) for values in (hours, lowest, highest)))

    @property
    def genomes_per_day(self) -> Recomputed | None:
        """24 x (samples - failed) / total hours; None where the total or the failed are not known."""
        total = self.total_hours
        if self.n_failed is None or total is None or not total.value:
            return None
        daily = Decimal(HOURS_PER_DAY * (self.n_samples - self.n_failed))
        return Recomputed(daily / total.value, daily / total.high, daily / total.low)


@dataclass(frozen=True)
class PrintedFigure:
    """A printed figure beside what its rows give; `recomputed` is None where a row is missing."""

    run: PublishedRun
    name: str
    printed: Decimal
    recomputed: Recomputed | None

    @property
    def follows(self) -> bool | None:
        return None if self.recomputed is None else self.recomputed.allows(self.printed)


def half_unit(printed: Decimal) -> Decimal:
    """Return how far rounding can have moved a printed number: half a unit of its last digit, 0.005 for 2.44."""
    return Decimal(1).scaleb(int(printed.as_tuple().exponent)) / 2


def figures(runs: Iterable[PublishedRun]) -> list[PrintedFigure]:
    """Recompute every total and every genomes-a-day figure that was printed."""
    return [PrintedFigure(run, name, value, getattr(run, name)) for run in runs for name, value in run.printed.items()]


# ------------------------------------------------------------------------------------------------ reading

Row = Mapping[str, str]  # a line of a table; an empty field was not printed


def read(folder: Path = FOLDER) -> list[PublishedRun]:
    """Read the germline tables: each run's steps with the totals that were printed for it; either may be missing."""
    steps, totals = (_by_run(_rows(folder, name)) for name in (THROUGHPUT, TOTALS))
    alone = _by_run({**row, "n_samples": "1", "n_failed": "0"} for row in _rows(folder, SINGLE))
    return [
        *(_run(THROUGHPUT, steps.get(key, []), totals.get(key, [])) for key in {**steps, **totals}),
        *(_run(SINGLE, rows, [{"total_hours": rows[0]["published_total_hours"]}]) for rows in alone.values()),
    ]


def _rows(folder: Path, name: str) -> list[Row]:
    with (folder / f"{name}.tsv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def _by_run(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    runs: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        runs.setdefault((row["sku"], row["n_samples"]), []).append(row)
    return runs


def _run(table: str, steps: list[Row], totals: list[Row]) -> PublishedRun:
    first = (steps or totals)[0]
    hours = {STEPS[row["step"]]: _decimal(row["hours"]) for row in steps}
    return PublishedRun(
        table=table,
        sku=first["sku"],
        n_samples=int(first["n_samples"]),
        n_failed=int(first["n_failed"]) if first["n_failed"] else None,
        hours=dict.fromkeys(STEPS.values()) | hours,
        printed={name: value for row in totals for name in FIGURES if (value := _decimal(row.get(name))) is not None},
        published=first.get("published"),
        cores_per_socket=int(first["cores_per_socket"]) if "cores_per_socket" in first else None,
    )


def _decimal(text: str | None) -> Decimal | None:
    return Decimal(text) if text else None
