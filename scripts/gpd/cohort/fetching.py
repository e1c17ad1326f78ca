"""Fetches files by their addresses, with Snakemake's storage plugins: each whole, or not at all."""

import importlib.util
import shutil
from collections.abc import Iterable
from pathlib import Path

from gpd.errors import GpdError
from gpd.execution import interruption, run_lock, workflow
from gpd.paths import ROOT

SNAKEFILE = ROOT / "resources" / "references" / "Snakefile"
PLUGINS = {"http": "http", "https": "http", "ftp": "ftp", "s3": "s3", "gs": "gcs"}
AT_ONCE = 1  # files: of those that are fetched side by side Snakemake keeps none where one of them fails
UNFINISHED = ".snakemake/storage"  # what Snakemake would take for whole, however little of it there is
ERROR = "error: "
ABSENT = " (in storage)"  # follows the address of a file that its server lacks


def check_plugins(addresses: Iterable[str]) -> None:
    """Raise GpdError where an address is of a kind whose plugin is not installed."""
    wanted = {PLUGINS[address.partition("://")[0]]: address for address in addresses}
    missing = {
        name: wanted[name] for name in wanted if not importlib.util.find_spec(f"snakemake_storage_plugin_{name}")
    }
    if missing:
        package = "snakemake-storage-plugin-"
        lines = [
            f"{address}: Snakemake's plugin for it is missing: pip install {package}{name}"
            for name, address in missing.items()
        ]
        raise GpdError("\n".join(lines))


def fetch(folder: Path, name: str, table: Path, files: Iterable[str]) -> None:
    """Have Snakemake fetch those of the table's files with this name that are missing. Raises GpdError.

    The table has columns reference (the name), file, address, bytes and md5, which may be `-`.
    """
    files = [*files]
    folder.mkdir(parents=True, exist_ok=True)
    arguments = workflow.command(
        folder,
        AT_ONCE,
        None,
        None,
        [],
        [],
        options=[
            *("--executor", "local", "--workflow-profile", "none", "--keep-going", "--rerun-incomplete"),
            *("--config", f"name={name}", f"table={table.absolute()}"),
        ],
        snakefile=SNAKEFILE,
    )
    with interruption.catching(), run_lock.hold_folder(folder, "") as lock:
        shutil.rmtree(folder / UNFINISHED, ignore_errors=True)
        finished = workflow.run(arguments, folder / workflow.LOG, lambda state: None, None, [lock])
    missing = [file for file in files if not (folder / file).is_file()]
    if finished.exit_code or missing:
        lines = [line.strip() for line in finished.output]
        errors = [line.removeprefix(ERROR) for line in lines if line.startswith(ERROR)]
        errors += [f"{line.removesuffix(ABSENT)}: there is no such file" for line in lines if line.endswith(ABSENT)]
        lacking = f"{len(missing)} of {len(files)} files are missing ({folder / workflow.LOG} has all)"
        raise GpdError("\n".join([*dict.fromkeys(errors or [finished.reason]), f"{lacking}: the same command goes on"]))
