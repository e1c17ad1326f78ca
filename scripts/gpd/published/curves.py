"""Published results as reference curves, for reports, comparisons and sizes.

Every figure follows from the hours of its steps; `resources/published/check.py` holds the printed totals against them,
and notes.tsv names those that do not follow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from gpd import files
from gpd.paths import ROOT
from gpd.pipelines import HUMAN_30X_GIGABASES
from gpd.statistics.saturation import Observation, Saturation, find_saturation

FOLDER = ROOT / "resources" / "published"
THROUGHPUT, SINGLE, NOTES = "germline_throughput", "germline_single_sample", "notes"  # tables
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

# between every published result and those measured here (resources/published/README.md)
DIFFERENCES = (
    "inputs: published: one human genome at about 53x (ERR194161, NA12878), the same in every sample",
    "gigabases: published: worked out from 53x of 3.1 Gb, both about",
    "tools: published: BWA 0.7.15, samtools 1.6, sambamba 0.7.0, GATK 3.6",
    "hardware: published: two sockets, one shared BeeGFS",
    "repeats: published: each figure is of one run, so there is no standard error and no confidence interval",
    "rounding: published: hours are to 0.01, so the ratio of a short step says little",
    "mode: published: N whole pipelines side by side; nothing shows that jobs kept to CPUs of their own",
)

COVERAGE = 53  # of every published genome (resources/published/README.md)
GIGABASES_A_SAMPLE = HUMAN_30X_GIGABASES * COVERAGE / 30  # about
SOCKETS = 2  # of every published machine

Row = Mapping[str, str]  # a line of a table; an empty field was not printed


@dataclass(frozen=True)
class PublishedPoint:
    """N samples at once, one run: genomes a day and total hours that follow from the hours a step; None: not known."""

    n: int
    failed: int | None
    genomes_per_day: float | None
    total_hours: float | None
    hours: Mapping[str, float | None]
    notes: tuple[str, ...] = ()

    @property
    def observation(self) -> Observation:
        """What the search for the saturation point sees of it."""
        return Observation(self.n, self.genomes_per_day, None, self.failed)

    @property
    def human_30x_per_day(self) -> float | None:
        """What its genomes a day would be at 30x, about: COVERAGE / 30 of them."""
        return None if self.genomes_per_day is None else self.genomes_per_day * COVERAGE / 30

    @property
    def gigabases_per_day(self) -> float | None:
        """About, as each genome had COVERAGE x 3.1 Gb."""
        return None if self.human_30x_per_day is None else self.human_30x_per_day * HUMAN_30X_GIGABASES

    @property
    def gigabases(self) -> float | None:
        """Of the samples that succeeded, about."""
        return None if self.failed is None else (self.n - self.failed) * GIGABASES_A_SAMPLE


@dataclass(frozen=True)
class PublishedCurve:
    """What was published of one SKU, N ascending. `cores` are of both CPUs; `table` is the one that it stands in."""

    sku: str
    points: tuple[PublishedPoint, ...]
    published: str
    cores: int | None = None
    table: str = THROUGHPUT

    @property
    def saturation(self) -> Saturation:
        """Each N was run once, so no standard error is known."""
        return find_saturation(point.observation for point in self.points)


def curves(folder: Path = FOLDER) -> list[PublishedCurve]:
    """Return the curves that have more than one N."""
    return [curve for curve in by_sku(folder) if len(curve.points) > 1]


def by_sku(folder: Path = FOLDER) -> list[PublishedCurve]:
    """Return a curve a SKU: its runs of several samples at once; where there are none, that of the lone sample.

    The two tables are never joined: they were run with different cores a step and differ at one sample.
    """
    tables = {name: read_table(folder, name) for name in (THROUGHPUT, SINGLE)}
    tables[SINGLE] = [{**row, "n_samples": "1", "n_failed": "0"} for row in tables[SINGLE]]
    cores = {row["sku"]: SOCKETS * int(row["cores_per_socket"]) for row in tables[SINGLE]}
    notes = read_table(folder, NOTES)
    found = []
    for sku in dict.fromkeys(row["sku"] for rows in tables.values() for row in rows):
        name, own = next((name, own) for name, rows in tables.items() if (own := [r for r in rows if r["sku"] == sku]))
        numbers = sorted({int(row["n_samples"]) for row in own})
        points = (_point(n, *([r for r in rows if _is_of(r, sku, n)] for rows in (own, notes))) for n in numbers)
        found.append(PublishedCurve(sku, tuple(points), own[0]["published"], cores.get(sku), name))
    return found


def read_table(folder: Path, name: str) -> Sequence[Row]:
    return files.read_table(folder / f"{name}.tsv")


def _is_of(row: Row, sku: str, n: int) -> bool:
    return (row["sku"], int(row["n_samples"])) == (sku, n)


def _point(n: int, rows: Sequence[Row], notes: Sequence[Row]) -> PublishedPoint:
    hours = {STEPS[row["step"]]: Decimal(row["hours"]) for row in rows if row["hours"]}
    total = sum(hours.values(), Decimal(0)) if len(hours) == len(STEPS) else None
    failed = int(rows[0]["n_failed"]) if rows[0]["n_failed"] else None
    return PublishedPoint(
        n=n,
        failed=failed,
        genomes_per_day=float(HOURS_PER_DAY * (n - failed) / total) if total and failed is not None else None,
        total_hours=None if total is None else float(total),
        hours={step: float(hours[step]) if step in hours else None for step in STEPS.values()},
        notes=tuple(row["note"] for row in notes),
    )
