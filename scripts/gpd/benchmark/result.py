"""What a benchmark came to: its figure at the best N, one sample alone, and a line of both. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from gpd.statistics.estimates import Estimate
from gpd.statistics.saturation import find_saturation
from gpd.tables.collect import Tables
from gpd.tables.columns import ConfigurationRow
from gpd.text.formats import counted, number


@dataclass(frozen=True)
class Result:
    """The configuration that gives the most samples a day, and that of the fewest: one sample alone, but for a pipeline
    that compares samples. `energy_j` is what a sample took at the best N, by the machine's own counters."""

    best: ConfigurationRow
    fewest: ConfigurationRow
    cores: int
    energy_j: float | None = None

    def line(self, name: str) -> str:
        """All in one line, with half-widths of 95% intervals."""
        best, fewest = self.best, self.fewest
        alone = "one sample alone takes" if fewest.n == 1 else f"{fewest.n} samples alone take"
        human, energy = best.human_30x_per_day, self.energy_j
        parts = [
            f"{name}: {_with_error(best.genomes_per_day)} samples a day at N = {best.n}, on "
            f"{counted(self.cores, 'core')}",
            f"{_with_error(human)} human genomes at 30x a day" if human.value is not None else "",
            f"{alone} {_with_error(fewest.makespan_s)} s",
            f"{number(best.cpu_s_per_gigabase.value)} CPU s a gigabase",
            f"CPU utilisation {number(best.cpu_utilisation.value)}",
            f"{number(energy / 1000)} kJ a sample by counters of processors and memory" if energy else "",
        ]
        return "; ".join(filter(None, parts))


def of_tables(tables: Tables) -> Result | None:
    """The result of a study; None where no sample succeeded."""
    rows = {row.n: row for row in tables.configurations}
    best = find_saturation(row.observation for row in rows.values()).best_n
    if best is None:
        return None
    cores = max((run.cores for run in tables.runs if run.counted), default=0)
    return Result(rows[best], rows[min(rows)], cores, _energy_of_a_sample(tables, best))


def of_sessions(estimates: Sequence[Estimate]) -> Estimate:
    """The mean of sessions, from the lowest end of their intervals to the highest.

    A session's own interval is of its repeats, and says nothing of another day; two sessions are too few for a spread.
    """
    values, lows, highs = ([getattr(one, name) for one in estimates] for name in ("value", "low", "high"))
    known = None not in values
    has_ends = known and None not in (*lows, *highs)
    low, high = (min(lows), max(highs)) if has_ends else (None, None)
    return Estimate(mean(values) if known else None, low, high, n=len(values))


def _energy_of_a_sample(tables: Tables, n: int) -> float | None:
    """J, the mean over the runs that count; None where a run has none."""
    counted = {run.run for run in tables.runs if run.counted and run.n == n}
    runs = [record for record in tables.records if record.spec.name in counted]
    spent = [sum(record.energy_j.values()) / n for record in runs if record.energy_j]
    return mean(spent) if spent and len(spent) == len(runs) else None


def _with_error(estimate: Estimate) -> str:
    half = estimate.half_width
    return f"{number(estimate.value)}{'' if half is None else f' ± {number(half)}'}"
