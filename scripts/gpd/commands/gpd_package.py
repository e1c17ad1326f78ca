"""`gpd package STUDY` and `gpd package check FILE`: a study as one file, and whether such a file can be trusted."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from gpd import files
from gpd.commands.subcommands import Subcommands, print_grids, say, terminal
from gpd.text.formats import counted
from gpd.text.grid import Entry, Grid, group

if TYPE_CHECKING:
    from gpd.packages.check_verdicts import Verdict

MAKE = "make"
SUFFIX = ".gpd.tar.gz"
STYLES = {"holds": "green", "fails": "bold red", "not known": "yellow"}


class PackageSubcommands(Subcommands):
    """A word that names no subcommand is the study that `make` packages; a study called check is ./check."""

    def parse_args(self, ctx, args):  # typer gives its own kind of context
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [MAKE, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=PackageSubcommands,
    no_args_is_help=True,
    help="Make one file of a study that others can check (gpd package STUDY), and check such a file.",
    epilog="Examples: gpd package runs/study; gpd package check study.gpd.tar.gz",
)


@app.command()
def schema() -> None:
    """Print the JSON schema of a package's manifest.

    Example: gpd package schema
    """
    from gpd.packages import manifest

    say(json.dumps(manifest.schema(), indent=1))


@app.command(MAKE)
def make(
    study: Annotated[Path, typer.Argument(help="A study's folder, as runs/study.", exists=True, file_okay=False)],
    out: Annotated[Path | None, typer.Option(help="The file. Default: STUDY.gpd.tar.gz here.", dir_okay=False)] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file, if it is there.")] = False,
) -> None:
    """Package all that a study's figures follow from: its plan, records, ledgers and tables. `make` may be left out.

    No reads, no logs, no messages of tools and no names of users are in it; hosts and folders are numbers. Names of
    samples are.

    Example: gpd package runs/study
    """
    from gpd.packages import pack, read
    from gpd.packages.manifest import PackageError

    package = pack.make(study)
    content = package.to_bytes()
    try:
        read.parse(content)
    except ValueError as error:
        raise PackageError(f"{study}: can't be packed, for no one could read it: {error}") from error
    path = out or Path(f"{package.manifest.study}{SUFFIX}")
    if path.exists() and not force:  # studies of two machines often have one name
        raise PackageError(f"{path} is there, and may be another study's: name another with --out, or give --force")
    files.replace(path, lambda unfinished: unfinished.write_bytes(content))
    say(f"{path}: {counted(len(package.members), 'file')}, {len(content):,} bytes")
    say(f"manifest: sha256 {package.digest}")
    for what in package.manifest.left_out:
        say(f"left out: {what}")


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="A package.", dir_okay=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compute every figure of a package anew from its ledgers, and hold the study against the checks.

    The exit code is 0 where all checks hold; 1 where the package was altered, a figure does not follow, a check fails
    or it cannot be known whether it holds; 2 where it is no package. Nothing in it is run.

    Example: gpd package check study.gpd.tar.gz
    """
    from gpd.packages import checks, evidence, read
    from gpd.packages.bounds import bounded
    from gpd.packages.check_verdicts import HOLDS

    with bounded(file):
        package = read.read(file)
        verdicts = checks.judge(evidence.gather(package))
    manifest = package.manifest
    if as_json:
        made = {"study": manifest.study, "gpd_version": manifest.gpd_version, "manifest_sha256": package.digest}
        document = {**made, "checks": verdicts}
        say(json.dumps(document, indent=2, ensure_ascii=False, default=asdict))
    else:
        show(verdicts, terminal())
        say("\n".join(filter(None, [f"manifest: sha256 {package.digest}", evidence.versions(manifest)])))
    raise typer.Exit(0 if all(verdict.state == HOLDS for verdict in verdicts) else 1)


def show(verdicts: "Sequence[Verdict]", console: Console) -> None:
    """Print each check with its verdict, and why."""
    rows = [
        (
            each.check,
            Entry(each.state, style=STYLES[each.state]),
            "\n".join((each.says, *(f"- {line}" for line in each.why))),
        )
        for each in verdicts
    ]
    print_grids(console, [Grid("", ("check", "", "why"), (group(rows),), numeric=False)])
    states = [verdict.state for verdict in verdicts]
    counts = ", ".join(f"{states.count(state)} {state.removesuffix('s')}" for state in STYLES if state in states)
    say(f"{counted(len(states), 'check')}: {counts}")
