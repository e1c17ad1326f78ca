"""Which cells of a study are in its statistics. Pure: it looks at their plans."""

from collections.abc import Iterable, Mapping
from typing import Any


def counted_cells(cells: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Return the names of the cells that count: no warm-ups, no sample that ran alone only to see whether it fails.

    Of a repeat that was drawn anew, because a sample of it has bad data, the last draw counts: the one that leaves most
    samples out.
    """
    latest: dict[tuple, tuple[int, str]] = {}
    for cell in cells:
        if not cell["warm_up"] and not cell.get("alone"):
            repeat = tuple(cell[key] for key in ("pipeline", "mode", "binding", "n", "repeat"))
            latest[repeat] = max(latest.get(repeat, (-1, "")), (len(cell.get("left_out") or ()), cell["cell"]))
    return frozenset(name for _, name in latest.values())
