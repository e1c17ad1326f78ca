"""The command line `gpd`: one function a verb, each a few lines around a module that does the work."""

import os
import signal
import sys
import warnings
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from gpd.errors import GpdError, Interrupted

EXIT_CODES = (
    "Exit codes: 0 done; 1 done, and something in it failed or does not hold (the output says what); "
    "2 not done: wrong arguments, settings or input; 130 ended by Ctrl-C (by another signal, 128 and its number)."
)


class Verbs(typer.core.TyperGroup):
    """Verbs that end without a traceback: what a user's files or arguments do not allow is a line a fault."""

    def invoke(self, context: typer.Context) -> object:
        try:
            return super().invoke(context)
        except Interrupted as interrupted:
            raise typer.Exit(_tell(context, interrupted, interrupted.exit_code)) from interrupted
        except KeyboardInterrupt as interrupt:
            stopped = Interrupted(signal.SIGINT)
            raise typer.Exit(_tell(context, stopped, stopped.exit_code)) from interrupt
        except BrokenPipeError:
            raise  # whoever read the output has gone
        except (GpdError, OSError) as error:
            raise typer.Exit(_tell(context, error, NOT_DONE)) from error


def _tell(context: typer.Context, error: BaseException, code: int) -> int:
    """Say on stderr what ended a verb, line by line, and return its exit code."""
    verb = " ".join(["gpd", *context.command_path.split()[1:], context.invoked_subcommand or ""]).strip()
    said = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
    for line in said.splitlines():
        typer.echo(f"{verb}: {line}", err=True)
    return code


NOT_DONE = 2
app = typer.Typer(cls=Verbs, no_args_is_help=True, pretty_exceptions_enable=False, epilog=EXIT_CODES)


@app.callback()
def main() -> None:
    """Genomes per Day: run the workflows of this repository and measure them."""
    # tools are found as in the activated environment, also where it is not activated
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    warnings.showwarning = lambda message, *_: typer.echo(f"gpd: warning: {message}", err=True)


@app.command()
def doctor(
    pipeline: Annotated[
        list[str] | None,
        typer.Option(help="A pipeline that has to run here (repeatable; default: all)."),
    ] = None,
    directory: Annotated[Path, typer.Option(help="Where runs will write.", exists=True, file_okay=False)] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show each tool with version and path, and the machine; fail when a pipeline could not run."""
    from gpd import doctor, tools

    table = tools.read_table()
    pipelines = pipeline or [name for name in Pipeline if name in tools.pipelines(table)]
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
    TUXEDO = "tuxedo"


Cores = Annotated[int | None, typer.Option(min=1, help="Cores to use. Default: all that this process may use.")]


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def run(
    context: typer.Context,
    pipeline: Annotated[Pipeline, typer.Argument(help="Which pipeline to run.")],
    directory: Annotated[Path, typer.Option(help="Where the run writes.", exists=True, file_okay=False)] = Path(),
    configfile: Annotated[list[Path] | None, typer.Option(help="Configuration, repeatable.", exists=True)] = None,
    profile: Annotated[
        str | None, typer.Option(help="One of the project's by its name, or a folder. Default: chosen by the cohort.")
    ] = None,
    cores: Cores = None,
) -> None:
    """Run a pipeline on a cohort, and show time a step, failures and samples a day.

    Targets, after the pipeline: all (the default), results (without the page of statistics), prepare (indexes and
    dictionaries alone), or files. These and further options go to Snakemake, which alone does the same work.

    Example: gpd run germline results --cores 32
    """
    from gpd import cohort, workflow

    folder = workflow.find_profile(profile) if profile else None
    code = cohort.run(pipeline, directory, _console(), cores, configfile or [], folder, extra=context.args)
    raise typer.Exit(code)


class Demo(StrEnum):
    """The parts of the demo."""

    GERMLINE = "germline"
    TUXEDO = "tuxedo"
    THROUGHPUT = "throughput"


@app.command()
def demo(
    parts: Annotated[list[Demo] | None, typer.Argument(help="Default: each in turn.")] = None,
    directory: Annotated[Path, typer.Option(help="Made anew, a folder a part.", file_okay=False)] = Path("demo-run"),
    seed: Annotated[int, typer.Option(help="The same seed gives the same cohorts.")] = 1,
    cores: Cores = None,
) -> None:
    """Simulate small cohorts, run both pipelines on them, hold results against the truth, and measure a small study.

    Example: gpd demo germline --cores 4
    """
    from gpd import demo

    codes = [
        demo.run_study(directory / name, seed, cores, _console())
        if name == Demo.THROUGHPUT
        else demo.run(name, directory / name, seed, cores, Console())
        for name in parts or list(Demo)
    ]
    raise typer.Exit(max(codes))


class Binding(StrEnum):
    """How a job's CPUs are chosen."""

    COMPACT = "compact"
    SCATTER = "scatter"


class Boundary(StrEnum):
    """The finest boundary that a lease respects."""

    L3 = "l3"
    NUMA = "numa"
    SOCKET = "socket"


@app.command()
def topology(
    xml: Annotated[
        Path | None,
        typer.Option(help="Another machine, as 'lstopo --of xml' wrote it. Default: this one.", exists=True),
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads of a job.")] = 4,
    binding: Annotated[Binding, typer.Option(help="Fill one group after the other, or spread.")] = Binding.COMPACT,
    boundary: Annotated[Boundary, typer.Option(help="What a job should not cross.")] = Boundary.L3,
    smt: Annotated[bool, typer.Option("--smt", help="Hyperthreads are CPUs. Default: jobs get whole cores.")] = False,
    svg: Annotated[Path | None, typer.Option(help="Also draw it, to this file.", dir_okay=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the machine's packages, NUMA nodes, L3 groups and cores, and the slots that jobs get of them.

    Example: gpd topology --threads 8 --binding scatter --boundary numa --svg slots.svg
    """
    from gpd import launcher, topology, topology_svg

    layout = launcher.lay_out(topology.Policy(threads, binding, boundary, smt), xml)
    title = xml.stem if xml else "this machine"
    if svg:
        svg.write_text(topology_svg.draw(layout, title), encoding="utf-8")
    if as_json:
        typer.echo(topology.to_json(layout))
    else:
        topology.show(layout, title, Console())


throughput_app = typer.Typer(
    cls=Verbs, no_args_is_help=True, help="Measure how many samples a day this machine runs, for many N."
)
app.add_typer(throughput_app, name="throughput")

StudyFile = Annotated[Path, typer.Argument(help="The study's settings.")]


@throughput_app.command("plan")
def throughput_plan(
    settings: StudyFile = Path("config/throughput.yaml"),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the grid of a study, what of it is done, and about how long the rest takes.

    Example: gpd throughput plan config/throughput.yaml
    """
    import json

    from gpd.lab import throughput, throughput_verbs

    plan = throughput.make_plan(settings)
    if as_json:
        typer.echo(json.dumps(throughput_verbs.described(plan), indent=2))
    else:
        throughput_verbs.show_plan(plan, _console())


@throughput_app.command("run")
def throughput_run(
    settings: StudyFile = Path("config/throughput.yaml"),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and check the pools; run nothing.")] = False,
) -> None:
    """Run a study, or what is left of it, and write its tables and report.

    A sample that fails is part of the result: the exit code is 0. It is 1 where samples that ran in several cells gave
    different results, and 2 where the study can't be run.

    Example: gpd throughput run config/throughput.yaml
    """
    from gpd.lab import throughput, throughput_verbs

    plan = throughput.make_plan(settings)
    if dry_run:
        throughput_verbs.show_plan(plan, _console())
        throughput.check(plan)
    else:
        raise typer.Exit(throughput_verbs.run(plan, _console()))


@app.command()
def report(
    study: Annotated[Path, typer.Argument(help="A study's folder, as runs/study.", exists=True, file_okay=False)],
) -> None:
    """Write a study's tables and its report anew from the cells that have ended.

    The exit code is 1 where samples that ran in several cells gave different results, 2 where no cell has ended.

    Example: gpd report runs/study
    """
    from gpd.lab import throughput_verbs

    raise typer.Exit(throughput_verbs.write(study, _console()))


@app.command()
def compare(
    sides: Annotated[
        list[str],
        typer.Argument(
            help="Folders of studies, whole or a part as STUDY:scheduled; published or published:SKU.",
            metavar="A B ...",
        ),
    ],
    allow: Annotated[
        list[str] | None, typer.Option(help="What may differ nonetheless, such as inputs (repeatable).")
    ] = None,
    markdown: Annotated[Path | None, typer.Option(help="Also write it to this file.", dir_okay=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Put studies side by side: genomes a day, totals and steps, with ratios to the first and their 95% intervals.

    One study alone is compared within itself, mode against mode and binding against binding. `published` gives an
    overview of all figures of others, and published:SKU each step of one.

    Runs that differ in inputs, reference, tools, settings, binding or cache are refused with exit code 1, a line each;
    --allow names what may differ, which is then printed above the table.

    Example: gpd compare runs/xeon runs/epyc published:7763
    """
    from gpd.comparison import compare_verbs

    console = Console()
    console = Console(width=max(console.width, 120 if console.is_terminal else 140))  # no table is narrower
    raise typer.Exit(compare_verbs.run(sides, set(allow or []), console, as_json, markdown))


def _console() -> Console:
    """The terminal; what goes elsewhere is not folded to its width."""
    console = Console()
    return console if console.is_terminal else Console(width=FILE_WIDTH)


ledger_app = typer.Typer(
    cls=Verbs, no_args_is_help=True, help="Look at a run's ledger: one record for every attempt at a job."
)
app.add_typer(ledger_app, name="ledger")

Run = Annotated[Path, typer.Argument(help="A run's folder, or its ledger.jsonl.")]
TABLE_WIDTH, FILE_WIDTH = 120, 200  # of a ledger's table: at least, and where no terminal limits it


@ledger_app.command("show")
def ledger_show(
    run: Run = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print the records as JSON.")] = False,
) -> None:
    """Show each attempt at each job: CPUs, times, memory, bytes, binding, and what came of it. Unknown is blank.

    Example: gpd ledger show demo-run
    """
    import json

    from gpd import ledger, ledger_verbs

    path = ledger_verbs.find(run)
    if as_json:
        typer.echo(json.dumps(ledger_verbs.records(path), indent=2, ensure_ascii=False))
    else:
        width = max(TABLE_WIDTH, Console().width) if Console().is_terminal else FILE_WIDTH
        Console(width=width).print(ledger_verbs.table(ledger.read_ledger(path)))


@ledger_app.command("check")
def ledger_check(run: Run = Path()) -> None:
    """Check a run's records against their schema, and that no two jobs shared a CPU; 1 where something is wrong.

    Example: gpd ledger check demo-run
    """
    from gpd import ledger_verbs

    checked = ledger_verbs.check(ledger_verbs.find(run))
    for problem in checked.problems or [ledger_verbs.verdict(checked.attempts)]:
        typer.echo(problem)
    raise typer.Exit(1 if checked.problems else 0)


published_app = typer.Typer(
    cls=Verbs, no_args_is_help=True, help="Look at figures that others published, and check them."
)
app.add_typer(published_app, name="published")


@published_app.command("show")
def published_show(
    sku: Annotated[list[str] | None, typer.Option(help="A CPU's tables (repeatable). Default: list the CPUs.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show published runtimes a step, with totals and genomes a day recomputed from them; or which CPUs there are.

    Example: gpd published show --sku 7763
    """
    from gpd import published, published_verbs

    runs, statements = published.read(), published.read_statements()
    if unknown := [name for name in sku or [] if name not in published.skus(runs)]:
        raise typer.BadParameter(f"{', '.join(unknown)}: the SKUs are {', '.join(published.skus(runs))}")
    if as_json:
        typer.echo(published_verbs.runs_to_json(run for run in runs if not sku or run.sku in sku))
    elif sku:
        for name in sku:
            published_verbs.show_sku(name, runs, statements, Console())
    else:
        published_verbs.show_skus(runs, Console())


@published_app.command("check")
def published_check(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Recompute every published total and genomes-a-day figure from its rows, and list those that do not follow.

    They are others' figures: the exit code is 0 also where some do not follow, and 2 where the tables are broken.

    Example: gpd published check
    """
    from gpd import published, published_verbs

    found = published.figures(published.read())
    if as_json:
        typer.echo(published_verbs.check_to_json(found))
    else:
        published_verbs.show_check(found, Console())
