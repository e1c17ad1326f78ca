"""What a number of genomes needs of a machine: nodes, hours, memory, disk, energy, money; each a range. Pure."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from random import Random

from gpd.errors import GpdError
from gpd.sizing.genome import HUMAN_MB
from gpd.sizing.model import GIGABASES_PER_X, HOUR_S, SECONDS_PER_DAY, Curve, NodeModel, Prediction, Range, curve
from gpd.sizing.power import Power
from gpd.statistics.knee import Knee, Observation, find_knee
from gpd.text.formats import listed, number, some

DAYS_PER_WEEK = 7
MIB_PER_GIB = 1024
MOST_STEPS = 3  # named
MOSTLY = 0.5  # of the time: past that cores are what limits


class NeedError(GpdError):
    """What was asked for can't be answered; the message is one line."""


@dataclass(frozen=True)
class Asked:
    """So many genomes a week, of such depth (x); `deadline_h`: what one batch may take; `nodes`: how many there are."""

    genomes_per_week: float
    depth: float
    deadline_h: float | None = None
    nodes: int | None = None
    carbon_g_per_kwh: float | None = None

    @property
    def gigabases(self) -> float:
        return self.depth * GIGABASES_PER_X


@dataclass(frozen=True)
class Need:
    """The answer for one machine; what is not known is None.

    `n` samples at once on a node, and `within` whether that keeps the deadline. `makespan_h` is how long these take,
    which is also how long one waits for a sample.
    """

    asked: Asked
    curve: Curve
    n: int
    knee: Knee
    within: bool
    makespan_h: Range
    power: Power | None
    price_per_hour: float | None
    limit: str
    changes: tuple[str, ...] = field(default=())

    @property
    def model(self) -> NodeModel:
        return self.curve.model

    @property
    def prediction(self) -> Prediction:
        return self.curve.at(self.n)

    @property
    def genomes_per_day(self) -> Range:
        """Of one node."""
        return self.makespan_h.over(24.0 * self.n)

    @property
    def core_hours(self) -> Range:
        """Of the node, idle cores included, for a genome."""
        return self.makespan_h * (self.model.cores / self.n)

    @cached_property
    def nodes(self) -> Range:
        """As many as it takes."""
        return (self.genomes_per_day * DAYS_PER_WEEK).over(self.asked.genomes_per_week).up()

    @property
    def nodes_counted(self) -> int:
        """Those that there are; else as many as it takes with some certainty."""
        return self.asked.nodes or int(self.nodes.high)

    @property
    def days(self) -> Range:
        """How long a week's genomes take on these nodes: batches of N, none of them cut."""
        batches = math.ceil(self.asked.genomes_per_week / (self.n * self.nodes_counted))
        return self.makespan_h * (batches / 24)

    @property
    def scratch_gib(self) -> float | None:
        """Disk that a node's batch takes while it runs."""
        disk = self.prediction.disk_mib
        return None if disk is None else disk / MIB_PER_GIB

    @property
    def kept_gib(self) -> float | None:
        """Disk that a genome's results take when all is done."""
        kept = self.model.kept_mib_per_gb
        return None if kept is None else kept * self.asked.gigabases / MIB_PER_GIB

    @property
    def memory_gib(self) -> float | None:
        memory = self.prediction.memory_mib
        return None if memory is None else memory / MIB_PER_GIB

    @property
    def network_mib_s(self) -> Range | None:
        """To and from network file systems, of one node on average."""
        amount = self.model.shared_mib_per_gb
        return None if amount is None else self.genomes_per_day * (amount * self.asked.gigabases / SECONDS_PER_DAY)

    @property
    def kwh(self) -> Range | None:
        """For a genome."""
        return None if self.power is None else self.makespan_h * (self.power.watts / 1000 / self.n)

    @property
    def co2_kg(self) -> Range | None:
        """For a genome: energy x what the grid emits."""
        carbon = self.asked.carbon_g_per_kwh
        return None if self.kwh is None or carbon is None else self.kwh * (carbon / 1000)

    @property
    def cost(self) -> Range | None:
        """For a genome."""
        return None if self.price_per_hour is None else self.makespan_h * (self.price_per_hour / self.n)

    @property
    def factor(self) -> float:
        """How far beyond what was seen; 1: within."""
        return self.model.seen.factor(self.n, self.asked.gigabases)


def need(asked: Asked, model: NodeModel, draw: Random, power: Power | None, price: float | None) -> Need:
    """The answer for one machine: of human genomes, which is what a depth is of."""
    model = replace(model, genome_mb=model.genome_mb and HUMAN_MB)
    found = curve(model, asked.gigabases)
    kept = [one for one in found.predictions if _in_time(one, asked)]
    within = bool(kept)
    kept = kept or [min(found.predictions, key=lambda one: one.makespan_s)]
    knee = find_knee(Observation(one.n, one.genomes_per_day) for one in kept)
    n = knee.n or kept[0].n
    makespan_h = model.makespan_h(found.at(n), draw)
    made = Need(asked, found, n, knee, within, makespan_h, power, price, limit="")
    return Need(asked, found, n, knee, within, makespan_h, power, price, _limit(made), tuple(_changes(made)))


def _in_time(one: Prediction, asked: Asked) -> bool:
    return asked.deadline_h is None or one.makespan_s <= asked.deadline_h * HOUR_S


def _limit(made: Need) -> str:
    """Which resource keeps a node from doing more."""
    one, seen = made.prediction, made.model.seen
    full = f"no core is free for {number(100 * one.full_share, 2)}% of the time"
    if not made.within:
        return f"the deadline: no N keeps {made.asked.deadline_h:g} h; {full}"
    if made.curve.knee.n != made.n:
        return f"the deadline: without it N = {made.curve.knee.n} gave most; {full}"
    if not made.model.leased and made.n == seen.n_high and seen.n_failed:
        return f"failures: N = {seen.n_high} is the most that was run without any, N = {seen.n_failed} had some; {full}"
    if one.full_share >= MOSTLY:
        return f"cores: {full}"
    return f"the longest chain of jobs of a sample: {full}"


def _changes(made: Need) -> Iterator[str]:
    """What one more node, more memory or faster disks would change."""
    weekly = made.genomes_per_day * DAYS_PER_WEEK
    yield f"one more node: {number(weekly.low)} to {number(weekly.high)} genomes a week more"
    yield _memory(made)
    yield _disk(made)


def _memory(made: Need) -> str:
    there, wanted = made.model.memory_mib, made.prediction.memory_mib
    if there is None or wanted is None:
        return "more memory: not told, for what jobs take, or what there is, is not known"
    if wanted <= there:
        return f"more memory: nothing, for jobs take {number(100 * wanted / there, 2)}% of it at most"
    return f"more memory: needed, for jobs take {number(wanted / there, 2)} times what there is"


def _disk(made: Need) -> str:
    if not made.model.contended:
        return "faster disks or memory: nothing, for no job was seen to slow down beside others"
    ideal = made.model.without_contention().predict(made.n, made.asked.gigabases)
    gain = ideal.genomes_per_day / made.prediction.genomes_per_day - 1
    return (
        f"disks and memory so fast that no job slows another: {number(100 * gain, 2)}% more at most"
        f" (in {some(made.model.contended, MOST_STEPS)}; which of the two it is, is not told)"
    )


def extrapolated(made: Need) -> str | None:
    """Say what was not seen, and how far from it this is; None: all of it was."""
    seen, beyond = made.model.seen, []
    if not seen.n_low <= made.n <= seen.n_high:
        beyond.append(f"N = {made.n} (seen: {_span(seen.n_low, seen.n_high)})")
    if seen.factor(seen.n_low, made.asked.gigabases) > 1:
        sizes = _span(seen.gigabases_low, seen.gigabases_high)
        beyond.append(f"{number(made.asked.gigabases)} Gb a sample (seen: {sizes})")
    if not beyond:
        return None
    return f"extrapolated {number(made.factor, 2)}-fold: {listed(beyond)}"


def _span(low: float, high: float) -> str:
    return number(low) if low == high else f"{number(low)} to {number(high)}"
