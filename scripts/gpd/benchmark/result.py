"""What a benchmark came to: its figure at the best N, one sample alone, and a line of both. Pure."""

from dataclasses import dataclass

from gpd.statistics.estimates import Estimate
from gpd.statistics.saturation import find_saturation
from gpd.tables.collect import Tables
from gpd.tables.columns import ConfigurationRow
from gpd.text.formats import counted, number


@dataclass(frozen=True)
class Result:
    """The configuration that gives the most samples a day, and that of one sample alone."""

    best: ConfigurationRow
    alone: ConfigurationRow | None
    cores: int

    def line(self, name: str) -> str:
        """All in one line, with half-widths of 95% intervals."""
        best = self.best
        parts = [
            f"{name}: {_with_error(best.genomes_per_day)} samples a day at N = {best.n}, on "
            f"{counted(self.cores, 'core')}",
            f"one sample alone takes {_with_error(self.alone.makespan_s)} s" if self.alone else "",
            f"{number(best.cpu_s_per_gigabase.value)} CPU s a gigabase",
            f"CPU utilisation {number(best.cpu_utilisation.value)}",
        ]
        return "; ".join(filter(None, parts))


def of_tables(tables: Tables) -> Result | None:
    """The result of a study; None where no sample succeeded."""
    rows = {row.n: row for row in tables.configurations}
    best = find_saturation(row.observation for row in rows.values()).best_n
    cores = max((run.cores for run in tables.runs if run.counted), default=0)
    return None if best is None else Result(rows[best], rows.get(1), cores)


def _with_error(estimate: Estimate) -> str:
    half = estimate.half_width
    return f"{number(estimate.value)}{'' if half is None else f' ± {number(half)}'}"
