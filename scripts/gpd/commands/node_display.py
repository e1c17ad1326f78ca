"""A node's record on the terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.text import Text

from gpd.commands.subcommands import Terminal
from gpd.records.node import NodeRecord
from gpd.reports import node_findings
from gpd.text.grid import rich_table


@contextmanager
def progress(quiet: bool) -> Iterator[Callable[[str], None]]:
    """Say on stderr what is being measured, in one line that is overwritten; nothing where that is no terminal."""
    console = Terminal(stderr=True, quiet=quiet)
    with console.status("") as status:
        yield lambda what: status.update(Text(what))


def show(record: NodeRecord, path: Path, console: Console) -> None:
    """Print the tables of the report, and the pictures of it as one more table."""
    found = node_findings.find(record)
    for warning in found.warnings:
        console.print(Text(f"warning: {warning}", "yellow"), soft_wrap=True)
    grids = list(found.grids)
    if matrix := node_findings.matrix_grid(record):
        grids.insert(1, matrix)
    for grid in grids:
        console.print(rich_table(grid))
        console.print()
    for line in filter(None, (found.root_adds, f"{found.about} record: {path}")):
        console.print(Text(line), soft_wrap=True)
