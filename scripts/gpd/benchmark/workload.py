"""A standard workload: all that is fixed of it, by the files of its folder in resources/benchmark.

A change of anything makes another version, and figures of two versions are never compared.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from gpd.errors import GpdError
from gpd.files import read_table
from gpd.paths import ROOT
from gpd.pipelines import PIPELINES
from gpd.records.run_spec import PipelineName

FOLDER = ROOT / "resources" / "benchmark"
ACCEPTED: Final = {"quick": "quick-1", "quick-rna": "quick-rna-1", "full": "full-1"}  # by the registry
CURRENT: Final = {**ACCEPTED, "tiny": "tiny-1", "tiny-rna": "tiny-rna-1"}
FILE, CONFIG, CALLED = "workload.yaml", "config.yaml", "called.bed"
DIGESTS, SAMPLES, WORKFLOWS = "digests.tsv", "samples.tsv", "workflows.tsv"
ROLES = {"fq1": "reads/{}_R1.fastq.gz", "fq2": "reads/{}_R2.fastq.gz"}


class BenchmarkError(GpdError):
    """A workload that there is not, or that can't be run here; a line a fault."""


@dataclass(frozen=True, kw_only=True)
class WorkloadSettings:
    """workload.yaml. `study` are settings of a study; `gib` is what inputs and results of one sample take of the disk,
    `gib_shared` what all share; `takes` says how long it takes, in words; `shared` are the files that all samples
    need."""

    pipeline: PipelineName
    takes: str
    gib: float
    gib_shared: float
    shared: tuple[str, ...] = ("genome.fa", "known_sites.vcf.gz")
    reference_digest: str = ""
    tools: Mapping[str, str] = field(default_factory=dict)
    study: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StandardWorkload:
    """`name` has its version; `digests` are those of what each input file holds, uncompressed, by its path.

    `workflows` are the digests of the workflows of which its figures are comparable, each with that of the settings.
    """

    name: str
    folder: Path
    settings: WorkloadSettings
    every_sample: tuple[str, ...]
    digests: Mapping[str, str]
    workflows: frozenset[tuple[str, str]]

    @property
    def is_draft(self) -> bool:
        """Whether its inputs were never made where digests were kept: figures are of one machine, and in no ranking."""
        return not self.digests

    @property
    def least(self) -> int:
        """The fewest samples that its pipeline takes: what compares conditions takes one of each."""
        return 2 if PIPELINES[self.settings.pipeline].conditions else 1

    def samples(self, cores: int) -> tuple[str, ...]:
        """As many samples as a machine has cores, as far as there are so many."""
        return self.every_sample[: max(self.least, cores)]

    def concurrent(self, cores: int) -> tuple[int, ...]:
        """The N that are measured: as few samples as can be, a sample for two cores, and one for each."""
        most = len(self.samples(cores))
        return tuple(sorted({self.least, max(self.least, most // 2), most}))

    def study(self, cores: int, directory: str = ".", inputs: str = ".") -> dict[str, Any]:
        """The settings of the study that it is on a machine of so many cores, as throughput.yaml has them."""
        return {
            **{"name": self.name, "directory": directory},
            **{"pipelines": {self.settings.pipeline: {"directory": inputs, "config": CONFIG}}},
            **{"cores": cores, "concurrent_samples": list(self.concurrent(cores))},
            **self.settings.study,
        }

    def inputs(self, samples: tuple[str, ...]) -> list[str]:
        """The files that runs of these samples read."""
        return [*self.settings.shared, *(path.format(sample) for sample in samples for path in ROLES.values())]

    def input_digest(self, sample: str) -> str:
        """It stands for a sample's reads, however they are compressed. Raises BenchmarkError where it is missing."""
        if missing := [path for role in ROLES.values() if (path := role.format(sample)) not in self.digests]:
            raise BenchmarkError(f"{self.name}: {missing[0]}: its digest is missing in {self.folder / DIGESTS}")
        lines = [f"{role} {self.digests[path.format(sample)]}\n" for role, path in ROLES.items()]
        return hashlib.sha256("".join((f"{self.name} {sample}\n", *lines)).encode()).hexdigest()


def names() -> list[str]:
    """The versions of all workloads."""
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{FILE}"))


def read(name: str) -> StandardWorkload:
    """A workload by the name of its version. Raises BenchmarkError."""
    if name not in names():
        raise BenchmarkError(f"{name}: no such workload; there are {', '.join(names())}")
    folder = FOLDER / name
    settings = msgspec.convert(yaml.safe_load((folder / FILE).read_text(encoding="utf-8")), WorkloadSettings)
    if settings.pipeline not in PIPELINES:
        raise BenchmarkError(f"{folder / FILE}: pipeline: {settings.pipeline}: no pipeline has this name")
    return StandardWorkload(
        name=name,
        folder=folder,
        settings=settings,
        every_sample=tuple(row["name"] for row in read_table(folder / SAMPLES)),
        digests=read_digests(folder / DIGESTS),
        workflows=frozenset((row["workflow"], row["settings"]) for row in read_table(folder / WORKFLOWS)),
    )


def read_digests(table: Path) -> dict[str, str]:
    """SHA-256 of what each file holds, by its path."""
    return {row["file"]: row["sha256"] for row in read_table(table)}
