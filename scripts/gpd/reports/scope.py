"""On how many nodes and in how many sessions runs were made: what their errors say nothing of. Pure."""

from collections.abc import Iterable, Iterator, Sequence

from gpd.comparison.results import Side
from gpd.records.run import RunRecord
from gpd.tables.sessions import sessions
from gpd.text.formats import counted, listed


def _nodes(records: Iterable[RunRecord]) -> int:
    return len({host.hostname for record in records for host in record.machines}) or 1


def one_node(records: Iterable[RunRecord]) -> bool:
    """Whether no run is of a second node."""
    return _nodes(records) < 2


def scope(records: Iterable[RunRecord]) -> str:
    """Say how many nodes and sessions runs are of, and of what their errors say nothing."""
    every = list(records)
    nodes = _nodes(every)
    times = len({*sessions(every).values()})
    where = f"Runs of {counted(nodes, 'node')} in {counted(times, 'session')} (runs within an hour of each other)"
    unknown = [*(["another node of this type"] if nodes < 2 else []), *(["another day"] if times < 2 else [])]
    return f"{where}: errors are of repeats there, and say nothing of {listed(unknown)}." if unknown else f"{where}."


def scopes(sides: Sequence[Side]) -> Iterator[str]:
    """Say of how many nodes and sessions each side is, and what one node a side means."""
    measured = [side for side in sides if side.records]
    yield from (f"{side.name}: {scope(side.records)}" for side in measured)
    if len({side.study for side in measured}) > 1 and any(one_node(side.records) for side in measured):
        yield "Where a side is of one node, nodes are compared, not their types: two of one type may differ as much."
