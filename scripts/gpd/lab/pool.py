"""The samples that a study draws from: a pipeline's configuration and tables, read, and laid out for a run of some."""

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from gpd.execution import configuration, workflow
from gpd.execution.configuration import ConfigurationError, Row
from gpd.files import write_text
from gpd.lab import digests
from gpd.lab.study_runs import StudyError
from gpd.paths import ROOT
from gpd.pipelines import PIPELINES
from gpd.records.run import JobNames
from gpd.records.study import CONFIG, Pool, Sample

SCHEMAS = ROOT / "workflow" / "schemas"
REFERENCE = Path("results", "reference")
NAMES = ("sample_name", "unit_name")
READS = ("fq1", "fq2", "bam")
PATH_TYPES = ("path", "optional_path")
WHICH_SAMPLES = ("samples", "units", "leave_out", "failed_samples")  # keys of a configuration


@dataclass(frozen=True)
class Source:
    """A pool as read: the pipeline's configuration with absolute paths, and the rows of its two tables.

    `copies` are the numbers of samples that are copies of others, from 2.
    """

    config: Mapping[str, Any]
    samples: tuple[Row, ...]
    units: tuple[Row, ...]
    copies: Mapping[str, int] = field(default_factory=dict)

    @property
    def ours(self) -> bool:
        """Whether the workflow is this project's."""
        return True

    @property
    def snakefile(self) -> Path:
        return workflow.SNAKEFILE

    @property
    def python(self) -> str:
        """The Python whose Snakemake runs it."""
        return sys.executable

    @property
    def targets(self) -> tuple[str, ...]:
        """What a run makes."""
        return ("results",)

    @property
    def options(self) -> tuple[str, ...]:
        """Options of Snakemake that every run has."""
        return ()

    @property
    def job_names(self) -> JobNames | None:
        """How its jobs are read, where that is not known beforehand."""
        return None

    @property
    def members(self) -> list[Sample]:
        return [Sample(row["sample_name"], row.get("condition", "")) for row in self.samples]

    def units_of(self, sample: str) -> list[dict[str, Path]]:
        """The files of each of a sample's units by their role (fq1, fq2, bam), in the order of the table."""
        rows = (row for row in self.units if row["sample_name"] == sample)
        return [{role: Path(row[role]) for role in READS if row.get(role)} for row in rows]

    def sheets_say(self, sample: str) -> Iterator[str]:
        """What the tables say of a sample beside names and files, a line a value: sex, library, platform."""
        rows = [row for row in (*self.samples, *self.units) if row["sample_name"] == sample]
        if sample in self.copies:  # else two samples would pass for one, whose results name another sample each
            yield f"copy {self.copies[sample]}"
        for number, row in enumerate(rows):
            values = {key: value for key, value in row.items() if value and key not in (*NAMES, *READS)}
            if "platform" in values:  # in which case does not matter
                values["platform"] = values["platform"].upper()
            yield from (f"{number} {key} {value}" for key, value in sorted(values.items()))

    def input_digest(self, sample: str) -> str:
        """It stands for what runs read of a sample. Raises OSError."""
        return digests.input_digest(self.units_of(sample), self.sheets_say(sample))

    def reads(self, sample: str) -> list[Path]:
        """All read files of a sample."""
        return [path for unit in self.units_of(sample) for path in unit.values()]

    def renamed(self, sample: str, name: str) -> "Source":
        """A sample alone, under another name."""
        samples, units = (
            tuple({**row, "sample_name": name} for row in rows if row["sample_name"] == sample)
            for rows in (self.samples, self.units)
        )
        return Source(self.config, samples, units)

    @property
    def needs_conditions(self) -> bool:
        """Whether every run has to have samples of two conditions."""
        return PIPELINES[self.config["pipeline"]].conditions and self.config.get("stop_after") != "quantify"

    def rules_of(self, pipeline: str) -> frozenset[str]:
        """The rules that the workflow has for a pipeline."""
        return workflow.rules(pipeline)

    def shared_files(self, prepared: Path) -> list[Path]:
        """What all samples read, of what was `prepared`."""
        return [path for path in sorted((prepared / REFERENCE).rglob("*")) if path.is_file()]

    def profile(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """A run's profile."""
        return dict(given)

    def lay_out(self, samples: Collection[str], folder: Path, **settings: Any) -> None:
        """Write configuration and tables for a run of some samples in `folder`; `settings` replace the pool's."""
        target = folder / "config"
        target.mkdir(parents=True, exist_ok=True)
        # its samples are those that are not left out
        tables = {"samples": "config/samples.tsv", "units": "config/units.tsv", "leave_out": []}
        config = {**self.config, **tables, **settings}
        write_text(target / "config.yaml", yaml.safe_dump(config, sort_keys=False))
        for name, rows in (("samples", self.samples), ("units", self.units)):
            drawn = [row for row in rows if row["sample_name"] in samples]
            lines = [list(drawn[0]), *(row.values() for row in drawn)]
            write_text(target / f"{name}.tsv", "".join("\t".join(line) + "\n" for line in lines))


def read_pool(pipeline: str, pool: Pool) -> Source:
    """Read a pool's configuration and tables; paths in them become absolute, what they leave out has its default.

    What is wrong with the files that they name, the workflow says when it starts. Raises StudyError.
    """
    try:
        return read_source(Path(pool.directory), Path(pool.config or CONFIG), pipeline)
    except (StudyError, OSError) as error:
        raise StudyError("\n".join(f"pipelines.{pipeline}: {line}" for line in str(error).splitlines())) from error


def read_source(directory: Path, config: Path, pipeline: str | None = None) -> Source:
    """The same of a configuration, as seen from `directory`; its pipeline is its own unless one is named.

    Raises StudyError, OSError.
    """
    folder, schema = directory.absolute(), _schema()
    try:
        found = configuration.read([folder / config], folder, pipeline)
    except ConfigurationError as error:
        raise StudyError(str(error)) from error
    units = [
        {column: _absolute(value, folder) if column in READS else value for column, value in row.items()}
        for row in found.units
    ]
    resolved = _map_paths(found.config, schema, schema, lambda value: _absolute(value, folder))
    return Source(resolved, found.samples, tuple(units))


def settings_without_paths(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what makes results what they are, of a complete configuration: files by name, neither CPUs nor samples.

    Whether samples are judged before what takes all of them is a job more of each, and stays.
    """
    schema = _schema()
    judged = {"by_quality": True} if str(config.get("failed_samples")).endswith("_on_quality") else {}
    return judged | {
        key: value
        for key, value in _map_paths(config, schema, schema, lambda path: Path(path).name).items()
        if key not in WHICH_SAMPLES
    }


def longest_name() -> int:
    """How many characters the workflow lets a sample's name have."""
    schema = yaml.safe_load((SCHEMAS / "samples.schema.yaml").read_text(encoding="utf-8"))
    return schema["$defs"]["name"]["maxLength"]


@cache
def _schema() -> dict[str, Any]:
    """The workflow's schema of its configuration, which says which keys are paths."""
    return yaml.safe_load((SCHEMAS / "config.schema.yaml").read_text(encoding="utf-8"))


def _map_paths(value: Any, schema: Mapping, root: Mapping, change: Callable[[str], Any]) -> Any:
    """Return a configuration with a change made to each path."""
    reference = schema.get("$ref", "").rpartition("/")[2]
    if reference in PATH_TYPES:
        return change(value) if value and isinstance(value, str) else value
    schema = root["$defs"][reference] | schema if reference else schema
    if isinstance(value, list) and "items" in schema:
        return [_map_paths(item, schema["items"], root, change) for item in value]
    if not isinstance(value, dict):
        return value
    known, others = schema.get("properties", {}), schema.get("additionalProperties")
    return {
        key: _map_paths(entry, part, root, change) if isinstance(part := known.get(key, others), dict) else entry
        for key, entry in value.items()
    }


def _absolute(path: str, folder: Path) -> str:
    return str(folder / path) if path else path
