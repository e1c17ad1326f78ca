"""`gpd deliver`: a folder with what of a finished run one hands on."""

import tempfile
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.console import Console

from gpd.commands.gpd_run import USUAL_CONFIG
from gpd.commands.subcommands import print_lines, terminal
from gpd.delivery import contents, folder, methods, versions
from gpd.errors import GpdError
from gpd.execution import configuration, run_lock, snakemake_log, workflow
from gpd.execution.configuration import Configuration
from gpd.machines import tool_checks
from gpd.pipelines import PIPELINES
from gpd.text.formats import counted, in_gigabytes

DESCRIBED = ("methods.md", "settings.yaml", "versions.tsv")


def command(
    target: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder to be made.")],
    directory: Annotated[Path, typer.Option(help="Where the run wrote.", exists=True, file_okay=False)] = Path(),
    configfile: Annotated[list[Path] | None, typer.Option(help="Configuration, repeatable.", exists=True)] = None,
    copy: Annotated[bool, typer.Option("--copy", help="Copy alignments, in place of hard links to them.")] = False,
) -> None:
    """Make a folder of what one hands on: calls or tables, alignments, the samples' page, methods, checksums.

    Nothing is overwritten, and the folder is there only when it is whole. The run must have come to its end.
    methods.md has a paragraph for a paper, with versions and citations; settings.yaml has every setting, and of paths
    the names alone.

    Example: gpd deliver ~/to-clinic/cohort-7
    """
    with run_lock.hold_folder(directory, ""):
        deliver(target, directory, configfile or [], copy, terminal())


def deliver(target: Path, directory: Path, configfiles: list[Path], copy: bool, console: Console) -> None:
    """Make the folder `target`. Raises GpdError where it is there, and where jobs of the run are left to do."""
    pipeline = pipeline_in(directory)
    configured = _configured(directory, configfiles, pipeline)
    with folder.made_whole(target) as unfinished:
        given = contents.contents(directory, finished_results(directory, configfiles, pipeline), configured)
        for each in given:
            folder.put(each.source, unfinished / each.path, each.kind == contents.ALIGNMENTS and not copy)
        _describe(unfinished, [each.path for each in given], configured)
        (unfinished / folder.CHECKSUMS).write_text("".join(folder.checksums(unfinished)), encoding="utf-8")
    files, size = folder.size(target)
    kinds = Counter(each.kind for each in given)
    print_lines(console, [f"  {kind}: {counted(count, 'file')}" for kind, count in kinds.items()])
    print_lines(console, [f"{target}: {counted(files, 'file')}, {in_gigabytes(size)}; sha256sum -c {folder.CHECKSUMS}"])


def pipeline_in(directory: Path) -> str:
    """The pipeline whose results lie in a folder: it has those of one alone. Raises GpdError where there are none."""
    for pipeline in PIPELINES.values():
        if any((directory / "results" / step).is_dir() for step in pipeline.unavoidable):
            return pipeline.name
    raise GpdError(f"{directory}: no results of a run here: name its folder with --directory")


def _configured(directory: Path, configfiles: list[Path], pipeline: str) -> Configuration:
    usual = directory / USUAL_CONFIG
    try:
        return configuration.read([*([usual] if usual.exists() else []), *configfiles], directory, pipeline)
    except configuration.ConfigurationError as error:
        raise GpdError(str(error)) from error


def finished_results(directory: Path, configfiles: list[Path], pipeline: str) -> dict[str, str]:
    """Where the workflow leaves results, by kind. Raises GpdError where some are still to be made, or anew."""
    arguments = workflow.command(
        directory,
        cores=1,
        mem_mb=None,
        profile=workflow.PROFILES / "default",
        configfiles=configfiles,
        options=["--config", f"pipeline={pipeline}", *tool_checks.conda_options(pipeline)],
        extra=["--dry-run", "--rerun-incomplete"],
    )
    with tempfile.TemporaryDirectory(prefix="gpd-") as scratch:
        planned = workflow.run(arguments, Path(scratch, workflow.LOG), lambda state: None)
    if planned.exit_code:
        raise GpdError(planned.reason)
    if table := snakemake_log.job_table(planned.output):
        raise GpdError(
            f"{directory}: {table[-1].split()[1]} jobs are left to do: gpd run {pipeline} does them (--dry-run shows "
            "them); a sample that is lost goes into leave_out"
        )
    return snakemake_log.results(planned.output)


def _describe(unfinished: Path, given: list[Path], configured: Configuration) -> None:
    """Write how the results were made; `given` are their files."""
    from gpd.delivery import crate  # slow to import, as is the other
    from gpd.lab.provenance import without_folders

    config: dict[str, Any] = {key: value for key, value in configured.config.items() if key not in ("samples", "units")}
    names = [row["sample_name"] for row in configured.samples if row["sample_name"] not in config["leave_out"]]
    found = versions.versions(config)
    settings = yaml.safe_dump(without_folders(config), sort_keys=False, allow_unicode=True)
    (unfinished / "settings.yaml").write_text(settings, encoding="utf-8")
    table = "".join(f"{tool}\t{text or ''}\n" for tool, text in {"tool": "version", **found}.items())
    (unfinished / "versions.tsv").write_text(table, encoding="utf-8")
    (unfinished / "methods.md").write_text(methods.page(config, names, found, version("gpd")), encoding="utf-8")
    crate.write(unfinished, [*given, *map(Path, DESCRIBED)], config["pipeline"], found)
