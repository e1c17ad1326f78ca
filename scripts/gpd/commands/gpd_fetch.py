"""`gpd fetch`: bring the files that a configuration names by their addresses."""

from pathlib import Path
from typing import Annotated

import typer

from gpd.cohort import fetching
from gpd.commands.subcommands import print_lines, terminal
from gpd.errors import GpdError
from gpd.execution import configuration
from gpd.execution.configuration import ConfigurationError
from gpd.files import write_text
from gpd.records.study import CONFIG

NAME = "addresses"
COLUMNS = ("reference", "file", "address", "bytes", "md5")


def command(
    configfile: Annotated[list[Path] | None, typer.Option(help="Configuration, as gpd run takes it.")] = None,
    directory: Annotated[Path, typer.Option(help="Where the run will write.", exists=True, file_okay=False)] = Path(),
) -> None:
    """Fetch what the configuration and the table of units name by https, ftp, s3 or gs addresses, below fetched/.

    Each file is there whole or not at all, and those that are there are kept. A run then takes them as if they had been
    named by their paths. s3, gs and ftp need Snakemake's plugins for them.

    Example: gpd fetch --directory ~/cohort
    """
    console = terminal()
    try:
        found = configuration.read(configfile or [directory / CONFIG], directory)
    except ConfigurationError as error:
        raise GpdError(str(error)) from error
    if not found.addresses:
        print_lines(console, ["nothing to fetch: no address is in the configuration and its tables"])
        return
    files = {Path(file): address for file, address in found.addresses.items()}
    (top,) = {file.parts[0] for file in files}
    folder = directory / top
    named = {str(file.relative_to(top)): address for file, address in files.items()}
    missing = {file: address for file, address in named.items() if not (folder / file).is_file()}
    fetching.check_plugins(missing.values())
    if missing:
        print_lines(console, [f"{address} -> {folder / file}" for file, address in missing.items()])
        rows = [COLUMNS, *((NAME, file, address, "-", "-") for file, address in missing.items())]
        folder.mkdir(exist_ok=True)
        write_text(folder / f"{NAME}.tsv", "".join("\t".join(row) + "\n" for row in rows))
        fetching.fetch(folder, NAME, folder / f"{NAME}.tsv", missing)
    print_lines(console, [f"fetched: {len(named)} files are in {folder}"])
