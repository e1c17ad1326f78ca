"""The record of a scaling cell: one step at one width, run once, alone on the node or with the node full of its like.

As cell.json before it runs, and within scaling.json when all of its copies have ended well.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from gpd.records.binding import BindingName
from gpd.records.cell import AtLeastOne, Count, FileName, Name, PipelineName
from gpd.records.decoding import decode
from gpd.records.host import Host
from gpd.records.run import Amount, RunRecord, Settings, Time, check_place, check_years, read_json

SCHEMA_VERSION: Final = 1
RECORD: Final = "scaling.json"
PLAN: Final = "cell.json"
ALONE: Final = "alone"
FULL: Final = "full"
WHOLE: Final = "none"  # of `scatter`: the step is not cut in pieces
Occupancy = Literal["alone", "full"]
OCCUPANCIES: Final[tuple[Occupancy, ...]] = (ALONE, FULL)


@dataclass(frozen=True, kw_only=True)
class Point:
    """What the repeats of a cell share."""

    pipeline: PipelineName
    step: Name
    scatter: Name = WHOLE
    binding: BindingName
    occupancy: Occupancy
    threads: AtLeastOne


@dataclass(frozen=True, kw_only=True)
class ScalingCell(Point):
    """A step to be run once: its rules, its width, `copies` of it side by side; a warm-up's repeat is 0.

    Each copy is a run of its own of the same `samples`, whose `targets` the step makes. `cores` are the node's.
    """

    schema: Literal[1] = SCHEMA_VERSION
    cell: FileName
    rules: tuple[Name, ...]
    targets: tuple[Name, ...]
    samples: tuple[FileName, ...]
    copies: Annotated[int, Meta(ge=1, le=10**6)]
    repeat: Count
    warm_up: bool
    cores: AtLeastOne
    mem_mb: AtLeastOne
    seed: int

    @property
    def point(self) -> Point:
        return Point(**{name: getattr(self, name) for name in Point.__dataclass_fields__})

    @property
    def folders(self) -> list[str]:
        """Where its copies run, within its folder."""
        return [f"copies/{number}" for number in range(1, self.copies + 1)]

    @classmethod
    def from_json(cls, text: str) -> "ScalingCell":
        """As decode()."""
        return decode(text, cls)

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2) + "\n"


@dataclass(frozen=True, kw_only=True)
class ScalingRecord:
    """A scaling cell that ended well. `run` is the mark of its ledgers' records.

    `wall_s` is by a clock that is never set, Snakemake's start and end included; `cpu_s` is what the operating system
    counted for everything, `snakemake_cpu_s` that part of Snakemake's own. `binding`: how jobs were to be bound beside
    the policy, None: they leased no CPUs; `memory_applied`: the memory policies that they really had; `pair_hmm`: which
    one GATK chose.
    `bandwidth_missing`: why it is not known how much of the memory's bandwidth the step drew.
    """

    schema: Literal[1] = SCHEMA_VERSION
    run: Name
    cell: ScalingCell
    start: Time
    end: Time
    wall_s: Amount
    cpu_s: Amount
    snakemake_cpu_s: Amount
    settings: Settings = field(default_factory=Settings)
    binding: Mapping[str, Any] | None = None
    memory_applied: str | None = None
    pair_hmm: str | None = None
    bandwidth_missing: str | None = None
    host: Host | None = None

    def __post_init__(self) -> None:
        check_years(self.start, self.end)

    @property
    def machines(self) -> tuple[Host, ...]:
        """The machine that it ran on, as far as that is known."""
        return () if self.host is None else (self.host,)

    @classmethod
    def from_json(cls, text: str) -> "ScalingRecord":
        """As decode()."""
        return decode(text, cls)

    def to_json(self) -> str:
        return json.dumps(msgspec.to_builtins(self), indent=2) + "\n"


AnyRecord = RunRecord | ScalingRecord


def read_scaling(path: Path) -> ScalingRecord:
    """Read a scaling.json. Raises RecordError."""
    record = read_json(path, ScalingRecord.from_json)
    check_place(path, record.cell.cell)
    return record
