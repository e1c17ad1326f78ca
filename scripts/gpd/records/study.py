"""What a study is to measure, study.json: its settings, the samples of its pools and the cores that its cells have.

Beside it starts.jsonl has a line for each time that a cell was begun, and one for each time that it ended: a cell that
was run again after it was removed shows there.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final, Literal, TypeVar

import msgspec
from msgspec import Meta

from gpd.files import read_bytes
from gpd.records.binding import BindingName
from gpd.records.cell import CLUSTER, AtLeastOne, CacheState, Count, FileName, Mode, Name, PipelineName
from gpd.records.decoding import parse
from gpd.records.run import RecordError, Time

SCHEMA_VERSION: Final = 1
FILE, STARTS = "study.json", "starts.jsonl"
AUTO: Final = "auto"  # as many repeats as it takes
BEGAN, ENDED = "began", "ended"

Share = Annotated[float, Meta(gt=0, lt=1)]
Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Pool:
    """Where a pipeline's samples are drawn from: its configuration, and the folder that paths in it start from."""

    directory: str
    config: str


@dataclass(frozen=True)
class Sample:
    """A sample of a pool; the condition is empty where its pipeline has none."""

    name: FileName
    condition: str = ""


@dataclass(frozen=True)
class Study:
    """The settings of throughput.yaml, defaults filled in. `concurrent_samples` is empty where the knee is sought."""

    name: FileName
    directory: str
    pipelines: Mapping[PipelineName, Pool]
    concurrent_samples: tuple[AtLeastOne, ...]
    modes: tuple[Mode, ...]
    bindings: tuple[BindingName, ...]
    nodes: tuple[AtLeastOne, ...]
    repeats: AtLeastOne | Literal["auto"]
    precision: Share
    most_repeats: AtLeastOne
    warm_up: Count
    seed: int
    cache: CacheState
    cores: AtLeastOne | None
    threads: Mapping[str, AtLeastOne]
    profiles: Mapping[Mode, str]
    keep_results: bool

    @property
    def folder(self) -> Path:
        return Path(self.directory) / self.name

    @property
    def on_nodes(self) -> bool:
        """Whether Slurm places its jobs on nodes, and this machine runs none."""
        return CLUSTER in self.modes


@dataclass(frozen=True, kw_only=True)
class StudyRecord:
    """A study as it was when it was last begun; `cores` are those of one node."""

    schema: Literal[1] = SCHEMA_VERSION
    study: Study
    pools: Mapping[PipelineName, tuple[Sample, ...]]
    cores: AtLeastOne

    def to_json(self) -> str:
        return json.dumps(msgspec.to_builtins(self), indent=2) + "\n"


@dataclass(frozen=True, kw_only=True)
class Start:
    """One time that a cell was begun. `run` is the mark of that run; `ended` is None where it was broken off."""

    cell: FileName
    run: Name
    began: Time | None = None
    ended: Time | None = None


def read_study_record(folder: Path) -> StudyRecord | None:
    """Read a study's study.json; None where an earlier version left none. Raises RecordError."""
    path = folder / FILE
    return _decoded(path, read_bytes(path), StudyRecord) if path.exists() else None


def read_starts(folder: Path) -> tuple[Start, ...] | None:
    """Read how often each cell of a study was begun; None where an earlier version left no starts.jsonl.

    Raises RecordError.
    """
    path = folder / STARTS
    if not path.exists():
        return None
    found: dict[tuple[str, str], Start] = {}
    for number, line in enumerate(read_bytes(path).splitlines(), 1):
        told = _decoded(f"{path} line {number}", line, Start)
        known = found.get((told.cell, told.run), told)
        found[told.cell, told.run] = replace(known, began=known.began or told.began, ended=known.ended or told.ended)
    return tuple(found.values())


def _decoded(place: object, text: bytes, kind: type[Kind]) -> Kind:
    try:
        return msgspec.convert(parse(text.decode()), kind)
    except ValueError as error:  # of msgspec, too
        raise RecordError(f"{place}: not a record of a study: {' '.join(str(error).split())}") from error
