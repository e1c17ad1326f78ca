"""The configuration and the two sheets of a cohort, as text, and as files where there are none."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from gpd.cohort.read_lanes import Lane
from gpd.cohort.read_search import as_written
from gpd.errors import GpdError
from gpd.execution import configuration
from gpd.execution.configuration import ConfigurationError

FOLDER = "config"
SAMPLES, UNITS, CONFIG = "samples.tsv", "units.tsv", "config.yaml"
OPTIONAL = ("fq2", "bam", "platform", "library")  # columns of the unit sheet that are left out where none has them
HEAD = """\
# Written by gpd init. docs/reference/configuration.md describes every key; paths are relative to the folder of the run.
"""


@dataclass(frozen=True)
class Choice:
    """A key of the configuration with its value; `is_open`: as a comment, to be filled in. `why` goes before it."""

    key: str
    value: Any
    why: str = ""
    is_open: bool = False

    def text(self) -> str:
        body = yaml.safe_dump({self.key: self.value}, sort_keys=False, allow_unicode=True)
        lines = [f"# {self.why}"] * bool(self.why)
        lines += [f"# {line}" if self.is_open else line for line in body.splitlines()]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class NewCohort:
    """All that is written of a cohort."""

    pipeline: str
    lanes: Sequence[Lane]
    choices: Sequence[Choice] = field(default=())

    def files(self, directory: Path) -> dict[str, str]:
        """The text of each file of the configuration for a run in the directory, by its name."""
        places = {"pipeline": self.pipeline, "samples": f"{FOLDER}/{SAMPLES}", "units": f"{FOLDER}/{UNITS}"}
        head = HEAD + yaml.safe_dump(places, sort_keys=False)
        config = "\n".join([head, *(choice.text() for choice in self.choices)])
        return {SAMPLES: self.sample_sheet(), UNITS: self.unit_sheet(directory), CONFIG: config}

    def sample_sheet(self) -> str:
        """The sample sheet; of RNA-Seq with the column `condition`, also where it is empty."""
        rows: dict[str, dict[str, str]] = {}
        for lane in self.lanes:
            row = rows.setdefault(lane.sample, {"sample_name": lane.sample, "condition": "", "sex": ""})
            row["condition"], row["sex"] = row["condition"] or lane.condition, row["sex"] or lane.sex
        columns = ["sample_name"]
        columns += ["condition"] if self.pipeline == "tuxedo" else []
        columns += ["sex"] if any(row["sex"] for row in rows.values()) else []
        return table(columns, list(rows.values()))

    def unit_sheet(self, directory: Path) -> str:
        """The unit sheet of a run in the directory."""
        rows = []
        for lane in self.lanes:
            paths = [as_written(path, directory) for path in lane.files]
            names = ("bam",) if lane.is_alignment else ("fq1", "fq2")
            row = {"sample_name": lane.sample, "unit_name": lane.unit}
            row |= {"platform": lane.platform, "library": lane.library, **dict(zip(names, paths, strict=False))}
            rows.append(row)
        used = [column for column in OPTIONAL if any(row.get(column) for row in rows)]
        return table(["sample_name", "unit_name", "fq1", *used], rows)


def table(columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> str:
    """A table with tabs between its columns."""
    lines = [columns, *([row.get(column, "") for column in columns] for row in rows)]
    return "".join("\t".join(line) + "\n" for line in lines)


def write(cohort: NewCohort, directory: Path) -> list[Path]:
    """Write the files of the configuration that a run in the directory reads. Returns their paths.

    Raises GpdError where one of them is there, or where the workflow would refuse one; nothing is written then.
    """
    files = cohort.files(directory)
    paths = {name: directory / FOLDER / name for name in files}
    refuse_present(directory)
    with tempfile.TemporaryDirectory(prefix="gpd-") as scratch:
        folder = Path(scratch, FOLDER)
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        try:
            configuration.read([folder / CONFIG], Path(scratch))
        except ConfigurationError as error:
            raise GpdError(str(error)) from error
    (directory / FOLDER).mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        with paths[name].open("x", encoding="utf-8") as file:
            file.write(text)
            os.fsync(file.fileno())
    return list(paths.values())


def refuse_present(directory: Path) -> None:
    """Raise GpdError where files of a configuration are there."""
    there = [path for name in (SAMPLES, UNITS, CONFIG) if os.path.lexists(path := directory / FOLDER / name)]
    if there:
        advice = "name another folder (--directory), or remove it"
        raise GpdError(f"{there[0]} is there, and nothing is overwritten: {advice}")
