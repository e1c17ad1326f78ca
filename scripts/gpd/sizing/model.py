"""A machine as a model: the laws of its steps, what else its jobs take, and the simulated node that they make. Pure."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random

from gpd.pipelines import HUMAN_30X_GIGABASES
from gpd.sizing import genome
from gpd.sizing.simulate import Node, Simulated, Task, simulate
from gpd.sizing.steps import Law
from gpd.statistics.knee import Knee, Observation, find_knee

SECONDS_PER_DAY = 24 * 3600
HOUR_S = 3600
GIGABASES_PER_X = HUMAN_30X_GIGABASES / 30  # of a human genome
CONFIDENCE = 0.95
DOUBLING = (
    0.05  # by how much a doubling beyond what was seen may be off, one standard deviation: a judgement, not measured
)
TOGETHER = 2  # samples for each core that go side by side at the end (workflow/rules/order.smk)


@dataclass(frozen=True)
class Range:
    """What a figure is, and between which bounds: 95% of what was resampled, widened where it was extrapolated."""

    low: float
    mid: float
    high: float

    def __mul__(self, factor: float) -> "Range":
        return Range(self.low * factor, self.mid * factor, self.high * factor)

    __rmul__ = __mul__

    def over(self, amount: float) -> "Range":
        """`amount` divided by it: what was low is high."""
        return Range(amount / self.high, amount / self.mid, amount / self.low)

    def up(self) -> "Range":
        """Of whole things: no half nodes."""
        return Range(*(float(math.ceil(value)) for value in (self.low, self.mid, self.high)))


@dataclass(frozen=True)
class Work:
    """A kind of job: a rule of the workflow, or a step of a published run. What is not known is None.

    `jobs` are those of one sample, which share its gigabases. `after` is the kind that they wait for. `whole`: it is
    one job for all samples. `untimed` jobs take cores, and are in no makespan. `piece_gigabases`: the smallest piece
    that the workflow cuts it into where cores are free (cuts.py); None: it is never cut. `mapped`: how long a gigabase
    takes depends on the genome (genome.py).
    """

    name: str
    step: str
    law: Law
    width: int = 1
    jobs: int = 1
    after: str | None = None
    whole: bool = False
    untimed: bool = False
    cpu: Law | None = None
    memory: Law | None = None
    piece_gigabases: float | None = None
    mapped: bool = False

    def amount(self, gigabases: float, genome_mb: float | None) -> float:
        """Gigabases as its laws have them, which are those of a small genome."""
        return gigabases * genome.factor(genome_mb) if self.mapped else gigabases

    def task(self, name: str, gigabases: float, after: Sequence[str], delay_s: float, priority: float) -> Task:
        return Task(
            name=name,
            step=self.step,
            serial_s=self.law.serial_s(gigabases),
            parallel_core_s=self.law.parallel_core_s(gigabases),
            width=self.width,
            after=tuple(after),
            delay_s=delay_s,
            priority=priority,
            slowdown=self.law.slowdown,
            memory_mib=self.memory.seconds(gigabases) if self.memory else 0.0,
            timed=not self.untimed,
            pieces=int(gigabases / self.piece_gigabases) if self.piece_gigabases else 1,
            piece_s=lambda pieces: self._alone_s(gigabases / pieces),
        )

    def _alone_s(self, gigabases: float) -> float:
        """Seconds on one core."""
        return self.law.serial_s(gigabases) + self.law.parallel_core_s(gigabases)


@dataclass(frozen=True)
class Seen:
    """Between what N, and what gigabases a sample, the figures are from. `n_failed`: the smallest N with failures."""

    n_low: int
    n_high: int
    gigabases_low: float
    gigabases_high: float
    n_failed: int | None = None

    def factor(self, n: int, gigabases: float) -> float:
        """How far from it: 2 is twice the largest, or half the smallest; of both together the product. 1: within."""
        return _beyond(n, self.n_low, self.n_high) * _beyond(gigabases, self.gigabases_low, self.gigabases_high)


def _beyond(value: float, low: float, high: float) -> float:
    return max(value / high, low / value, 1.0)


@dataclass(frozen=True)
class Prediction:
    """What N samples at once come to; memory and CPU seconds are None where jobs' own are not known."""

    n: int
    gigabases: float
    cores: int
    simulated: Simulated
    cpu_s: float | None
    memory_mib: float | None
    disk_mib: float | None

    @property
    def makespan_s(self) -> float:
        return self.simulated.makespan_s

    @property
    def genomes_per_day(self) -> float:
        return SECONDS_PER_DAY * self.n / self.makespan_s

    @property
    def core_hours_a_genome(self) -> float:
        """Core hours of the node, idle ones included."""
        return self.cores * self.makespan_s / HOUR_S / self.n

    @property
    def cpu_utilisation(self) -> float | None:
        return None if self.cpu_s is None else self.cpu_s / (self.cores * self.makespan_s)

    @property
    def full_share(self) -> float:
        """The share of the makespan in which no core was free."""
        return self.simulated.full_s / self.makespan_s


@dataclass(frozen=True)
class NodeModel:
    """One machine. `works` stand in the order of the workflow; `delay_s` passes between a job's end and the next start.

    `errors` are the relative errors of whole runs that were predicted without them (held-out); `resampled` is the model
    again, from runs drawn anew. `leased`: whether jobs have cores of their own. `genome_mb`: million bases of what is
    predicted; None: not known. `notes` are what a reader has to know.
    """

    name: str
    source: str
    skus: tuple[str, ...]
    sockets: int | None
    cores: int
    memory_mib: float | None
    leased: bool
    works: tuple[Work, ...]
    seen: Seen
    delay_s: float = 0.0
    disk_mib_per_gb: float | None = None
    kept_mib_per_gb: float | None = None
    shared_mib_per_gb: float | None = None
    genome_mb: float | None = None
    watts: float | None = None
    bandwidth_mb_s: float | None = None
    errors: tuple[float, ...] = ()
    resampled: tuple["NodeModel", ...] = ()
    notes: tuple[str, ...] = ()

    def predict(self, n: int, gigabases: float, memory_mib: float | None = None) -> Prediction:
        """Simulate N samples at once, of so many gigabases each; `memory_mib`: what jobs may take together."""
        tasks = list(self._tasks(n, gigabases))
        simulated = simulate(tasks, Node(self.cores, memory_mib, self.leased))
        known = all(work.memory for work in self.works)
        return Prediction(
            n,
            gigabases,
            self.cores,
            simulated,
            self._cpu_s(n, gigabases),
            simulated.peak_memory_mib if known else None,
            None if self.disk_mib_per_gb is None else self.disk_mib_per_gb * n * gigabases,
        )

    def makespan_h(self, central: Prediction, draw: Random) -> Range:
        """Hours of a prediction with their interval: over the resampled models, each as far off as a held-out run was.

        Beyond what was seen, DOUBLING for each doubling is added, on the logarithmic scale.
        """
        n, gigabases = central.n, central.gigabases
        beyond = DOUBLING * math.log2(self.seen.factor(n, gigabases))
        errors = self.errors or (0.0,)
        values = sorted(
            replace(again, genome_mb=self.genome_mb).predict(n, gigabases).makespan_s
            / HOUR_S
            * math.exp(draw.gauss(0, beyond))
            / (1 + draw.choice(errors))
            for again in self.resampled or (self,)
        )
        mid, tail = central.makespan_s / HOUR_S, (1 - CONFIDENCE) / 2
        low, high = (values[round(share * (len(values) - 1))] for share in (tail, 1 - tail))
        return Range(min(low, mid), mid, max(high, mid))

    def without_contention(self) -> "NodeModel":
        """The same machine where jobs do not slow each other: what faster memory and disks could give at most."""
        works = tuple(replace(work, law=replace(work.law, slowdown=0.0)) for work in self.works)
        return replace(self, works=works, resampled=(), errors=())

    @property
    def contended(self) -> list[str]:
        """The steps that slow down where more samples run at once."""
        return list(dict.fromkeys(work.step for work in self.works if work.law.slowdown > 0 and not work.untimed))

    def _cpu_s(self, n: int, gigabases: float) -> float | None:
        timed = [work for work in self.works if not work.untimed]
        if any(work.cpu is None for work in timed):
            return None
        return sum(
            work.cpu.seconds(n * gigabases)
            if work.whole
            else n * work.jobs * work.cpu.seconds(work.amount(gigabases / work.jobs, self.genome_mb))
            for work in timed
            if work.cpu
        )

    def _tasks(self, n: int, gigabases: float) -> Iterable[Task]:
        """All jobs of N samples, in the order of the workflow, with its priorities (workflow/rules/order.smk)."""
        by_name = {work.name: work for work in self.works}
        alone = self.leased and all(work.width == 1 for work in self.works if not work.whole)
        for number, work in enumerate(self.works):
            before = by_name.get(work.after or "")
            for sample in [None] if work.whole else range(n):
                after = _names(before, n, sample) if before else []
                priority = _priority(n, sample, number, len(self.works), TOGETHER * self.cores) if alone else work.width
                share = n * gigabases if sample is None else work.amount(gigabases / work.jobs, self.genome_mb)
                for name in _names(work, n, sample):
                    yield work.task(name, share, after, self.delay_s if before else 0.0, priority)


def _names(work: Work, n: int, sample: int | None) -> list[str]:
    """The names of a kind's jobs of one sample; of all samples, where one job is for all of them."""
    if work.whole:
        return [work.name]
    return [f"{work.name} {s}.{job}" for s in (range(n) if sample is None else [sample]) for job in range(work.jobs)]


def _priority(samples: int, position: int | None, number: int, rules: int, together: int) -> float:
    """As order.smk has it: depth first while samples wait; the last ones go side by side, the earlier step first."""
    if position is None:
        return samples**2 * rules
    after = max(samples - position - together, 0)
    return (after * rules + rules - number) * samples - position


@dataclass(frozen=True)
class Curve:
    """A machine's predictions for so many gigabases a sample, N ascending."""

    model: NodeModel
    gigabases: float
    predictions: tuple[Prediction, ...]

    @cached_property
    def knee(self) -> Knee:
        return find_knee(Observation(one.n, one.genomes_per_day) for one in self.predictions)

    def at(self, n: int) -> Prediction:
        return next(one for one in self.predictions if one.n == n)


MOST_N = 256  # samples at once that are simulated


def curve(model: NodeModel, gigabases: float, numbers: Iterable[int] = ()) -> Curve:
    """Simulate many N: all up to the most that was seen without failures, or, of a workflow that leases, until no more
    is to be gained. `numbers`: these instead."""
    asked = list(numbers)
    if asked:
        return Curve(model, gigabases, tuple(model.predict(n, gigabases) for n in asked))
    if not model.leased:
        return Curve(model, gigabases, tuple(model.predict(n, gigabases) for n in range(1, model.seen.n_high + 1)))
    found: list[Prediction] = []
    n = 1
    while n <= MOST_N:
        found.append(model.predict(n, gigabases))
        if (
            len(found) > 2
            and find_knee(Observation(p.n, p.genomes_per_day) for p in found).n != n
            and n >= model.seen.n_high
        ):
            break
        n *= 2
    return Curve(model, gigabases, tuple(found))
