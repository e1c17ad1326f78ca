"""The law of a step: how long a job takes, from its gigabases, its cores and the jobs beside it. Pure.

    wall = (fixed + work x (serial + parallel / width)) x (1 + slowdown x others)

with `work` its gigabases, those in which a JVM warms up counted more than once (warm_up.py), `width` the cores that
it has, `others` the jobs that run beside it (contention.py). Seconds a job, seconds a gigabase and core seconds a
gigabase are found by least squares of relative errors, none below zero (Lawson and Hanson's NNLS, in scipy), the
slowdown by a bounded search around them. A term that the data can't tell from another is left out: `fixed` and
gigabases where all samples are of about one size, what more cores do where all jobs had as many. Of GATK's walks it is
known from elsewhere how long a job's start is beside a gigabase (warm_up.py): `fixed` is pulled to that.

Several machines are fitted at once, each with a law of its own that is pulled towards what they have in common: a
machine of which little was seen borrows from the others (partial pooling; Gelman and Hill, Data Analysis Using
Regression and Multilevel/Hierarchical Models, 2007, chapter 12).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from scipy.optimize import minimize_scalar, nnls

from gpd.sizing import contention
from gpd.sizing.warm_up import WARM, WarmUp

PULL = 0.25  # noise of a figure, some 5%, over how far machines are apart in a term, some 20%: chosen before the fit
ALONE = 1e-6  # how hard a term is pulled to zero, so that what can't be told stays there
COARSE = (0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)  # of the steepest slowdown: where it is looked for first
CLOSE = 1e-3  # of the steepest slowdown: how closely it is searched
SPREAD = 1.5  # largest over smallest: with less, two terms can't be told apart


@dataclass(frozen=True)
class Observed:
    """A job that was seen, or a step of a published run: on which machine, in which run of it.

    `others`: see contention.py; a law's slowdown is in the unit that they are counted in.
    """

    machine: str
    run: str
    gigabases: float
    width: float
    others: float
    wall_s: float


@dataclass(frozen=True)
class Law:
    """See the module. `has_fixed` and `has_parallel`: whether the data could tell that term."""

    fixed_s: float
    serial_s_per_gb: float
    parallel_core_s_per_gb: float
    slowdown: float = 0.0
    has_fixed: bool = True
    has_parallel: bool = True
    warm_up: WarmUp = WARM

    def serial_s(self, gigabases: float) -> float:
        return self.fixed_s + self.warm_up.work(gigabases) * self.serial_s_per_gb

    def parallel_core_s(self, gigabases: float) -> float:
        return self.warm_up.work(gigabases) * self.parallel_core_s_per_gb

    def seconds(self, gigabases: float, width: float = 1, others: float = 0) -> float:
        alone = self.serial_s(gigabases) + self.parallel_core_s(gigabases) / width
        return alone * contention.slowdown(self.slowdown, others)


def fit(
    observed: Sequence[Observed], contended: bool = True, pull: float = PULL, warm_up: WarmUp = WARM
) -> dict[str, Law]:
    """The law of each machine. `contended`: whether to look for a slowdown, which is one for all machines."""
    has_fixed = warm_up.start is not None or _spread([one.gigabases for one in observed]) >= SPREAD
    has_parallel = _spread([one.width for one in observed]) >= SPREAD
    terms = np.array([_terms(one, warm_up, has_fixed, has_parallel) for one in observed])
    machines = list(dict.fromkeys(one.machine for one in observed))
    of = [machines.index(one.machine) for one in observed]
    wall_s, others = np.array([one.wall_s for one in observed]), [one.others for one in observed]

    def solved(slowdown: float) -> tuple[np.ndarray, float]:
        slowed = np.array([contention.slowdown(slowdown, beside) for beside in others])
        return _pooled(terms * (slowed / wall_s)[:, None], of, len(machines), pull, warm_up.start)

    slowdown = 0.0
    if contended and contention.varies(others):
        slowdown = _least(lambda s: solved(s)[1], contention.steepest(others))
    laws, _ = solved(slowdown)
    return {
        machine: Law(float(law[0]), float(law[1]), float(law[2]), slowdown, has_fixed, has_parallel, warm_up)
        for machine, law in zip(machines, laws, strict=True)
    }


def _least(squares: Callable[[float], float], most: float) -> float:
    """Where the sum of squares is least, between 0 and `most`: looked at coarsely first, for it may have dips."""
    looked = [most * share for share in COARSE]
    at = min(range(len(looked)), key=lambda at: squares(looked[at]))
    bounds = looked[max(at - 1, 0)], looked[min(at + 1, len(looked) - 1)]
    found = minimize_scalar(squares, bounds=bounds, method="bounded", options={"xatol": CLOSE * most})
    return float(found.x) if found.fun < squares(0.0) else 0.0


def _terms(one: Observed, warm_up: WarmUp, has_fixed: bool, has_parallel: bool) -> tuple[float, float, float]:
    work = warm_up.work(one.gigabases)
    return float(has_fixed), work, has_parallel * work / one.width


def _spread(values: Sequence[float]) -> float:
    return max(values) / min(values)


def _pooled(
    rows: np.ndarray, of: Sequence[int], machines: int, pull: float, start: float | None
) -> tuple[np.ndarray, float]:
    """Solve rows x law = 1 for the law of each row's machine, and for the law that all are pulled to.

    Returns the laws and the sum of squares, those of the pulls among them. How hard a term is pulled follows from its
    share of a row, so that it does not depend on units. `start`: see WarmUp.
    """
    count = rows.shape[1]
    starts = machines if start is not None else 0
    design = np.zeros((len(rows) + count * (machines + 1) + starts, count * (machines + 1)))
    for at, machine in enumerate(of):
        design[at, count * machine : count * (machine + 1)] = rows[at]
    share = rows.mean(axis=0)
    for term in range(count):
        common = count * machines + term
        for machine in range(machines):
            at = len(rows) + count * machine + term
            design[at, count * machine + term], design[at, common] = pull * share[term], -pull * share[term]
        design[len(rows) + common, common] = ALONE * share[term]
    if start is not None:
        beside = pull * share[0] * np.array([1.0, -start, -start]) * rows.any(axis=0)
        for machine in range(machines):
            design[machine - machines, count * machine : count * (machine + 1)] = beside
    wanted = np.concatenate([np.ones(len(rows)), np.zeros(len(design) - len(rows))])
    used = design.any(axis=0)
    found = np.zeros(design.shape[1])
    found[used], norm = nnls(design[:, used], wanted)
    return found[: count * machines].reshape(machines, count), float(norm**2)


def redrawn(steps: Mapping[str, Sequence[Observed]], draw: Random) -> dict[str, list[Observed]]:
    """Draw as many runs of each machine as there are, with replacement, the same for all steps (bootstrap).

    Of a lone run its jobs are drawn, step by step.
    """
    runs: dict[str, list[str]] = {}
    for one in (one for observed in steps.values() for one in observed):
        if one.run not in runs.setdefault(one.machine, []):
            runs[one.machine].append(one.run)
    times = {machine: Counter(draw.choices(of, k=len(of))) for machine, of in runs.items()}
    found: dict[str, list[Observed]] = {}
    for step, observed in steps.items():
        kept = [one for one in observed for _ in range(times[one.machine][one.run])]
        lone = all(len(of) == 1 for of in runs.values())
        found[step] = draw.choices(observed, k=len(observed)) if lone else kept
    return found
