"""The record of a run, that is of a run that ended: run.json, written once and read by everyone.

Keys that this version does not know are passed over, and those that an earlier one did not write have their defaults:
here, and nowhere else.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from gpd.records.decoding import RecordError, read_record
from gpd.records.host import Host
from gpd.records.machine_use import Amount, MachineUse
from gpd.records.run_spec import SCHEMA_VERSION, Count, FileName, Name, RunSpec
from gpd.text.cpu_lists import check_cpus

Share = Annotated[float, Meta(ge=0, le=1)]
Time = Annotated[datetime, Meta(tz=True)]
CpuList = Annotated[str, Meta(max_length=100_000)]
YEARS = range(1971, 9000)  # of a run
# of a process in its run's folder
PLACE = re.compile(r"\.|samples/[A-Za-z0-9][A-Za-z0-9._-]{0,254}|copies/[1-9][0-9]{0,6}")
SPEC: Final = "spec.json"  # what a run is to be
REMEDY = "remove the run's folder, and it is run again"


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A sample's way through a stream: which of the run's it is a copy of, when it started and ended.

    By a clock that is never set, since the run's start.
    """

    copy_of: FileName
    started_s: Amount
    ended_s: Amount


@dataclass(frozen=True, kw_only=True)
class ProcessRecord:
    """A Snakemake process: its folder within the run's, its samples, its exit code (negative for a signal).

    Of a stream it has one sample, and its `passage`.
    """

    directory: Name
    samples: tuple[FileName, ...]
    exit_code: int | None = None
    passage: Passage | None = None


@dataclass(frozen=True, kw_only=True)
class InputRecord:
    """What was read of a sample: a digest, the size of its files, its reads (both mates) and bases.

    `digest`: of its files, and of what the sheets say of it.
    `mapped`: the share of the reads that mapped; `mismatches`: the share of their aligned bases that differed.
    """

    digest: str | None = None
    mib: Amount | None = None
    reads: Count | None = None
    bases: Count | None = None
    mapped: Share | None = None
    mismatches: Share | None = None


@dataclass(frozen=True, kw_only=True)
class OutputRecord:
    """What a run made of these samples together; the same kind of the same samples is to have the same digest."""

    kind: Name
    samples: tuple[FileName, ...]
    digest: str | None = None


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings that must be the same for two runs to be compared; None: not known.

    Digests: of the workflow's own files, of the tools' environments (envs/), of the configuration, of the reference.
    `preset` is the germline pipeline's, None: of another pipeline, or of a time when there was one.
    `tools`: the version of each, of Java its vendor, too. `environment`: variables by which tools change what they do.
    """

    workflow_commit: str | None = None
    workflow_digest: str | None = None
    environments_digest: str | None = None
    config_digest: str | None = None
    reference_digest: str | None = None
    preset: Name | None = None
    gpd_version: str | None = None
    tools: Mapping[str, str | None] | None = None
    environment: Mapping[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class JobNames:
    """How the jobs of a workflow that is not ours are read. `steps`: the rules of each step, in order; none: each rule
    is a step, and a rule of no step is outside of every timing. `wildcard`: what names a job's sample.
    """

    steps: Mapping[Name, tuple[Name, ...]] = field(default_factory=dict)
    wildcard: Name = "sample"


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """A run that ended. Raises ValueError where it contradicts itself.

    `run` is the mark of its ledgers' records. `wall_s` is by a clock that is never set; `cpu_s` is what the operating
    system counted for its processes and their children, `snakemake_cpu_s` that part of Snakemake's own. `peak_disk_mib`
    is the largest size of its folders that was seen, `kept_disk_mib` that of its results once all had ended. `cached`:
    the share of reads and reference that was in the page cache at the start. `cpus`: those that its jobs might use, as
    a kernel list. `genome_mb` is the length of the reference, in million bases. `energy_j` is what the machine's own
    counters of processors and memory counted, None: none could be read. `binding`: how jobs were to be bound beside the
    policy, None: no CPUs were allocated; `memory_applied`: the memory policies that they really had. `pair_hmm`: which
    one GATK chose.
    `job_names` is there where the workflow is not ours.
    `host` is the machine that all of it ran on, and `machine_use` what that did meanwhile.
    """

    schema: Literal[1] = SCHEMA_VERSION
    run: str | None = None
    spec: RunSpec
    start: Time
    end: Time
    wall_s: Amount
    cpu_s: Amount | None = None
    snakemake_cpu_s: Amount | None = None
    peak_disk_mib: Amount | None = None
    kept_disk_mib: Amount | None = None
    genome_mb: Amount | None = None
    energy_j: Mapping[Name, Amount] | None = None
    cached: Share | None = None
    cpus: CpuList | None = None
    processes: Annotated[tuple[ProcessRecord, ...], Meta(min_length=1)]
    inputs: Mapping[str, InputRecord] = field(default_factory=dict)
    outputs: tuple[OutputRecord, ...] = ()
    settings: Settings = field(default_factory=Settings)
    profile_digest: str | None = None
    binding: Mapping[str, Any] | None = None
    memory_applied: str | None = None
    pair_hmm: str | None = None
    job_names: JobNames | None = None
    host: Host | None = None
    machine_use: MachineUse | None = None

    def __post_init__(self) -> None:
        if beyond := [time for time in (self.start, self.end) if time.year not in YEARS]:
            raise ValueError(f"{beyond[0].isoformat()}: no time of this age")
        if elsewhere := [one.directory for one in self.processes if not PLACE.fullmatch(one.directory)]:
            raise ValueError(f"processes: {elsewhere[0]!r}: no folder of a sample or of a copy")
        check_cpus(self.cpus or "")
        if any((process.passage is None) == (self.spec.stream is not None) for process in self.processes):
            raise ValueError("processes: each of a stream, and of no other run, has a passage")
        drawn = [(one.passage.copy_of,) if one.passage else one.samples for one in self.processes]
        strangers = {name for names in drawn for name in names} - set(self.spec.samples)
        if strangers:
            raise ValueError(f"processes: {', '.join(sorted(strangers))}: no sample of this run")

    @property
    def machines(self) -> tuple[Host, ...]:
        """All that it ran on, as far as that is known."""
        return () if self.host is None else (self.host,)

    def input(self, sample: str) -> InputRecord:
        """What was read of a sample."""
        return self.inputs.get(sample, InputRecord())

    def to_json(self) -> str:
        return json.dumps(msgspec.to_builtins(self), indent=2) + "\n"


def read_run(path: Path) -> RunRecord:
    """Read a run.json. Raises RecordError, also where it lies in the folder of another run."""
    record = read_record(path, RunRecord, REMEDY)
    _check_place(path, record.spec.name)
    return record


def read_spec(path: Path) -> RunSpec:
    """Read a spec.json. Raises RecordError as read_run() does."""
    spec = read_record(path, RunSpec, REMEDY)
    _check_place(path, spec.name)
    return spec


def _check_place(path: Path, name: str) -> None:
    if name != path.parent.name:
        raise RecordError(f"{path}: it is of the run {name}; a run's folder keeps its name")
