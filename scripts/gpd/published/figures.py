"""Figures that others published: read, recomputed from their own rows, and checked. Pure: what it tells is in files.

Numbers are decimals as they were printed: their digits say how far each was rounded.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path

from gpd.errors import GpdError
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


class PublishedError(GpdError):
    """A table that does not have the form; the message names file and line."""


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
    server: str | None = None
    cpu: str | None = None
    cores_per_socket: int | None = None
    base_ghz: Decimal | None = None
    cores_used: Mapping[str, int | None] = field(default_factory=dict)

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

    def recompute(self, figure: str) -> Recomputed | None:
        """Return one of FIGURES."""
        return {"total_hours": self.total_hours, "genomes_per_day": self.genomes_per_day}[figure]


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

    @property
    def difference(self) -> Decimal | None:
        """Printed less recomputed."""
        return None if self.recomputed is None else self.printed - self.recomputed.value


def half_unit(printed: Decimal) -> Decimal:
    """Return how far rounding can have moved a printed number: half a unit of its last digit, 0.005 for 2.44."""
    return Decimal(1).scaleb(int(printed.as_tuple().exponent)) / 2


def figures(runs: Iterable[PublishedRun]) -> list[PrintedFigure]:
    """Recompute every total and every genomes-a-day figure that was printed."""
    return [PrintedFigure(run, name, value, run.recompute(name)) for run in runs for name, value in run.printed.items()]


def skus(runs: Iterable[PublishedRun]) -> list[str]:
    """Return each SKU once, in the order of the tables."""
    return list(dict.fromkeys(run.sku for run in runs))


# ------------------------------------------------------------------------------------------------ reading


@dataclass(frozen=True)
class _Row:
    """A line of a table; an empty field is None."""

    where: str
    fields: Mapping[str, str]

    def text(self, column: str) -> str | None:
        return self.fields[column] or None

    def number(self, column: str) -> Decimal | None:
        text = self.text(column)
        try:
            number = None if text is None else Decimal(text)
        except InvalidOperation:
            raise self.error(f"{column} is not a number: {text}") from None
        if number is not None and (not number.is_finite() or number < 0):
            raise self.error(f"{column} must be a number of 0 or more, and is {text}")
        return number

    def count(self, column: str) -> int | None:
        number = self.number(column)
        if number is not None and number != int(number):
            raise self.error(f"{column} must be a whole number, and is {number}")
        return None if number is None else int(number)

    def required(self, column: str) -> str:
        if text := self.text(column):
            return text
        raise self.error(f"{column} is empty")

    def samples(self) -> int:
        if number := self.count("n_samples"):
            return number
        raise self.error("n_samples must be 1 or more")

    def error(self, what: str) -> PublishedError:
        return PublishedError(f"{self.where}: {what}")


def read(folder: Path = FOLDER) -> list[PublishedRun]:
    """Read the germline tables. Raises PublishedError, which names file and line, and OSError."""
    return [*_read_throughput(folder), *_read_single(folder)]


def _read_rows(folder: Path, name: str, columns: Sequence[str]) -> list[_Row]:
    path = folder / f"{name}.tsv"
    with path.open(encoding="utf-8", newline="") as lines:
        reader = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        if missing := [column for column in columns if column not in (reader.fieldnames or ())]:
            raise PublishedError(f"{path.name}: no column {', '.join(missing)}")
        rows = [_Row(f"{path.name} line {reader.line_num}", fields) for fields in reader]
    for row in rows:
        if None in row.fields or None in row.fields.values():
            raise row.error("as many fields are needed as the table has columns")
    return rows


def _read_throughput(folder: Path) -> list[PublishedRun]:
    """Join each run's steps with the totals that were printed for it; either may be missing."""
    columns = ("sku", "published", "server", "cpu", "n_samples", "n_failed", "step_number", "step", "hours")
    steps = _group(_read_rows(folder, THROUGHPUT, columns))
    totals = _group(_read_rows(folder, TOTALS, ("sku", "n_samples", "n_failed", *FIGURES)))
    for rows in totals.values():
        if len(rows) > 1:
            raise rows[1].error(f"the same run as {rows[0].where}")
    return [_throughput(key, steps.get(key, []), totals.get(key, [])) for key in {**steps, **totals}]


def _group(rows: Iterable[_Row]) -> dict[tuple[str, int], list[_Row]]:
    groups: dict[tuple[str, int], list[_Row]] = {}
    for row in rows:
        groups.setdefault((row.required("sku"), row.samples()), []).append(row)
    return groups


def _throughput(key: tuple[str, int], steps: list[_Row], totals: list[_Row]) -> PublishedRun:
    sku, n_samples = key
    failed = _shared([*steps, *totals], "n_failed")
    if failed and (failed.count("n_failed") or 0) > n_samples:
        raise failed.error(f"more samples failed than the {n_samples} there were")
    first = _shared(steps, "published", "server", "cpu")
    return PublishedRun(
        table=THROUGHPUT,
        sku=sku,
        n_samples=n_samples,
        n_failed=failed.count("n_failed") if failed else None,
        hours={step: row.number("hours") if row else None for step, row in _by_step(steps).items()},
        printed={name: value for row in totals for name in FIGURES if (value := row.number(name)) is not None},
        published=first.text("published") if first else None,
        server=first.text("server") if first else None,
        cpu=first.text("cpu") if first else None,
    )


def _read_single(folder: Path) -> list[PublishedRun]:
    of_run = ("published", "cores_per_socket", "base_ghz", "published_total_hours")
    runs: dict[str, list[_Row]] = {}
    for row in _read_rows(folder, SINGLE, ("sku", *of_run, "step_number", "step", "hours", "cores_used")):
        runs.setdefault(row.required("sku"), []).append(row)
    return [_single(sku, rows, _shared(rows, *of_run) or rows[0]) for sku, rows in runs.items()]


def _single(sku: str, rows: list[_Row], first: _Row) -> PublishedRun:
    """Return the run of a lone sample; it went through all steps, so it did not fail."""
    by_step = _by_step(rows)
    total = first.number("published_total_hours")
    return PublishedRun(
        table=SINGLE,
        sku=sku,
        n_samples=1,
        n_failed=0,
        hours={step: row.number("hours") if row else None for step, row in by_step.items()},
        printed={} if total is None else {"total_hours": total},
        published=first.text("published"),
        cores_per_socket=first.count("cores_per_socket"),
        base_ghz=first.number("base_ghz"),
        cores_used={step: row.count("cores_used") if row else None for step, row in by_step.items()},
    )


def _shared(rows: Sequence[_Row], *columns: str) -> _Row | None:
    """Return the first row, which stands for all in `columns`; None without rows."""
    for row in rows:
        for column in columns:
            if row.fields[column] != rows[0].fields[column]:
                raise row.error(f"{column} is {row.fields[column]}, but {rows[0].fields[column]} in {rows[0].where}")
    return rows[0] if rows else None


def _by_step(rows: Iterable[_Row]) -> dict[str, _Row | None]:
    """Return the row of each of the nine steps, under our names."""
    found: dict[str, _Row | None] = dict.fromkeys(STEPS.values())
    for row in rows:
        name = row.required("step")
        if name not in STEPS:
            raise row.error(f"no step is called {name}; the steps are {', '.join(STEPS)}")
        if row.count("step_number") != list(STEPS).index(name) + 1:
            raise row.error(f"{name} is step {list(STEPS).index(name) + 1}, not {row.text('step_number')}")
        if earlier := found[STEPS[name]]:
            raise row.error(f"the same step of the same run as {earlier.where}")
        found[STEPS[name]] = row
    return found
