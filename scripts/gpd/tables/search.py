"""What the runs of a search came to: one an N, which tell what to try next and are in no mean of a curve. Pure."""

from collections.abc import Sequence

from gpd.records.run_spec import CurveKey
from gpd.statistics.saturation import Observation
from gpd.tables.collect import Tables
from gpd.tables.columns import RunRow
from gpd.tables.rows import configuration


def rows(tables: Tables) -> Sequence[RunRow]:
    """The runs that sought, by curve and N."""
    return [run for run in tables.runs if run.seeking]


def observations(tables: Tables) -> dict[CurveKey, dict[int, Observation]]:
    """What each curve gave, by N."""
    found: dict[CurveKey, dict[int, Observation]] = {}
    for run in rows(tables):
        found.setdefault(run.curve_key, {})[run.n] = configuration([run]).observation
    return found
