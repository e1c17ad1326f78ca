"""What a run was made with: tools, workflow, settings. Runs that differ in it are told apart by it."""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from subprocess import STDOUT
from typing import Any

from gpd.lab import digests
from gpd.lab.any_workflow import AnyWorkflow
from gpd.lab.pool import Source, settings_without_paths
from gpd.machines import tool_checks
from gpd.paths import PINNED, ROOT
from gpd.pipelines import GERMLINE
from gpd.processes import ProcessError, output_of
from gpd.records.run import Settings

WORKFLOW, ENVIRONMENTS = ROOT / "workflow", ROOT / "envs"
SOURCES = (".smk", ".py", ".R", ".yaml", ".xml")
# environment variables by which runtimes and libraries of the tools change what they do, and no command shows it
VARIABLES = re.compile(
    r"(OMP|GOMP|KMP|MALLOC|GATK|TILEDB)_\w+|_JAVA_OPTIONS|J(AVA_TOOL|DK_JAVA)_OPTIONS|GLIBC_TUNABLES|LD_PRELOAD"
)
# the pair-HMM of GATK 4, of GATK 3's native library, and of both where they fall back on Java
PAIR_HMMS = (
    re.compile(r"Using the (.+) PairHMM implementation"),
    re.compile(r"Using (.+) implementation of PairHMM"),
    re.compile(r"(?:Falling back to the MUCH slower|using Java implementation of) (\w+)"),
)
INSTRUCTIONS = re.compile(r"IntelPairHmm - Using CPU-supported (\S+) instructions")
JAVA_PROPERTIES = ("java.vendor", "java.runtime.version", "java.vm.name")


def settings(source: Source, dictionary: Path) -> Settings:
    """The settings of a run's record: versions, and digests of the workflow, its configuration and the reference.

    `dictionary` is the reference's sequence dictionary. Of a workflow that is not ours its tools and reference are not
    known.
    """
    if isinstance(source, AnyWorkflow):
        return Settings(
            workflow_commit=_commit(source.snakefile.parent),
            workflow_digest=source.workflow_digest(),
            config_digest=source.config_digest(),
            gpd_version=version("gpd"),
            environment=variables(os.environ),
        )
    return Settings(
        workflow_commit=_commit(ROOT),
        workflow_digest=workflow_digest(),
        environments_digest=_files_digest(ENVIRONMENTS),
        config_digest=_digest(settings_without_paths(source.config)),
        reference_digest=digests.reference_digest(dictionary),
        preset=source.config["preset"] if source.config["pipeline"] == GERMLINE.name else None,
        gpd_version=version("gpd"),
        tools=tool_versions(*(f"{source.config['pipeline']}-{source.config[key]}" for key in ("mapper", "filter"))),
        environment=variables(os.environ),
    )


def workflow_digest() -> str:
    """A digest of this clone's workflow, with the launcher that its jobs have."""
    return _files_digest(WORKFLOW, PINNED)


def profile_digest(profile: Mapping[str, Any], threads: Mapping[str, int]) -> str:
    """Digest a profile's content, whatever its name and where things lie.

    Its `set-threads` counts for the rules that `threads` says nothing of; what that says is recorded as it is.
    """
    left = {rule: count for rule, count in (profile.get("set-threads") or {}).items() if rule not in threads}
    return _digest(without_folders({**profile, "set-threads": left}))


def variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables that change what tools do; of paths in them the names."""
    return {
        name: re.sub(r"/[^\s:]*/", "", value)
        for name, value in sorted(environment.items())
        if VARIABLES.fullmatch(name)
    }


def tool_versions(*pipelines: str) -> dict[str, str | None]:
    """The version that each tool of pipelines, such as germline-bwa-mem2, says it has; None where it is not here."""
    table = tool_checks.read_table()
    needed = dict.fromkeys(tool for pipeline in pipelines for tool in tool_checks.needed(table, pipeline))
    found = {tool.command: tool_checks.examine(tool).version or None for tool in needed}
    return found | {"java": _java()} if "gatk" in found else found


def _java() -> str | None:
    """Vendor, version and name of the Java that `gatk` starts, which need not be the one on PATH; None without it."""
    command = ["gatk", "--java-options", "-XshowSettings:properties", "--version"]
    found = dict(re.findall(r"^ +([\w.]+) = (.*)$", _output(command, stderr=STDOUT), re.MULTILINE))
    return ", ".join(found[name] for name in JAVA_PROPERTIES if name in found) or None


def pair_hmm(log: str) -> str | None:
    """The pair-HMM that HaplotypeCaller's log names, with the instruction set; None where it names none.

    Results and speed depend on it, and no option shows it: where the CPU lacks an instruction set, or the system a
    library (libgomp), GATK takes one in Java that is many times slower, and goes on.
    """
    found = next((match for pattern in reversed(PAIR_HMMS) if (match := pattern.search(log))), None)
    if found is None or found.re is PAIR_HMMS[-1]:
        return found and f"Java {found[1]}, the slow way"
    instructions = INSTRUCTIONS.search(log)
    return f"{instructions[1]}, {found[1]}" if instructions else found[1]


def without_folders(value: Any) -> Any:
    """A profile's value, of absolute paths in it the names."""
    if isinstance(value, dict):
        return {key: without_folders(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [without_folders(entry) for entry in value]
    return Path(value).name if isinstance(value, str) and value.startswith("/") else value


def _commit(folder: Path) -> str | None:
    """The commit of the repository that a folder is in; None where it is in none."""
    return _output(["git", "-C", str(folder), "rev-parse", "HEAD"]).strip() or None


def _output(command: list[str], **options: Any) -> str:
    """What a command prints; empty where it fails."""
    try:
        return output_of(command, **options)
    except ProcessError:
        return ""


def _files_digest(*folders: Path) -> str:
    """A digest of the workflow's own files in some folders, so that a change without a commit shows too."""
    files = [
        (path, folder)
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.suffix in SOURCES or path.name == "Snakefile"
    ]
    return _digest(
        {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path, folder in files}
    )


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
