"""What a study is to measure, study.json: its settings, the samples of its pools and the cores that its runs have.

Beside it starts.jsonl has a line for each time that a run was begun, and one for each time that it ended: a run that
was run again after it was removed shows there.
"""

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from gpd.files import read_bytes
from gpd.records.binding import BindingName
from gpd.records.decoding import no_record, parse, read_record
from gpd.records.run import Time
from gpd.records.run_spec import STREAM, AtLeastOne, CacheState, FileName, Mode, Name, PipelineName
from gpd.text.formats import SECONDS_PER_DAY

SCHEMA_VERSION: Final = 1
FILE, STARTS = "study.json", "starts.jsonl"
AUTO: Final = "auto"  # as many repeats as it takes
BEGAN, ENDED = "began", "ended"

PathName = Annotated[str, Meta(pattern=r"^[^\x00-\x1f\x7f-\x9f{}]+\Z")]
RuleName = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]*\Z")]
Duration = Annotated[str, Meta(pattern=r"^(?=.*[1-9])[0-9]{1,5}(\.[0-9]{1,3})?[mhd]\Z")]
SECONDS: Final = {"m": 60, "h": 3600, "d": SECONDS_PER_DAY}
Often = Annotated[int, Meta(ge=1, le=1000)]
PROFILES: Final[dict[str, str]] = {
    "shared": "profiles/throughput",
    "independent": "profiles/published",
    "stream": "profiles/throughput",
}


CONFIG: Final = "config/config.yaml"


@dataclass(frozen=True)
class Pool:
    """Where a pipeline's samples are drawn from: its configuration, and the folder that paths in it start from.

    With `workflow`, its Snakefile, the pipeline is not ours. Its samples are the values of `column` in the sheet
    `samples`; `sheets` are others with that column. A run's folder has these with the rows of its samples, and links to
    `inputs`. It makes `target`. `wildcard` names the sample of a job; `condition` is a column, samples are drawn evenly
    from its values; `steps` are rules by step, none: each rule is one. `python` has its Snakemake, None: ours.
    """

    directory: PathName = "."
    config: PathName | None = None
    workflow: PathName | None = None
    python: PathName | None = None
    samples: PathName = "config/samples.tsv"
    column: Name = "sample"
    condition: Name | None = None
    sheets: tuple[PathName, ...] = ()
    inputs: tuple[PathName, ...] = ("config",)
    target: tuple[PathName, ...] = ()
    wildcard: Name = "sample"
    steps: Mapping[Name, tuple[Name, ...]] = field(default_factory=dict)
    profile: PathName = "profiles/any"

    def __post_init__(self) -> None:
        if self.workflow is None and self.config is None:
            object.__setattr__(self, "config", CONFIG)


OF_OURS: Final = ("directory", "config")  # the keys of a pool of a pipeline of ours


@dataclass(frozen=True)
class Sample:
    """A sample of a pool; the condition is empty where its pipeline has none."""

    name: FileName
    condition: str = ""


@dataclass(frozen=True)
class Subsample:
    """What part of each sample's reads is measured."""

    fraction: Annotated[float, Meta(gt=0, lt=1)]


def _must_be(of: str) -> Meta:
    """What a setting must be, as the line about a fault says it."""
    return Meta(description=of)


_A_PATH = "without braces or control characters"


@dataclass(frozen=True, kw_only=True)
class Study:
    """The settings of throughput.yaml: every key, its type and its default; config/README.md explains them.

    `concurrent_samples` is empty where the saturation point is sought.
    """

    name: Annotated[
        str,
        Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*\Z"),
        _must_be("a name of letters, digits, '.', '_' and '-' that starts with a letter or digit"),
    ] = "study"
    directory: Annotated[PathName, _must_be(f"a path {_A_PATH}")] = "runs"
    pipelines: Annotated[
        Mapping[PipelineName, Pool],
        Meta(min_length=1),
        _must_be(
            f"germline, tuxedo or both, each {{}} or with the paths directory and config, {_A_PATH}; a workflow of "
            "yours by a name of small letters, digits and '_', with `workflow: PATH/TO/Snakefile`"
        ),
    ]
    subsample: Annotated[
        Subsample | None, _must_be("{fraction: 0.05}, a number between 0 and 1, or empty for all reads")
    ] = None
    copies: Annotated[int, Meta(ge=1, le=1000), _must_be("a whole number from 1 to 1000")] = 1
    concurrent_samples: Annotated[tuple[AtLeastOne, ...], _must_be("saturation or a list of whole numbers from 1")] = ()
    modes: Annotated[tuple[Mode, ...], Meta(min_length=1), _must_be("a list of shared, independent and stream")] = (
        "shared",
    )
    bindings: Annotated[
        tuple[BindingName, ...],
        Meta(min_length=1),
        _must_be(
            "a list, each compact, scatter or none, or a policy (compact, scatter) with boundary (l3, numa, socket), "
            "memory (default, local, interleave) or both"
        ),
    ] = ("compact",)
    smt: Annotated[tuple[bool, ...], _must_be("a list of off and on, or empty for what the configuration has")] = ()
    repeats: Annotated[Often | Literal["auto"], _must_be("auto or a whole number from 1 to 1000")] = 5
    precision: Annotated[float, Meta(gt=0, lt=1), _must_be("a number between 0 and 1")] = 0.025
    most_repeats: Annotated[int, Meta(ge=2, le=1000), _must_be("a whole number from 2 to 1000")] = 10
    budget: Annotated[Duration | None, _must_be("a time such as 90m, 48h or 2d, or empty for no limit")] = None
    warm_up: Annotated[int, Meta(ge=0, le=1000), _must_be("a whole number from 0 to 1000")] = 1
    window: Annotated[Duration | None, _must_be("a time such as 30m, 2h or 1d, or empty without mode stream")] = None
    window_warm_up: Annotated[
        Duration | None, _must_be("a time such as 10m, 2h or 1d, or empty for half of the window")
    ] = None
    seed: Annotated[int, _must_be("a whole number")] = 1
    cache: Annotated[CacheState, _must_be("as_is, warm or cold")] = "as_is"
    cores: Annotated[AtLeastOne | None, _must_be("a whole number from 1, or empty for all that there are")] = None
    threads_per_core: Annotated[
        Annotated[float, Meta(ge=1, le=16)] | None, _must_be("a number from 1 to 16, or empty for what there is")
    ] = None
    threads: Annotated[
        Mapping[RuleName, AtLeastOne], _must_be("rules with a whole number from 1 each, such as {map_and_sort: 8}")
    ] = field(default_factory=dict)
    profiles: Annotated[
        Mapping[str, PathName],
        _must_be(f"shared, independent or stream, each with a folder, {_A_PATH}"),
    ] = field(default_factory=PROFILES.copy)
    keep_results: Annotated[bool, _must_be("true or false")] = False

    def profile_of(self, pipeline: PipelineName, mode: Mode) -> PathName:
        """The profile of a pipeline's runs in a mode."""
        pool = self.pipelines[pipeline]
        return pool.profile if pool.workflow else self.profiles[mode]

    @property
    def folder(self) -> Path:
        return Path(self.directory) / self.name

    @property
    def fraction(self) -> float:
        """The share of each sample's reads that is measured."""
        return self.subsample.fraction if self.subsample else 1.0

    @property
    def budget_s(self) -> float | None:
        """How long its runs may take together."""
        return seconds(self.budget)

    @property
    def window_s(self) -> float | None:
        """How long a stream is measured."""
        return seconds(self.window)

    @property
    def window_warm_up_s(self) -> float | None:
        """How long it runs before."""
        return seconds(self.window_warm_up) or (self.window_s and self.window_s / 2)

    @property
    def streams(self) -> bool:
        return STREAM in self.modes


def seconds(duration: str | None) -> float | None:
    """A duration such as 30m."""
    return None if duration is None else float(duration[:-1]) * SECONDS[duration[-1]]


@dataclass(frozen=True, kw_only=True)
class StudyRecord:
    """A study as it was when it was last begun; `cores` are the machine's."""

    schema: Literal[1] = SCHEMA_VERSION
    study: Study
    pools: Mapping[PipelineName, tuple[Sample, ...]]
    cores: AtLeastOne

    def to_json(self) -> str:
        return json.dumps(msgspec.to_builtins(self), indent=2) + "\n"


@dataclass(frozen=True, kw_only=True)
class Start:
    """One time that a run was begun. `run` is the mark of that run; `ended` is None where it was broken off."""

    name: FileName
    run: Name
    began: Time | None = None
    ended: Time | None = None


def read_study_record(folder: Path) -> StudyRecord | None:
    """Read a study's study.json; None where there is none. Raises RecordError."""
    path = folder / FILE
    return read_record(path, StudyRecord) if path.exists() else None


class StartsWarning(UserWarning):
    """A line of starts.jsonl that is no JSON."""


def read_starts(folder: Path) -> tuple[Start, ...] | None:
    """Read how often each run of a study was begun; None where there is no starts.jsonl.

    Lines that a power cut left are passed over, with a warning. Raises RecordError.
    """
    path = folder / STARTS
    if not path.exists():
        return None
    found: dict[tuple[str, str], Start] = {}
    for number, line in enumerate(read_bytes(path).splitlines(), 1):
        place = f"{path} line {number}"
        try:
            document = parse(line.decode())
        except ValueError:
            warnings.warn(f"{place}: left out: it was cut off as it was written", StartsWarning, stacklevel=2)
            continue
        try:
            start = msgspec.convert(document, Start)
        except ValueError as error:  # msgspec's own
            raise no_record(place, error, STARTS) from error
        known = found.get((start.name, start.run), start)
        found[start.name, start.run] = replace(
            known, began=known.began or start.began, ended=known.ended or start.ended
        )
    return tuple(found.values())
