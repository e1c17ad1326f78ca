"""Recompute every printed total and genomes-a-day figure from its own rows, and print those that do not follow.

    python resources/published/check.py

What rounding explains is let pass. The exit code is 0 all the same. `notes.tsv` has what is printed, for `gpd`.
Numbers are decimals as they were printed: their digits say how far each was rounded.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from gpd.published.curves import FOLDER, HOURS_PER_DAY, SINGLE, STEPS, THROUGHPUT, Row, read_table

TOTALS = "germline_throughput_totals"
FIGURES = {"total_hours": "total hours", "genomes_per_day": "genomes a day"}


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


def read(folder: Path = FOLDER) -> list[PublishedRun]:
    """Read the germline tables: each run's steps with the totals that were printed for it; either may be missing."""
    steps, totals = (by_run(read_table(folder, name)) for name in (THROUGHPUT, TOTALS))
    alone = by_run({**row, "n_samples": "1", "n_failed": "0"} for row in read_table(folder, SINGLE))
    return [
        *(_run(THROUGHPUT, steps.get(key, []), totals.get(key, [])) for key in {**steps, **totals}),
        *(_run(SINGLE, rows, [{"total_hours": rows[0]["published_total_hours"]}]) for rows in alone.values()),
    ]


def by_run(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
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
    )


def _decimal(text: str | None) -> Decimal | None:
    return Decimal(text) if text else None


def notes(run: PublishedRun) -> list[str]:
    """Say of each printed figure that does not follow from its rows, or can't be recomputed, which and why."""
    found = []
    for figure in figures([run]):
        printed = f"{run.sku}, N = {run.n_samples}: {FIGURES[figure.name]}: printed {figure.printed}"
        if figure.recomputed is None:
            found.append(f"{printed}, which the rows do not suffice to recompute")
        elif not figure.follows:
            found.append(f"{printed}, {figure.recomputed.value:.2f} follows from the steps")
    return found


def main() -> None:
    runs = read()
    for note in (note for run in runs for note in notes(run)):
        print(note)
    followed = [figure.follows for figure in figures(runs)].count(True)
    print(f"{followed} of {sum(len(run.printed) for run in runs)} printed figures follow from the steps' hours")


if __name__ == "__main__":
    main()
