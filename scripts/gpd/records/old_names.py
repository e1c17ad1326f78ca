"""Names that earlier versions wrote, and today's for them: their records, tables and study files are read on. Pure."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

SPEC: Final = "spec.json"  # what a run is to be
OLD_SPEC: Final = "cell.json"
VALUES: Final[Mapping[str, Mapping[str, str]]] = {  # by key of a record, or column of a table
    "mode": {"scheduled": "shared"},
    "modes": {"scheduled": "shared"},
    "profiles": {"scheduled": "shared"},
    "concurrent_samples": {"knee": "saturation"},
}
NOTE: Final = "the mode `scheduled` is called `shared` now, and `concurrent_samples: knee` is `saturation`"
JOB_RECORD: Final = {"contended": "cpu_contention", "foreign_cpu_s": "other_cpu_s"}  # keys of a job's record
RECORD: Final[Mapping[str, str]] = {"sittings": "starts"}  # keys of a run's record
COLUMNS: Final = {
    "cell": "run",
    "barrier_h": "elapsed_h",
    "busy_h": "summed_h",
    "busy_s": "summed_s",
    "widths": "thread_counts",
    "contended_jobs": "jobs_with_contention",
    **RECORD,
    **JOB_RECORD,
}
TABLES: Final = {"configurations": "points"}  # a table's name, and what it was called


def spec_path(folder: Path) -> Path:
    """The file in a run's folder that tells what the run is to be, there or not."""
    old = folder / OLD_SPEC
    return old if old.exists() and not (folder / SPEC).exists() else folder / SPEC


def spec_paths(study: Path) -> Iterator[Path]:
    """Those of all runs of a study."""
    folders = {path.parent for name in (SPEC, OLD_SPEC) for path in study.glob(f"*/{name}")}
    yield from (spec_path(folder) for folder in sorted(folders))


def record(document: Any) -> Any:
    """A run.json, spec.json, study.json or line of starts.jsonl with today's names."""
    if not isinstance(document, dict):
        return document
    found = {}
    for key, value in document.items():
        if key == "cell":  # of a record its run's specification, of a specification its name
            key = "spec" if isinstance(value, dict) else "name"
        key = RECORD.get(key, key)
        found[key] = record(value) if key in ("spec", "study") else value_of(key, value)
    return found


def job_record(document: dict[str, Any]) -> dict[str, Any]:
    """A line of a ledger with today's names."""
    return {JOB_RECORD.get(key, key): value for key, value in document.items()}


def value_of(key: str, value: Any) -> Any:
    """A value, the entries of a list or the keys of a mapping as they are called today."""
    known = VALUES.get(key, {})
    if isinstance(value, str):
        return known.get(value, value)
    if isinstance(value, list):
        return [value_of(key, entry) for entry in value]
    return {known.get(name, name): entry for name, entry in value.items()} if isinstance(value, dict) else value


def run_name(name: str) -> str:
    """The name that a run's specification has today."""
    return name.replace("-scheduled-", "-shared-")


def table(rows: list[list[str]]) -> list[list[str]]:
    """A stored table, its head first, with today's names of columns and values."""
    heads = [COLUMNS.get(head, head) for head in rows[0]]
    return [heads, *([value_of(head, cell) for head, cell in zip(heads, row, strict=False)] for row in rows[1:])]
