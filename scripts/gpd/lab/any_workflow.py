"""A workflow that is not ours, in a study: its samples, a run's folder laid out for some of them, what is kept of it.

Nothing is known of it but its Snakefile, its sheets and what its runs read: all else the records of its jobs tell.
"""

import hashlib
import os
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpd.errors import GpdError
from gpd.execution import workflow
from gpd.files import write_text
from gpd.lab.digests import sampled_digest
from gpd.lab.pool import Source
from gpd.lab.sheets import Sheet, SheetError, read_sheet
from gpd.lab.study_runs import StudyError
from gpd.records.ledger import Attempt
from gpd.records.run import JobNames
from gpd.records.study import Pool

CONFIG_FOLDER = "config"  # read where it is there, without being named
SETTINGS = (".yaml", ".yml", ".json", ".toml")  # files that say how a workflow runs
PARTS = ("rules", "scripts", "envs", "schemas", "notebooks", "report")  # folders beside a Snakefile
KEPT = ("ledger*.jsonl", "snakemake*.log", "*.json", "profile", "profile/*", "tmp")  # of a run's folder


@dataclass(frozen=True)
class AnyWorkflow(Source):
    """A pool of a workflow that is not ours. Its first sheet has its samples; `rules` are all that it has."""

    pool: Pool = field(default_factory=Pool, kw_only=True)
    sheets: tuple[Sheet, ...] = field(default=(), kw_only=True)
    rules: frozenset[str] = field(default=frozenset(), kw_only=True)

    @property
    def ours(self) -> bool:
        return False

    @property
    def directory(self) -> Path:
        """What paths of its configuration start from."""
        return Path(self.pool.directory).absolute()

    @property
    def snakefile(self) -> Path:
        return self.directory / (self.pool.workflow or "")

    @property
    def python(self) -> str:
        return str(self.directory / self.pool.python) if self.pool.python else sys.executable

    @property
    def targets(self) -> tuple[str, ...]:
        return self.pool.target

    @property
    def options(self) -> tuple[str, ...]:
        return ("--configfile", str(self.directory / self.pool.config)) if self.pool.config else ()

    @property
    def job_names(self) -> JobNames:
        return JobNames(steps=self.pool.steps, wildcard=self.pool.wildcard)

    @property
    def needs_conditions(self) -> bool:
        return self.pool.condition is not None

    def rules_of(self, pipeline: str) -> frozenset[str]:
        return self.rules

    def units_of(self, sample: str) -> list[dict[str, Path]]:
        """The files that a sample's rows name, by column, a row each."""
        rows = self._rows(sample)
        return [{name: path for name, value in row.items() if (path := self._file(value))} for row in rows]

    def sheets_say(self, sample: str) -> Iterator[str]:
        """What the sheets say of a sample beside its name and files, a line a value."""
        for number, row in enumerate(self._rows(sample)):
            for name, value in sorted(row.items()):
                if value and name != self.pool.column and not self._file(value):
                    yield f"{number} {name} {value}"

    def shared_files(self, prepared: Path) -> list[Path]:
        """What all samples read: the files below `inputs` that are of no sample's own."""
        own = {path for member in self.members for path in self.reads(member.name)}
        every = (path for name in self.pool.inputs for path in _files(self.directory / name))
        return sorted(path for path in every if path not in own)

    def profile(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """A run's profile: with the executor that records jobs."""
        return {**given, "executor": "pinned"}

    def lay_out(self, samples: Collection[str], folder: Path, **settings: Any) -> None:
        """Write the sheets for a run of some samples into its folder, and link all else that it reads."""
        own = {sheet.path for sheet in self.sheets}
        for name in self.pool.inputs:
            _link(self.directory, folder, Path(name), own)
        for sheet in self.sheets:
            (folder / sheet.path).parent.mkdir(parents=True, exist_ok=True)
            write_text(folder / sheet.path, sheet.text(samples))

    def workflow_digest(self) -> str:
        """A digest of the workflow's own files."""
        folder = self.snakefile.parent
        if folder != self.directory:
            return _digest(folder, _files(folder))
        parts = [path for name in PARTS for path in _files(folder / name)]  # beside it is all else, results too
        return _digest(folder, [self.snakefile, *sorted(folder.glob("*.smk")), *parts])

    def config_digest(self) -> str:
        """A digest of what it makes, and of the files that configure it, the sheets aside."""
        found = {path for name in self.pool.inputs for path in _files(self.directory / name)}
        found |= {self.directory / self.pool.config} if self.pool.config else set()
        settings = sorted(path for path in found if path.suffix in SETTINGS)
        return _digest(self.directory, settings, "\n".join(self.pool.target))

    def refuse_strangers(self, samples: Collection[str], attempts: Iterable[Attempt], folder: Path) -> None:
        """Raise GpdError where jobs in a folder were of samples of the pool that it was not to run."""
        others = {member.name for member in self.members} - set(samples)
        for each in attempts:
            if (named := each.wildcards.get(self.pool.wildcard)) in others:
                raise GpdError(
                    f"{folder}: {each.rule} ran for {named}, which is no sample of the run: the workflow does not "
                    f"read {self.pool.samples} in the folder that it runs in"
                )

    def clean(self, folder: Path, attempts: Iterable[Attempt]) -> None:
        """Remove what a run made in its folder: sheets, logs and records stay, and what links lead to."""
        kept = {folder / each.log for each in attempts} | {folder / sheet.path for sheet in self.sheets}
        kept |= {path for pattern in KEPT for path in folder.glob(pattern)}
        for place, folders, names in os.walk(folder, topdown=False):
            for path in (Path(place, name) for name in (*names, *folders)):
                if path.is_symlink() or not path.is_dir():
                    path.unlink() if path not in kept else None
                elif not any(path.iterdir()):
                    path.rmdir()

    def _rows(self, sample: str) -> list[dict[str, str]]:
        return [row for sheet in self.sheets for row in sheet.of([sample])]

    def _file(self, value: str) -> Path | None:
        path = self.directory / value
        return path if value and path.is_file() else None


def read(name: str, pool: Pool) -> AnyWorkflow:
    """Read the sheets of a workflow that is not ours, and ask Snakemake for its rules. Raises StudyError."""
    where, folder = f"pipelines.{name}", Path(pool.directory).absolute()
    try:
        _check_paths(folder, pool)
        sheets = tuple(read_sheet(folder, path, pool.column) for path in dict.fromkeys((pool.samples, *pool.sheets)))
        samples = tuple(_sample(sheets[0], sample, pool.condition) for sample in sheets[0].samples)
        config = {"pipeline": name}
        rules = _rules(AnyWorkflow(config, samples, (), pool=pool, sheets=sheets))
        if unknown := sorted({rule for own in pool.steps.values() for rule in own} - rules):
            raise GpdError(f"steps: {unknown[0]}: no rule of the workflow; rules are {', '.join(sorted(rules))}")
    except GpdError as error:
        raise StudyError(f"{where}: {error}") from error
    return AnyWorkflow(config, samples, (), pool=pool, sheets=sheets, rules=rules)


def _check_paths(folder: Path, pool: Pool) -> None:
    """Raise GpdError where a file that the pool names is not there, or can't be at its place in a run's folder."""
    for key in ("workflow", "config", "python"):
        if (name := getattr(pool, key)) and not (folder / name).is_file():
            raise GpdError(f"{key}: {folder / name}: no such file")
    for key, names in (("samples", [pool.samples]), ("sheets", pool.sheets), ("inputs", pool.inputs)):
        for name in names:
            if Path(name).is_absolute() or ".." in Path(name).parts or not Path(name).parts:
                raise GpdError(f"{key}: {name}: must lie below directory: a run's folder has it at the same place")
            if not (folder / name).exists() and (key, name) != ("inputs", CONFIG_FOLDER):
                raise GpdError(f"{key}: {folder / name}: no such file or folder")


def _sample(sheet: Sheet, sample: str, condition: str | None) -> dict[str, str]:
    """A sample as a pool has it. Raises SheetError where its sheet has no such column."""
    if condition is None:
        return {"sample_name": sample}
    if condition not in sheet.heading:
        raise SheetError(f"{sheet.path}: no column {condition}; columns are {', '.join(sheet.heading)}")
    return {"sample_name": sample, "condition": sheet.of([sample])[0][condition]}


def _rules(source: AnyWorkflow) -> frozenset[str]:
    """The rules of a workflow, as Snakemake lists them. Raises GpdError with what it says where it can't."""
    with tempfile.TemporaryDirectory(prefix="gpd-") as scratch:
        folder = Path(scratch)
        source.lay_out([member.name for member in source.members], folder)
        options = [*source.options, "--workflow-profile", "none", "--executor", "local", "--list-rules"]
        arguments = workflow.command(
            folder, 1, None, None, [], options, snakefile=source.snakefile, python=source.python
        )
        finished = workflow.run(arguments, folder / workflow.LOG, lambda _: None)
    if finished.exit_code:
        raise GpdError(f"workflow: {source.snakefile}: {' '.join(finished.reason.split())}")
    return frozenset(words[0] for line in finished.output if (words := line.split()))


def _link(directory: Path, folder: Path, name: Path, sheets: Collection[str]) -> None:
    """Link an input into a run's folder; a folder with sheets in it becomes one with links to all its other files."""
    origin, target = directory / name, folder / name
    if str(name) in sheets or target.is_symlink() or not origin.exists():
        return
    if origin.is_dir() and any(Path(sheet).is_relative_to(name) for sheet in sheets):
        for each in origin.iterdir():
            _link(directory, folder, name / each.name, sheets)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(origin.resolve())


def _files(path: Path) -> list[Path]:
    """A file, or all files below a folder of which no part of the name begins with a dot."""
    if path.is_file():
        return [path]
    every = (found for found in path.rglob("*") if found.is_file())
    return sorted(one for one in every if not any(part.startswith(".") for part in one.relative_to(path).parts))


def _digest(folder: Path, paths: Iterable[Path], more: str = "") -> str:
    """A digest of the names and contents of files, and of a text."""
    digest = hashlib.sha256(more.encode())
    for path in paths:
        digest.update(f"\0{os.path.relpath(path, folder)}\0{sampled_digest(path)}".encode())
    return digest.hexdigest()
