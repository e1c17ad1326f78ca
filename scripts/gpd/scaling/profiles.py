"""Which number of threads is best for each step, and the profile that says so to Snakemake. Pure.

A number of threads is as good as the best where the difference is within its standard error. Of those the smallest is
taken, for threads that bring nothing cost memory and caches (the one-standard-error rule, as for a saturation point).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import hypot

import yaml

from gpd.pipelines import PIPELINES
from gpd.records.run_spec import ALONE, FULL
from gpd.reports.grids import row_dicts
from gpd.scaling.results import Results
from gpd.tables.rows import Row
from gpd.text.formats import counted, with_error

PROFILE = "config.yaml"


@dataclass(frozen=True)
class Goal:
    """What thread counts are chosen for: the name of the profile, and the figure that counts."""

    profile: str
    occupancy: str
    column: str
    more: bool
    aim: str
    unit: str

    def better(self, one: Row, other: Row) -> float:
        """By how much one configuration is better than another, above 0 where it is."""
        difference = one[f"{self.column}_mean"] - other[f"{self.column}_mean"]
        return difference if self.more else -difference


THROUGHPUT = Goal("profile-throughput", FULL, "steps_per_hour", True, "most samples a day, the node full", "an hour")
SINGLE = Goal("profile-single-sample", ALONE, "step_s", False, "the shortest time of a single sample", "s")
GOALS = (THROUGHPUT, SINGLE)


def best(points: Iterable[Row], goal: Goal) -> Row | None:
    """The narrowest of one step's configurations that are as good as the best; None where none was measured."""
    known = [point for point in points if point[f"{goal.column}_mean"] is not None]
    if not known:
        return None
    top = next(point for point in known if all(goal.better(point, other) >= 0 for other in known))
    return min((p for p in known if goal.better(top, p) <= _error(top, p, goal)), key=lambda p: p["threads"])


def _error(one: Row, other: Row, goal: Goal) -> float:
    """The standard error of the difference, as far as it is known."""
    return 0.0 if one is other else hypot(*(point[f"{goal.column}_se"] or 0.0 for point in (one, other)))


def chosen(points: Sequence[Row], goal: Goal, binding: str, scatter: str) -> list[tuple[Row, list[Row]]]:
    """For each step measured for a goal, with this binding and so many shards: its best configuration, and all."""
    found = []
    wanted = {"occupancy": goal.occupancy, "binding": binding, "scatter": scatter}
    own = [point for point in points if all(point[key] == value for key, value in wanted.items())]
    for pipeline in dict.fromkeys(point["pipeline"] for point in own):
        for step in PIPELINES[pipeline].steps:
            of_step = [point for point in own if (point["pipeline"], point["step"]) == (pipeline, step)]
            if (one := best(of_step, goal)) is not None:
                found.append((one, of_step))
    return found


def rows(found: Results) -> list[Row]:
    """The configurations of a study, as they are chosen from."""
    return row_dicts(found.configurations)


def profile(points: Sequence[Row], goal: Goal, binding: str, scatter: str) -> str:
    """The profile of a goal, as YAML; empty where no step was measured for it."""
    steps = chosen(points, goal, binding, scatter)
    if not steps:
        return ""
    lines = [
        f"# Thread counts for {goal.aim}, as gpd scaling measured them:",
        f"# {_comment(steps[0][0], scatter)}.",
        "# Steps that are not here were not measured, and keep the threads of their rules.",
        "set-threads:",
    ]
    for one, every in steps:
        lines.append(f"  # {_measured(one, every, goal)}")
        thread_counts = {rule: int(one["threads"]) for rule in PIPELINES[one["pipeline"]].rules_of(one["step"])}
        lines += [f"  {line}" for line in yaml.safe_dump(thread_counts, sort_keys=False).splitlines()]
    return "\n".join(lines) + "\n"


def _comment(point: Row, scatter: str) -> str:
    pieces = "whole" if scatter == "none" else f"in pieces (scatter: {scatter})"
    machine = " ".join(point["sku"].split()) if point["sku"] else "a processor of no known name"
    return f"{machine}, {point['pipeline']}, binding {point['binding']}, steps run {pieces}"


def _measured(one: Row, every: Sequence[Row], goal: Goal) -> str:
    """What was measured of a step at the number of threads that is taken, and which thread counts there were."""
    mean, error = with_error(one[f"{goal.column}_mean"], one[f"{goal.column}_se"])
    figure = " ".join(filter(None, (mean, error, goal.unit)))
    copies = f", {one['copies']} at once" if goal.occupancy == FULL else ""
    tried = ", ".join(str(point["threads"]) for point in sorted(every, key=lambda point: point["threads"]))
    return f"{one['step']}: {figure}{copies}, {counted(one['repeats'], 'repeat')}; tried: {tried}"
