"""What a number of genomes needs of a machine: which N answers for it, how many nodes, and what limits them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil

from gpd.errors import GpdError
from gpd.pipelines import ALIKE, GIGABASES_PER_X
from gpd.sizing.machine import Machine, Measured
from gpd.sizing.power import Power
from gpd.statistics.estimates import Estimate
from gpd.statistics.saturation import Saturation, find_saturation
from gpd.text.formats import number, percent

HOURS_PER_DAY = 24
SECONDS_PER_HOUR = 3600
DAYS_PER_WEEK = 7
MOST_SCALED = 2  # samples that were measured may be so many times as large as those that are asked for


@dataclass(frozen=True)
class Demand:
    """Genomes of a depth (x). `deadline_h`: what one batch may take; `nodes`: how many there are, if that is known."""

    genomes_per_week: float
    depth: float
    deadline_h: float | None = None
    nodes: int | None = None

    @property
    def gigabases(self) -> float:
        return self.depth * GIGABASES_PER_X

    def daily(self, one: Measured) -> Estimate:
        """Genomes a day of one node, of N samples at once."""
        return one.gigabases_per_day.times(1 / self.gigabases)


@dataclass(frozen=True)
class Sizing:
    """The answer for one machine; quantities.py has its lines.

    `measured` are the N that answer for samples of this size, `at` is the one of them that is used. `price_per_hour` is
    of a node; None: not given.
    """

    demand: Demand
    machine: Machine
    measured: tuple[Measured, ...]
    at: Measured
    power: Power | None
    price_per_hour: float | None = None

    @property
    def n(self) -> int:
        """Samples at once on a node."""
        return self.at.n

    @property
    def genomes_per_day(self) -> Estimate:
        """Of one node."""
        return self.demand.daily(self.at)

    @cached_property
    def makespan_h(self) -> Estimate:
        """Hours of N samples of the demand's size, which is also how long one waits for a sample."""
        if self.at.makespan_s is None:
            return self.genomes_per_day.over(HOURS_PER_DAY * self.n)
        return self.at.makespan_s.times(self.demand.gigabases / self.at.gigabases / SECONDS_PER_HOUR)

    @cached_property
    def nodes(self) -> Estimate:
        """As many as it takes, whole ones."""
        return self.genomes_per_day.times(DAYS_PER_WEEK).over(self.demand.genomes_per_week).each(ceil)

    @property
    def nodes_counted(self) -> int:
        """Those that there are; else as many as it takes with some certainty."""
        return self.demand.nodes or int(self.nodes.worst)

    @cached_property
    def saturation(self) -> Saturation:
        """Of all these N, whatever the deadline."""
        return find_saturation(one.observation for one in self.measured)

    @property
    def within(self) -> bool:
        """Whether a batch keeps the deadline, also where it takes as long as it may."""
        return self.demand.deadline_h is None or self.makespan_h.worst <= self.demand.deadline_h

    @property
    def fits(self) -> bool:
        """Whether a node has the memory that jobs which run at once ask for, as far as both are known."""
        there, asked = self.machine.memory_mib, self.at.declared_mib
        return there is None or asked is None or asked <= there

    @property
    def remarks(self) -> Iterator[str]:
        """What a reader must know of an answer, line by line."""
        if self.scaled:
            yield self.scaled
        yield f"limited by {self.limit}"
        if self.demand.deadline_h is not None and self.makespan_h.high is None:
            yield f"deadline: N = {self.n} has no interval, so how much longer a batch may take is not known"
        weekly = self.genomes_per_day.times(DAYS_PER_WEEK)
        span = "" if weekly.low is None else f" ({number(weekly.low)} to {number(weekly.high)})"
        yield f"one more node: {number(weekly.value)} genomes a week more{span}"
        yield from self._memory
        yield f"watts: {self.power.source}" if self.power else "watts: not known, so no energy; give --watts"
        if self.machine.bandwidth_mb_s is not None:
            yield f"memory bandwidth of the node, measured: {number(self.machine.bandwidth_mb_s)} MB/s"
        yield from self.machine.notes

    @property
    def _memory(self) -> Iterator[str]:
        """What jobs took of a node's memory, and what those that ran at once had asked for."""
        there = self.machine.memory_mib
        if there is None or self.at.memory_mib is None:
            yield "memory: what jobs take, or what there is, is not known"
        else:
            yield f"memory: jobs of N = {self.n} took at most {percent(self.at.memory_mib / there)} of it"
        if there is not None and self.at.declared_mib is not None:
            yield f"memory: those that ran at once had asked for {percent(self.at.declared_mib / there)} of it"

    @property
    def scaled(self) -> str | None:
        """Say of what other size the samples were that were measured; None: they were as large as those asked for."""
        if self.at.extrapolated:
            sizes = f"{number(self.at.gigabases)} to {number(self.demand.gigabases)} Gb a sample"
            return (
                f"EXTRAPOLATED from {sizes}, as if time and disk grew as gigabases do: how far off"
                " is not known, so it has no intervals and no memory"
            )
        if self.at.gigabases * ALIKE <= self.demand.gigabases:
            return None
        return (
            f"scaled from {number(self.at.gigabases)} to {number(self.demand.gigabases)} Gb a sample: time and disk are"
            " taken to grow as gigabases do, which is too little where part of a step does not grow"
        )

    @property
    def limit(self) -> str:
        """What keeps a node from doing more."""
        most, failed = self.machine.measured[-1].n, self.machine.n_failed
        if not self.within:
            return f"the deadline: no N that was measured keeps {self.demand.deadline_h:g} h"
        if not self.fits:
            return "memory: at no N that was measured is there as much as jobs that run at once ask for"
        if self.saturation.best_n != self.n:
            best = next(one for one in self.measured if one.n == self.saturation.best_n)
            if not replace(self, at=best).fits:
                return f"memory: at N = {best.n}, which gives most, jobs that run at once ask for more than there is"
            return f"the deadline: without it N = {best.n} gives most"
        if self.n < most:
            return f"the machine: up to N = {most} more samples at once gave no more"
        if failed and failed > self.n:
            return f"failures: N = {self.n} is the most that was run without any, N = {failed} had some"
        return f"what was measured: N = {self.n} is the most; whether more at once give more is not known"


def size(
    demand: Demand,
    machine: Machine,
    watts: float | None = None,
    price_per_hour: float | None = None,
    extrapolate: bool = False,
) -> Sizing:
    """The answer for one machine, at the N that gives most of those that fit its memory and keep the deadline.

    `watts` are those that were given for a node. Raises GpdError where no samples of about the size that is asked for
    were measured, but where it is to extrapolate.
    """
    least, most = ALIKE * demand.gigabases, MOST_SCALED * demand.gigabases
    alike = tuple(one for one in machine.measured if least <= one.gigabases <= most)
    if not alike and not extrapolate:
        raise GpdError(_not_known(demand, machine))
    alike = alike or tuple(map(_extrapolated, machine.measured))
    answers = [Sizing(demand, machine, alike, one, Power.of(watts, machine, one), price_per_hour) for one in alike]
    fitting = [one for one in answers if one.fits] or answers[:1]
    kept = [one for one in fitting if one.within] or [min(fitting, key=lambda one: one.makespan_h.worst)]
    best = find_saturation(one.at.observation for one in kept).best_n
    return next(one for one in kept if one.n == best)


def _extrapolated(one: Measured) -> Measured:
    """Figures for samples of another size: gigabases a day alone, without an interval, for its error is not known."""
    daily = replace(one.gigabases_per_day, low=None, high=None)
    known = replace(one, gigabases_per_day=daily, extrapolated=True)
    return replace(known, makespan_s=None, memory_mib=None, declared_mib=None)


def _not_known(demand: Demand, machine: Machine) -> str:
    sizes = [one.gigabases for one in machine.measured]
    span = " to ".join(dict.fromkeys(number(size) for size in (min(sizes), max(sizes))))
    low, high = min(sizes) / MOST_SCALED / GIGABASES_PER_X, max(sizes) / ALIKE / GIGABASES_PER_X
    return (
        f"{machine.name}: not known: measured at {span} Gb a sample, and a human genome at {demand.depth:g}x has"
        f" {number(demand.gigabases)} Gb; run a study of samples of that size, or the rehearsal (make rehearsal);"
        f" this one answers for --depth {number(low)} to {number(high)},"
        " and with --extrapolate for any, however far off"
    )
