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
from gpd.statistics.estimates import Estimate
from gpd.tables.scaling_rows import ScalingConfiguration
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

    def figure(self, row: ScalingConfiguration) -> Estimate:
        return getattr(row, self.column)

    def better(self, one: ScalingConfiguration, other: ScalingConfiguration) -> float:
        """By how much one configuration is better than another, above 0 where it is."""
        difference = (self.figure(one).value or 0.0) - (self.figure(other).value or 0.0)
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


def best(configurations: Iterable[ScalingConfiguration], goal: Goal) -> ScalingConfiguration | None:
    """The one of a step's configurations with fewest threads that is as good as the best; None: none was measured."""
    known = [row for row in configurations if goal.figure(row).value is not None]
    if not known:
        return None
    top = next(row for row in known if all(goal.better(row, other) >= 0 for other in known))
    as_good = (row for row in known if goal.better(top, row) <= _error(top, row, goal))
    return min(as_good, key=lambda row: row.threads)


def _error(one: ScalingConfiguration, other: ScalingConfiguration, goal: Goal) -> float:
    """The standard error of the difference, as far as it is known."""
    return 0.0 if one is other else hypot(*(goal.figure(row).se or 0.0 for row in (one, other)))


def profile(configurations: Sequence[ScalingConfiguration], goal: Goal, binding: str, scatter: str) -> str:
    """The profile of a goal, as YAML: of configurations with this binding and scatter; empty where no step has any."""
    wanted = goal.occupancy, binding, scatter
    own = [row for row in configurations if (row.occupancy, row.binding, row.scatter) == wanted]
    parts = list(_parts(own, goal))
    if not parts:
        return ""
    machine = " ".join((own[0].sku or "a processor of no known name").split())
    how = "run whole" if scatter == "none" else f"scattered (scatter: {scatter})"
    lines = [
        f"# Thread counts for {goal.aim}, as gpd scaling measured them:",
        f"# {machine}, {own[0].pipeline}, binding {binding}, steps {how}.",
        "# Steps that are not here were not measured, and keep the threads of their rules.",
        "set-threads:",
        *(line for part in parts for line in part),
    ]
    return "\n".join(lines) + "\n"


def _parts(configurations: Sequence[ScalingConfiguration], goal: Goal) -> Iterator[list[str]]:
    """The lines of each step that was measured: what its best configuration came to, and the threads of its rules."""
    for pipeline, step, own in by_step(configurations):
        if (one := best(own, goal)) is None:
            continue
        figure = " ".join(filter(None, (*with_error(goal.figure(one).value, goal.figure(one).half_width), goal.unit)))
        copies = f", {one.copies} at once" if goal.occupancy == FULL else ""
        tried = ", ".join(map(str, sorted(row.threads for row in own)))
        rules = yaml.safe_dump(dict.fromkeys(PIPELINES[pipeline].rules_of(step), one.threads), sort_keys=False)
        yield [
            f"  # {step}: {figure}{copies}, {counted(one.repeats, 'repeat')}; tried: {tried}",
            *(f"  {line}" for line in rules.splitlines()),
        ]


def by_step(
    configurations: Sequence[ScalingConfiguration],
) -> Iterator[tuple[str, str, list[ScalingConfiguration]]]:
    """The configurations of each step of a pipeline that was measured, in the pipeline's order."""
    for pipeline in dict.fromkeys(row.pipeline for row in configurations):
        for step in PIPELINES[pipeline].steps:
            if own := [row for row in configurations if (row.pipeline, row.step) == (pipeline, step)]:
                yield pipeline, step, own
