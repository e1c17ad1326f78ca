"""How benches say what they measured: on which machine, the median of a figure over pairs, and its bound."""

import argparse
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from gpd.lab import provenance
from gpd.machines import host
from gpd.text.formats import listed


@dataclass(frozen=True)
class Figure:
    """A figure, a value a pair; `least` and `most` are what the goal allows for its median.

    `of_results`: it is about results, not about speed, so that it has to hold in the smallest size, too.
    """

    what: str
    values: tuple[float, ...]
    least: float | None = None
    most: float | None = None
    decimals: int = 3
    of_results: bool = False

    @property
    def holds(self) -> bool:
        median = statistics.median(self.values)
        return (self.least is None or median >= self.least) and (self.most is None or median <= self.most)

    def __str__(self) -> str:
        bounds = ((">=", self.least), ("<=", self.most))
        goal = "".join(f" ({sign} {bound:g})" for sign, bound in bounds if bound is not None)
        return f"{self.what}{goal}: {spread(self.values, self.decimals)}{'' if self.holds else '  OUT OF BOUNDS'}"


def spread(values: Iterable[float], decimals: int = 3) -> str:
    """Median, number, least and most."""
    values = sorted(values)
    least, middle, most = (f"{value:,.{decimals}f}" for value in (values[0], statistics.median(values), values[-1]))
    return f"{middle} (n = {len(values)}, {least} to {most})"


def show(found: Iterable[Figure], smallest: bool = False) -> bool:
    """Print figures as they come; whether all hold that have to."""
    holds = []
    for figure in found:
        print(figure, flush=True)
        holds.append(figure.holds or (smallest and not figure.of_results))
    return all(holds)


def show_machine(smallest: bool) -> None:
    """Print what figures depend on: the machine, how busy it is just now, and, unless time is short, the tools."""
    here = host.look({})
    memory = f"{(here.memory_mib or 0) / 1024:.1f} GiB"
    print(f"machine: {here.cpu_model}, {here.usable_threads} usable threads, {memory}, Linux {here.kernel}, {here.os}")
    if here.load and here.load.busy_cpus is not None:
        print(f"others kept {here.load.busy_cpus:.2f} CPUs busy before the start")
    if not smallest:
        versions = provenance.tool_versions("germline").items()
        print(f"tools: {listed(f'{tool} {version}' for tool, version in versions if version)}", flush=True)


def parser(description: str) -> argparse.ArgumentParser:
    """The options that all of these benches have."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--seed", type=int, default=1, help="of the simulated cohorts (%(default)s)")
    made.add_argument("--smallest", action="store_true", help="whether it works, not what it measures")
    return made
