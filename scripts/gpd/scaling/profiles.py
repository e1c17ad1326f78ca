"""Which number of threads is best for each step, and the profile that says so to Snakemake. Pure.

A number of threads is as good as the best where the difference is within its standard error. Of those the smallest is
taken, for threads that bring nothing cost memory and caches (the one-standard-error rule, as for a saturation point).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import hypot

import yaml

from gpd.pipelines import PIPELINES
from gpd.records.run_spec import ALONE, FULL
from gpd.tables.rows import Row
from gpd.text.formats import counted, with_error


@dataclass(frozen=True)
class Goal:
    """What thread counts are chosen for: the file of the profile in a study's folder, and the figure that counts."""

    path: str
    occupancy: str
    column: str
    more: bool
    aim: str
    unit: str

    def better(self, one: Row, other: Row) -> float:
        """By how much one configuration is better than another, above 0 where it is."""
        difference = one[f"{self.column}_mean"] - other[f"{self.column}_mean"]
        return difference if self.more else -difference


THROUGHPUT = Goal(
    "profile-throughput/config.yaml",
    FULL,
    "steps_per_hour",
    True,
    "most samples a day, the node fully loaded",
    "an hour",
)
SINGLE = Goal("profile-single-sample/config.yaml", ALONE, "step_s", False, "the shortest time of a single sample", "s")
GOALS = (THROUGHPUT, SINGLE)


def best(configurations: Iterable[Row], goal: Goal) -> Row | None:
    """The one of a step's configurations with fewest threads that is as good as the best; None: none was measured."""
    known = [configuration for configuration in configurations if configuration[f"{goal.column}_mean"] is not None]
    if not known:
        return None
    top = next(
        configuration for configuration in known if all(goal.better(configuration, other) >= 0 for other in known)
    )
    return min((p for p in known if goal.better(top, p) <= _error(top, p, goal)), key=lambda p: p["threads"])


def _error(one: Row, other: Row, goal: Goal) -> float:
    """The standard error of the difference, as far as it is known."""
    return (
        0.0 if one is other else hypot(*(configuration[f"{goal.column}_se"] or 0.0 for configuration in (one, other)))
    )


def profile(configurations: Sequence[Row], goal: Goal, binding: str, scatter: str) -> str:
    """The profile of a goal, as YAML: of configurations with this binding and scatter; empty where no step has any."""
    wanted = {"occupancy": goal.occupancy, "binding": binding, "scatter": scatter}
    own = [
        configuration
        for configuration in configurations
        if all(configuration[key] == value for key, value in wanted.items())
    ]
    parts = list(_parts(own, goal))
    if not parts:
        return ""
    machine = " ".join((own[0]["sku"] or "a processor of no known name").split())
    how = "run whole" if scatter == "none" else f"scattered (scatter: {scatter})"
    lines = [
        f"# Thread counts for {goal.aim}, as gpd scaling measured them:",
        f"# {machine}, {own[0]['pipeline']}, binding {binding}, steps {how}.",
        "# Steps that are not here were not measured, and keep the threads of their rules.",
        "set-threads:",
        *(line for part in parts for line in part),
    ]
    return "\n".join(lines) + "\n"


def _parts(configurations: Sequence[Row], goal: Goal) -> Iterator[list[str]]:
    """The lines of each step that was measured: what its best configuration came to, and the threads of its rules."""
    for pipeline in dict.fromkeys(configuration["pipeline"] for configuration in configurations):
        for step in PIPELINES[pipeline].steps:
            own = [
                configuration
                for configuration in configurations
                if (configuration["pipeline"], configuration["step"]) == (pipeline, step)
            ]
            if (one := best(own, goal)) is None:
                continue
            mean, error = with_error(one[f"{goal.column}_mean"], one[f"{goal.column}_se"])
            figure = " ".join(filter(None, (mean, error, goal.unit)))
            copies = f", {one['copies']} at once" if goal.occupancy == FULL else ""
            tried = ", ".join(str(threads) for threads in sorted(configuration["threads"] for configuration in own))
            rules = yaml.safe_dump(dict.fromkeys(PIPELINES[pipeline].rules_of(step), one["threads"]), sort_keys=False)
            yield [
                f"  # {step}: {figure}{copies}, {counted(one['repeats'], 'repeat')}; tried: {tried}",
                *(f"  {line}" for line in rules.splitlines()),
            ]
