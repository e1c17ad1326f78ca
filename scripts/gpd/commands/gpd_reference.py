"""`gpd reference`: fetch the files of a reference by its name."""

from pathlib import Path
from typing import Annotated

import typer

from gpd.cohort import fetching, references
from gpd.commands.subcommands import print_grids, print_lines, terminal
from gpd.text.formats import number
from gpd.text.grid import Grid, group


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
    fetching.fetch(reference.folder, reference.name, table, [file.name for file in reference.files])
    print_lines(console, [f"fetched: {len(reference.files)} files in {reference.folder}"])
