"""`gpd reference`: fetch the files of a reference by its name."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from gpd.cohort import references
from gpd.commands.subcommands import print_grids, print_lines, terminal
from gpd.errors import GpdError
from gpd.execution import interruption, run_lock, workflow
from gpd.text.formats import number
from gpd.text.grid import Grid, group

AT_ONCE = 1  # files: of those that are fetched side by side Snakemake keeps none where one of them fails
UNFINISHED = ".snakemake/storage"  # what Snakemake would take for whole, however little of it there is
ERROR = "error: "


def command(
    name: Annotated[str, typer.Argument(help="Of the reference, such as GRCh38.")] = "",
    into: Annotated[Path, typer.Option(help="Where references lie, each in a folder.", file_okay=False)] = Path(
        "references"
    ),
    table: Annotated[
        Path, typer.Option(help="Table of references.", exists=True, dir_okay=False, show_default=False)
    ] = references.TABLE,
) -> None:
    """Fetch the files of a reference, each whole or not at all; those that are there are kept.

    Without a name: which references there are. gpd init --reference NAME writes a configuration with them.

    Example: gpd reference GRCh38 --into ~/references
    """
    console = terminal()
    if not name:
        rows = []
        for known in references.known():
            one = references.find(known, into, table)
            keys = dict.fromkeys(key.partition(".")[0] for file in one.files for key in file.keys if key != "-")
            rows.append((known, number(one.gb, 2), ", ".join(keys), one.files[0].documented))
        print_grids(console, [Grid("", ("reference", "GB", "keys", "documented"), (group(rows),), numeric=False)])
        return
    reference = references.find(name, into, table)
    for file in reference.files:
        print_lines(console, [f"{file.name}: {file.address} ({file.licence}; {file.documented})"])
    if not reference.missing:
        print_lines(console, [f"all {len(reference.files)} files are in {reference.folder}"])
        return
    _fetch(reference, table)
    print_lines(console, [f"fetched: {len(reference.files)} files in {reference.folder}"])


def _fetch(reference: references.Reference, table: Path) -> None:
    """Have Snakemake fetch what is missing. Raises GpdError where a file can't be had, or is another."""
    reference.folder.mkdir(parents=True, exist_ok=True)
    arguments = workflow.command(
        reference.folder,
        AT_ONCE,
        None,
        None,
        [],
        [],
        options=[
            *("--executor", "local", "--workflow-profile", "none", "--keep-going", "--rerun-incomplete"),
            *("--config", f"name={reference.name}", f"table={table.absolute()}"),
        ],
        snakefile=references.SNAKEFILE,
    )
    with interruption.catching(), run_lock.hold_folder(reference.folder, "") as lock:
        shutil.rmtree(reference.folder / UNFINISHED, ignore_errors=True)
        finished = workflow.run(arguments, reference.folder / workflow.LOG, lambda state: None, None, [lock])
    if finished.exit_code or reference.missing:
        lines = [line.strip() for line in finished.output]
        errors = [line.removeprefix(ERROR) for line in lines if line.startswith(ERROR)]
        why = errors or [finished.reason]
        log = reference.folder / workflow.LOG
        lacking = f"{len(reference.missing)} of {len(reference.files)} files are missing ({log} has all)"
        raise GpdError("\n".join([*dict.fromkeys(why), f"{lacking}: the same command goes on"]))
