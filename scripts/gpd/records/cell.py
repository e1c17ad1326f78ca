"""A cell of a study: one point of its grid, run once. As cell.json, and within run.json."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

SCHEMA_VERSION = 1
SCHEDULED, INDEPENDENT = "scheduled", "independent"
UNBOUND = "none"  # the binding of jobs that lease no CPUs


@dataclass(frozen=True)
class Series:
    """What is the same along a curve: N is all that differs between its cells."""

    pipeline: str
    mode: str
    binding: str


@dataclass(frozen=True)
class Cell:
    """One point of the grid, run once: what it runs, on what. `repeat` counts from 1, and is 0 for a warm-up.

    `left_out` are samples that would have been drawn, but have bad data. A cell that runs a sample `alone`, to see
    whether it fails for its data, is no point of the grid; its repeat is 0.
    """

    study: str
    cell: str
    pipeline: str
    n: int
    mode: str
    binding: str
    repeat: int
    warm_up: bool
    samples: tuple[str, ...]
    seed: int
    cache: str
    cores: int
    threads: Mapping[str, int]
    profile: str
    config: str
    directory: str
    left_out: tuple[str, ...] = field(default=(), kw_only=True)
    alone: bool = field(default=False, kw_only=True)
    schema: int = field(default=SCHEMA_VERSION, kw_only=True)

    @property
    def series(self) -> Series:
        return Series(self.pipeline, self.mode, self.binding)

    def to_dict(self) -> dict[str, Any]:
        described = asdict(self)
        lists = {"samples": list(self.samples), "left_out": list(self.left_out)}
        return {"schema": described.pop("schema"), **described, **lists}


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
