"""What a run was made with: tools, workflow, settings. Runs that differ in it are told apart by it."""

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gpd import doctor, tools
from gpd.lab import digests
from gpd.lab.pool import Source, settings_without_paths
from gpd.machines import machine
from gpd.workflow import ROOT

WORKFLOW = ROOT / "workflow"
SOURCES = (".smk", ".py", ".R", ".yaml")


def settings(source: Source, dictionary: Path) -> dict[str, Any]:
    """The settings of a run's record: versions, and digests of the workflow, its configuration and the reference.

    `dictionary` is the reference's sequence dictionary.
    """
    return {
        "workflow_commit": _commit(),
        "workflow_digest": _workflow_digest(),
        "config_digest": _digest(settings_without_paths(source.config)),
        "reference_digest": digests.reference_digest(dictionary),
        "gpd_version": version("gpd"),
        "tools": tool_versions(source.config["pipeline"]),
    }


def tool_versions(pipeline: str) -> dict[str, str | None]:
    """The version that each tool of a pipeline says it has; None where it is not here, as conda's are not."""
    needed = tools.needed(tools.read_table(), pipeline)
    return {tool.command: doctor.examine(tool).version or None for tool in needed}


def _commit() -> str | None:
    """The commit of the workflow's repository; None where it is no repository."""
    status, said = machine.answer(["git", "-C", str(ROOT), "rev-parse", "HEAD"])
    return said.strip() if status == 0 else None


def _workflow_digest() -> str:
    """A digest of the workflow's own files, so that a change without a commit shows too."""
    files = sorted(path for path in WORKFLOW.rglob("*") if path.suffix in SOURCES or path.name == "Snakefile")
    return _digest({str(path.relative_to(WORKFLOW)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files})


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
