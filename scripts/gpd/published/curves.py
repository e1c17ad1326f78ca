"""Published results as reference curves, for reports, comparisons and sizes.

Every figure is recomputed from its own rows; where the printed one does not follow from them, a note says so.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpd.pipelines import HUMAN_30X_GIGABASES
from gpd.published.figures import SINGLE, THROUGHPUT, PublishedRun, Recomputed, figures
from gpd.statistics.saturation import Observation, Saturation, find_saturation

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

NAMES = {"total_hours": "total hours", "genomes_per_day": "genomes a day"}


@dataclass(frozen=True)
class PublishedPoint:
    """N samples at once, one run: genomes a day and total hours that follow from the hours a step; None: not known."""

    n: int
    failed: int | None
    genomes_per_day: float | None
    total_hours: float | None
    hours: Mapping[str, float | None]
    notes: tuple[str, ...]

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
    """What was published of one SKU, N ascending. `table` names the file, `cores` are of both CPUs; None: not told."""

    sku: str
    table: str
    points: tuple[PublishedPoint, ...]
    published: str | None
    cores: int | None = None

    @property
    def saturation(self) -> Saturation:
        """Each N was run once, so no standard error is known."""
        return find_saturation(Observation(p.n, p.genomes_per_day, None, p.failed) for p in self.points)


def by_sku(runs: Iterable[PublishedRun]) -> list[PublishedCurve]:
    """Return a curve a SKU: its runs of several samples at once; where there are none, that of the lone sample.

    The two tables are never joined: they were run with different cores a step and differ at one sample.
    """
    of_sku: dict[str, list[PublishedRun]] = {}
    for run in runs:
        of_sku.setdefault(run.sku, []).append(run)
    return [_curve(sku, own) for sku, own in of_sku.items()]


def curves(runs: Iterable[PublishedRun]) -> list[PublishedCurve]:
    """Return the curves that have more than one N."""
    return [curve for curve in by_sku(runs) if len(curve.points) > 1]


def _curve(sku: str, runs: list[PublishedRun]) -> PublishedCurve:
    table = THROUGHPUT if any(run.table == THROUGHPUT for run in runs) else SINGLE
    own = sorted((run for run in runs if run.table == table), key=lambda run: run.n_samples)
    cores = next((SOCKETS * run.cores_per_socket for run in runs if run.cores_per_socket), None)
    return PublishedCurve(sku, table, tuple(map(_point, own)), own[0].published, cores)


def _point(run: PublishedRun) -> PublishedPoint:
    return PublishedPoint(
        n=run.n_samples,
        failed=run.n_failed,
        genomes_per_day=_value(run.genomes_per_day),
        total_hours=_value(run.total_hours),
        hours={step: None if hours is None else float(hours) for step, hours in run.hours.items()},
        notes=tuple(notes(run)),
    )


def notes(run: PublishedRun) -> list[str]:
    """Say of each printed figure that does not follow from its rows, or can't be recomputed, which and why."""
    found = []
    for figure in figures([run]):
        printed = f"{run.sku}, N = {run.n_samples}: {NAMES[figure.name]}: printed {figure.printed}"
        if figure.recomputed is None:
            found.append(f"{printed}, which the rows do not suffice to recompute")
        elif not figure.follows:
            found.append(f"{printed}, {figure.recomputed.value:.2f} follows from the steps")
    return found


def _value(recomputed: Recomputed | None) -> float | None:
    return None if recomputed is None else float(recomputed.value)
