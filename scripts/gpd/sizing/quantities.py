"""The lines of an answer, one list for terminal, page and JSON: label, value, unit, and what the value follows from."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from gpd.sizing.nodes_needed import DAYS_PER_WEEK, HOURS_PER_DAY, Sizing
from gpd.statistics.estimates import Estimate
from gpd.text.formats import SECONDS_PER_DAY

MIB_PER_GIB = 1024
HOURS_PER_WEEK = HOURS_PER_DAY * DAYS_PER_WEEK
WATTS_PER_KILOWATT = 1000


@dataclass(frozen=True)
class Quantity:
    """A line of an answer. None: the value is not known. `key` is its name in JSON; `whole`: it has no decimals."""

    key: str
    label: str
    value: Estimate | None
    unit: str
    why: str
    whole: bool = False


def quantities(one: Sizing) -> list[Quantity]:
    """The lines of an answer, in order; money only where a price is given."""
    money = [] if one.price_per_hour is None else _money(one, one.price_per_hour)
    return [*_throughput(one), *_resources(one), *_energy(one), *money]


def _throughput(one: Sizing) -> Iterator[Quantity]:
    cores, n = one.machine.cores, one.n
    batches = math.ceil(one.demand.genomes_per_week / (n * one.nodes_counted))
    days, core_hours = one.makespan_h.times(batches / HOURS_PER_DAY), one.makespan_h.times(cores / n)
    measured, counted = one.at.gigabases_per_day, "given" if one.demand.nodes else "upper end of nodes needed"
    of_genome = f"gigabases a day / {one.demand.gigabases:g}"
    how_long = "24 x N / genomes a day" if one.at.makespan_s is None else "mean over repeats, by gigabases of a sample"
    yield Quantity("cores", "cores", Estimate(cores), "", "of the node", whole=True)
    yield Quantity("n", "samples at once (N)", Estimate(n), "", "gives most within memory and deadline", whole=True)
    yield Quantity("gigabases_per_day", "throughput as measured", measured, "Gb/d", "mean over repeats")
    yield Quantity("makespan", "makespan of N samples", one.makespan_h, "h", how_long)
    yield Quantity("genomes_per_day", "throughput of a node", one.genomes_per_day, "genomes/d", of_genome)
    yield Quantity("nodes", "nodes needed", one.nodes, "", "genomes a week / (7 x genomes a day)", whole=True)
    yield Quantity("nodes_counted", "nodes counted with", Estimate(one.nodes_counted), "", counted, whole=True)
    yield Quantity("days", "a week's genomes on these nodes", days, "d", "whole batches, one after the other")
    yield Quantity("core_hours", "core time of a genome", core_hours, "h", "cores x makespan / N, idle ones too")


def _resources(one: Sizing) -> Iterator[Quantity]:
    at, genome_gb, shared = one.at, one.demand.gigabases, one.at.shared_mib_per_gb
    traffic = None if shared is None else at.gigabases_per_day.times(shared / SECONDS_PER_DAY)
    scratch, kept = _gib(at.disk_mib_per_gb, one.n * genome_gb), _gib(at.kept_mib_per_gb, genome_gb)
    memory, declared = _gib(at.memory_mib), _gib(at.declared_mib)
    yield Quantity("cpu_utilisation", "CPU utilisation", at.cpu_utilisation, "", "mean over repeats")
    yield Quantity("memory", "memory of a node", memory, "GiB", "most that jobs took together")
    yield Quantity("declared_memory", "memory asked for", declared, "GiB", "most mem_mb of jobs at once")
    yield Quantity("scratch", "scratch disk of a node", scratch, "GiB", "MiB a gigabase x gigabases of N")
    yield Quantity("kept", "kept on disk of a genome", kept, "GiB", "MiB a gigabase x gigabases")
    yield Quantity("shared", "shared file system, a node", traffic, "MiB/s", "inputs and outputs of jobs")


def _energy(one: Sizing) -> Iterator[Quantity]:
    watts = one.power.watts if one.power else None
    kwh = None if watts is None else one.makespan_h.times(watts / WATTS_PER_KILOWATT / one.n)
    of_node = None if watts is None else Estimate(watts)
    yield Quantity("watts", "power of a node", of_node, "W", "given, or by counters")
    yield Quantity("kwh", "energy of a genome", kwh, "kWh", "power x makespan / N")


def _money(one: Sizing, hourly: float) -> Iterator[Quantity]:
    genome = one.makespan_h.times(hourly / one.n)
    weekly = genome.times(one.demand.genomes_per_week)
    whole_nodes = Estimate(one.nodes_counted * HOURS_PER_WEEK * hourly)
    yield Quantity("cost", "cost of a genome", genome, "", "price x makespan / N")
    yield Quantity("cost_per_week", "cost a week, hours in use", weekly, "", "cost of a genome x genomes a week")
    yield Quantity("cost_per_week_whole_nodes", "cost a week, whole nodes", whole_nodes, "", "price x 168 h x nodes")


def _gib(mib: float | None, times: float = 1) -> Estimate | None:
    return None if mib is None else Estimate(mib * times / MIB_PER_GIB)
