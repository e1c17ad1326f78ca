"""Models of the machines that others measured, from the hours of their steps; and how well these predict. Pure.

N whole pipelines ran side by side, so that no job had cores of its own: in a step each of N jobs has as many cores as
it can use, or its even share of them. How many it can use is printed for single samples alone (`cores_used`), where
SKUs agree; mapping is taken to use all that there are, for alone it took less time in these runs than with the cores
printed there.

Runs in which samples failed are in no fit: nobody printed when these ended.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from statistics import median

import numpy as np

from gpd.published.figures import STEPS, THROUGHPUT, PublishedRun
from gpd.published.series import COVERAGE, GIGABASES_A_SAMPLE, SOCKETS, by_sku
from gpd.sizing.model import NodeModel, Seen, Work
from gpd.sizing.steps import PULL, Law, Observed, fit, redrawn

SECONDS_PER_HOUR = 3600
# cores that a job of a step can use: `cores_used` of resources/published/germline_single_sample.tsv; None: all
WIDTHS: Mapping[str, int | None] = {
    "map_and_sort": None,
    "mark_duplicates": 13,
    "realigner_targets": 32,
    "realign_indels": 1,
    "base_recalibration": 32,
    "haplotype_caller": 16,
    "genotype_gvcfs": 32,
    "variant_recalibration": 1,
    "apply_variant_recalibration": 1,
}
NOTES = (
    f"one genome at {COVERAGE}x was measured: hours of another depth are taken to grow as gigabases do, so that of a"
    " smaller one they are too few where part of a step does not",
    "single runs of 2021 (GATK 3.6), N pipelines side by side on two sockets and a shared BeeGFS",
    "not printed, so not told: CPU seconds, memory, scratch space, what went over the network",
)


def throughput_runs(runs: Iterable[PublishedRun]) -> list[PublishedRun]:
    """The runs of several samples at once whose steps are all printed."""
    return [run for run in runs if run.table == THROUGHPUT and run.total_hours is not None]


def cores_of(runs: Iterable[PublishedRun]) -> dict[str, int]:
    """The cores of each SKU's machine."""
    return {series.sku: series.cores for series in by_sku(runs) if series.cores}


def whole(runs: Iterable[PublishedRun]) -> list[PublishedRun]:
    return [run for run in runs if run.n_failed == 0]


def hours(run: PublishedRun) -> float:
    return float(run.total_hours.value) if run.total_hours else 0.0


def observed(runs: Iterable[PublishedRun], cores: Mapping[str, int], a_core: bool = False) -> dict[str, list[Observed]]:
    """What each step took, by step: every run as one job among N. `a_core`: whether others are counted a core."""
    return {
        step: [
            Observed(
                machine=run.sku,
                run=f"{run.sku} {run.n_samples}",
                gigabases=GIGABASES_A_SAMPLE,
                width=_width(step, run.n_samples, cores[run.sku]),
                others=(run.n_samples - 1) / (cores[run.sku] if a_core else 1),
                wall_s=float(run.hours[step] or 0) * SECONDS_PER_HOUR,
            )
            for run in runs
        ]
        for step in STEPS.values()
    }


def _width(step: str, n: int, cores: int) -> float:
    return min(WIDTHS[step] or cores, cores / n)


def models(runs: Sequence[PublishedRun], draw: Random, redraws: int = 0) -> dict[str, NodeModel]:
    """A model of each SKU of which a curve was published, with the errors of its own held-out runs."""
    every = throughput_runs(runs)
    cores = cores_of(runs)
    steps = observed(whole(every), cores)
    central = _models(every, steps, cores)
    again = [_models(every, redrawn(steps, draw), cores) for _ in range(redraws)]
    errors = tuple(one.error for one in held_out(runs, STEPS_FAMILY) if not one.failed)
    return {
        sku: replace(model, errors=errors, resampled=tuple(drawn[sku] for drawn in again))
        for sku, model in central.items()
    }


@dataclass(frozen=True)
class Fitting:
    """How models are fitted: see steps.fit(), and `a_core` observed()."""

    contended: bool = True
    pull: float = PULL
    a_core: bool = False


def _models(
    runs: Sequence[PublishedRun],
    steps: Mapping[str, Sequence[Observed]],
    cores: Mapping[str, int],
    how: Fitting = Fitting(),
) -> dict[str, NodeModel]:
    laws = {step: fit(of_step, how.contended, how.pull) for step, of_step in steps.items()}
    skus = list(dict.fromkeys(one.machine for of_step in steps.values() for one in of_step))
    return {sku: _model(sku, runs, _of_machine(laws, sku, cores[sku], how), cores[sku]) for sku in skus}


def _of_machine(laws: Mapping[str, Mapping[str, Law]], sku: str, cores: int, how: Fitting) -> dict[str, Law]:
    """A machine's laws, with the slowdown of each other job on it."""
    return {
        step: replace(of[sku], slowdown=of[sku].slowdown / (cores if how.a_core else 1)) for step, of in laws.items()
    }


def _model(sku: str, runs: Sequence[PublishedRun], laws: Mapping[str, Law], cores: int) -> NodeModel:
    own = [run for run in runs if run.sku == sku]
    numbers = [run.n_samples for run in whole(own)]
    failed = [run.n_samples for run in own if run.n_failed]
    order = list(laws)
    works = tuple(
        Work(step, step, laws[step], WIDTHS[step] or cores, after=order[at - 1] if at else None)
        for at, step in enumerate(order)
    )
    return NodeModel(
        name=f"published:{sku}",
        source="published",
        skus=(sku,),
        sockets=SOCKETS,
        cores=cores,
        memory_mib=None,
        leased=False,
        works=works,
        seen=Seen(min(numbers), max(numbers), GIGABASES_A_SAMPLE, GIGABASES_A_SAMPLE, min(failed, default=None)),
        notes=NOTES,
    )


# ------------------------------------------------------------------------------- held against what was left out


@dataclass(frozen=True)
class HeldOut:
    """A published run, and what a model says of it that has not seen it."""

    sku: str
    n: int
    failed: int
    measured_hours: float
    predicted_hours: float

    @property
    def error(self) -> float:
        """Relative, above zero where too many hours were predicted."""
        return self.predicted_hours / self.measured_hours - 1


Family = Callable[[Sequence[PublishedRun], Mapping[str, int], PublishedRun], float]


def _steps_family(how: Fitting) -> Family:
    def predicted(known: Sequence[PublishedRun], cores: Mapping[str, int], of: PublishedRun) -> float:
        found = _models(known, observed(whole(known), cores, how.a_core), cores, how)
        return found[of.sku].predict(of.n_samples, GIGABASES_A_SAMPLE).makespan_s / SECONDS_PER_HOUR

    return predicted


def _polynomial(degree: int) -> Family:
    """Total hours against N, for each SKU alone. Of degree 2: Gunther's law of scalability, solved for the time."""

    def predicted(known: Sequence[PublishedRun], cores: Mapping[str, int], of: PublishedRun) -> float:
        own = [run for run in whole(known) if run.sku == of.sku]
        n, total = [run.n_samples for run in own], [hours(run) for run in own]
        return float(np.polyval(np.polyfit(n, total, min(degree, len(own) - 1)), of.n_samples))

    return predicted


STEPS_FAMILY = _steps_family(Fitting())
FAMILIES: Mapping[str, Family] = {
    "steps, slowed by the number of jobs": STEPS_FAMILY,
    "steps, slowed by jobs a core": _steps_family(Fitting(a_core=True)),
    "steps without a slowdown": _steps_family(Fitting(contended=False)),
    "steps, each machine for itself": _steps_family(Fitting(pull=1e-3)),
    "total hours, a line in N": _polynomial(1),
    "total hours, a parabola in N": _polynomial(2),
}


def held_out(runs: Sequence[PublishedRun], family: Family) -> list[HeldOut]:
    """Each published run as predicted from all others; neither its own hours nor its SKU's single sample are used.

    Of a run in which samples failed, the model is of those that came through and of all, and the middle counts: nobody
    printed when the failed ones ended.
    """
    every, cores = throughput_runs(runs), cores_of(runs)
    found = []
    for run in every:
        others = [other for other in every if other is not run]
        failed = run.n_failed or 0
        ends = {run.n_samples, run.n_samples - failed}
        of_ends = [family(others, cores, replace(run, n_samples=n)) for n in sorted(ends)]
        found.append(HeldOut(run.sku, run.n_samples, failed, hours(run), sum(of_ends) / len(of_ends)))
    return found


@dataclass(frozen=True)
class Errors:
    """Relative errors without their signs, of runs without failures, and of those with."""

    median: float
    worst: float
    runs: int
    median_failed: float
    worst_failed: float
    runs_failed: int


def errors(found: Sequence[HeldOut]) -> Errors:
    without, with_failures = ([abs(o.error) for o in found if bool(o.failed) is failed] for failed in (False, True))
    return Errors(
        median(without), max(without), len(without), median(with_failures), max(with_failures), len(with_failures)
    )
