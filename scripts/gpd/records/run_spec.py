"""A run of a study: one configuration of its plan, run once. As spec.json, and within run.json."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from gpd.records.binding import BindingName

SCHEMA_VERSION: Final = 1
SHARED: Final = "shared"
INDEPENDENT: Final = "independent"
STREAM: Final = "stream"

# names stand in tables, on pages and on terminals: none has control characters; those of files lead nowhere else
Name = Annotated[str, Meta(min_length=1, pattern=r"^[^\x00-\x1f\x7f-\x9f]*\Z")]
FileName = Annotated[str, Meta(pattern=r"^(?!\.{1,2}\Z)[^/\x00-\x1f\x7f-\x9f]{1,255}\Z")]
Count = Annotated[int, Meta(ge=0, le=10**15)]
AtLeastOne = Annotated[int, Meta(ge=1, le=10**15)]
OwnPipeline = Literal["germline", "tuxedo"]
PipelineName = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]{0,62}\Z")]  # ours, or of a workflow that is not
Mode = Literal["shared", "independent", "stream"]
MODES: Final[dict[str, str]] = {
    SHARED: "shared workflow",
    INDEPENDENT: "independent instances",
    STREAM: "stream",
}
ALONE: Final = "alone"  # of a step: nothing else runs on the node
FULL: Final = "full"  # as many copies of it as the node holds
WHOLE: Final = "none"  # of a step's `scatter`: it is not scattered
Occupancy = Literal["alone", "full"]
OCCUPANCIES: Final[tuple[Occupancy, ...]] = (ALONE, FULL)
CacheState = Literal["as_is", "warm", "cold"]  # of reads and reference in the page cache, before the run


@dataclass(frozen=True)
class CurveKey:
    """What is the same along a curve: N is all that differs between its runs."""

    pipeline: PipelineName
    mode: Mode
    binding: BindingName


@dataclass(frozen=True, kw_only=True)
class StepCopies:
    """One step of a pipeline, run alone: its rules, with so many threads, `copies` of it side by side.

    Each copy is a run of its own of the run's samples, and makes `targets`.
    """

    name: Name
    threads: AtLeastOne
    occupancy: Occupancy
    scatter: Name = WHOLE
    copies: Annotated[int, Meta(ge=1, le=10**6)]
    rules: tuple[Name, ...]
    targets: tuple[Name, ...]

    @property
    def setting(self) -> tuple[str, int, str, str]:
        """What is the same over repeats and bindings."""
        return self.name, self.threads, self.occupancy, self.scatter

    @property
    def folders(self) -> list[str]:
        """Where its copies run, within the run's folder."""
        return [f"copies/{number}" for number in range(1, self.copies + 1)]


Seconds = Annotated[float, Meta(gt=0, le=1e8)]


@dataclass(frozen=True, kw_only=True)
class StreamSpec:
    """A stream of samples: what ends in `window_s`, after `warm_up_s`, is measured."""

    warm_up_s: Seconds
    window_s: Seconds

    @property
    def end_s(self) -> float:
        """When its window ends, since the run's start."""
        return self.warm_up_s + self.window_s


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """One configuration of the plan, run once: what it runs, on what. `repeat` counts from 1, and is 0 for a warm-up.

    A run that runs a sample `alone`, to see whether it fails for its data, is no configuration of the plan; its repeat
    is 0. One of a `seeking` run tells only which N to measure, and is in no figure; its repeat is 0, too. With `step`
    it runs that step alone. With `stream` it keeps `n` of its samples in flight, each as often as it is drawn.
    `fraction` of each sample's reads is read; each genome of the pool serves `samples_per_genome`, as copies of its
    files. Raises ValueError where it contradicts itself.
    """

    schema: Literal[1] = SCHEMA_VERSION
    study: FileName
    name: FileName
    pipeline: PipelineName
    n: AtLeastOne
    mode: Mode
    binding: BindingName
    repeat: Count
    warm_up: bool
    samples: tuple[FileName, ...]
    fraction: Annotated[float, Meta(gt=0, le=1)] = 1.0
    samples_per_genome: AtLeastOne = 1
    seed: int | None = None
    cache: CacheState
    cores: AtLeastOne
    threads: Mapping[str, AtLeastOne] = field(default_factory=dict)
    profile: str
    config: str | None = None
    directory: str | None = None
    alone: bool = False
    seeking: bool = False
    step: StepCopies | None = None
    stream: StreamSpec | None = None

    def __post_init__(self) -> None:
        if (self.stream is None) != (self.mode != STREAM):
            raise ValueError(f"mode {self.mode}: a stream, and nothing else, has a window")
        if self.stream and not self.samples:
            raise ValueError("a stream of no samples")
        if self.n != len(set(self.samples)) and self.stream is None:
            raise ValueError(f"n is {self.n}, but it names {len(set(self.samples))} samples")

    @property
    def counts(self) -> bool:
        """Whether it is in statistics: no warm-up, none that sought N or ran a sample alone only to see whether it
        fails, no stream, which has a table of its own."""
        return not (self.warm_up or self.alone or self.seeking or self.stream)

    @property
    def curve_key(self) -> CurveKey:
        return CurveKey(self.pipeline, self.mode, self.binding)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"samples": list(self.samples)}
