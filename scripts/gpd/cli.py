"""The command line `gpd`: one function a verb, each a few lines around a module that does the work."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def main() -> None:
    """Genomes per Day: run the workflows of this repository and measure them."""


@app.command()
def doctor(
    pipeline: Annotated[
        list[str] | None,
        typer.Option(help="A pipeline that has to run here (repeatable; default: germline)."),
    ] = None,
    directory: Annotated[Path, typer.Option(help="Where runs will write.", exists=True, file_okay=False)] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show each tool with version and path, and the machine; fail when a pipeline could not run."""
    from gpd import doctor, tools

    table = tools.read_table()
    pipelines = pipeline or ["germline"]
    if unknown := set(pipelines).difference(tools.pipelines(table)):
        raise typer.BadParameter(f"{', '.join(sorted(unknown))}: the pipelines are {', '.join(tools.pipelines(table))}")
    report = doctor.inspect(table, pipelines, directory.resolve())
    if as_json:
        typer.echo(doctor.to_json(report))
    else:
        doctor.show(report, table, Console())
    raise typer.Exit(0 if report.healthy else 1)


class Pipeline(StrEnum):
    """The pipelines that can be run."""

    GERMLINE = "germline"


Cores = Annotated[int | None, typer.Option(min=1, help="CPUs to use. Default: all that this process may use.")]


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def run(
    context: typer.Context,
    pipeline: Annotated[Pipeline, typer.Argument(help="Which pipeline to run.")],
    directory: Annotated[Path, typer.Option(help="Where the run writes.", file_okay=False)] = Path(),
    configfile: Annotated[list[Path] | None, typer.Option(help="Configuration, repeatable.", exists=True)] = None,
    profile: Annotated[Path | None, typer.Option(help="Default: profiles/default.", exists=True)] = None,
    cores: Cores = None,
) -> None:
    """Run a pipeline on a cohort, and show time a step, failures and samples a day.

    Example: gpd run germline --cores 32. Further options go to Snakemake, which alone does the same work.
    """
    from gpd import cohort

    console = Console()
    raise typer.Exit(cohort.run(pipeline, directory, console, cores, configfile or [], profile, extra=context.args))


@app.command()
def demo(
    directory: Annotated[Path, typer.Option(help="Made anew.", file_okay=False)] = Path("demo-run"),
    samples: Annotated[int, typer.Option(min=1, help="Samples to simulate.")] = 2,
    seed: Annotated[int, typer.Option(help="The same seed gives the same cohort.")] = 1,
    cores: Cores = None,
) -> None:
    """Simulate a small cohort, take it from FASTQ to filtered VCF, and hold the calls against the truth."""
    from gpd import demo

    try:
        raise typer.Exit(demo.germline(directory, samples, seed, cores, Console()))
    except demo.DemoError as error:
        typer.echo(f"gpd demo: {error}", err=True)
        raise typer.Exit(2) from error
