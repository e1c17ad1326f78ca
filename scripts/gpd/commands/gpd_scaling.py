"""`gpd scaling`: plan how one step scales over threads, bindings and occupancy, and run what is left of that."""

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from gpd.commands.gpd_throughput import run_runs
from gpd.commands.subcommands import Subcommands, print_grids, print_lines, say, terminal
from gpd.files import own_folder, write_text

if TYPE_CHECKING:
    from gpd.scaling.scaling_study import ScalingStudy

TABLES = "tables"

app = typer.Typer(
    cls=Subcommands, no_args_is_help=True, help="Measure how each step scales: its best number of threads and place."
)


def _study(
    step: Annotated[
        list[str] | None, typer.Option(metavar="STEP", help="A step, or all (repeatable). Default: all.")
    ] = None,
    threads: Annotated[
        str, typer.Option(metavar="N,...", help="Thread counts. Default: 1, 2, 4, ... and all cores.")
    ] = "",
    bindings: Annotated[
        str,
        typer.Option(metavar="NAME,...", help="As compact or scatter-numa-local. Default: compact."),
    ] = "",
    alone: Annotated[
        bool, typer.Option("--alone", help="Only one copy on the node. Default: this and --full.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Only on a fully loaded node.")] = False,
    repeats: Annotated[int, typer.Option(min=1, help="How often each run is measured.")] = 3,
    config: Annotated[
        Path, typer.Option("--config", help="The pipeline's configuration, as seen from --directory.")
    ] = Path("config/config.yaml"),
    directory: Annotated[
        Path, typer.Option(help="Folder that paths in the configuration start from.", exists=True, file_okay=False)
    ] = Path(),
    sample: Annotated[str, typer.Option(help="The sample. Default: the configuration's first.")] = "",
    folder: Annotated[
        Path, typer.Option(help="Where it is run, and where its tables and report are.", file_okay=False)
    ] = Path("runs/scaling"),
    seed: Annotated[int, typer.Option(help="Seed of the order of runs.")] = 1,
    scatter: Annotated[str, typer.Option(help="Scatter of GATK's steps: none, auto or a number of shards.")] = "none",
) -> "ScalingStudy":
    """The study that these options ask for. Raises GpdError."""
    from gpd.lab.pool import read_source
    from gpd.records.run_spec import ALONE, FULL, OCCUPANCIES
    from gpd.records.study import Pool
    from gpd.scaling import scaling_study
    from gpd.scaling.scaling_plan import EVERY_STEP, Options, bindings_of, numbers_of, scatter_of

    options = Options(
        steps=tuple(step or [EVERY_STEP]),
        threads=numbers_of(threads),
        bindings=bindings_of(bindings) or ("compact",),
        occupancies=OCCUPANCIES if alone == full else (ALONE,) if alone else (FULL,),
        repeats=repeats,
        seed=seed,
        scatter=scatter_of(scatter),
    )
    source = read_source(directory, config)
    return scaling_study.make_plan(source, Pool(str(directory), str(config)), sample, options, folder)


def _of_study(command: Callable) -> Callable:
    """A subcommand with the options of _study() before its own; it is called with the study that they ask for."""
    options = inspect.signature(_study).parameters
    _, *own = inspect.signature(command).parameters.values()

    def called(**values: Any) -> None:
        command(_study(**{name: values.pop(name) for name in options}), **values)

    called.__doc__ = command.__doc__
    called.__signature__ = inspect.Signature([*options.values(), *own])  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in (*options.values(), *own)}
    return called


@app.command("plan")
@_of_study
def plan_command(
    study: "ScalingStudy", as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
) -> None:
    """Show which runs there would be, what of them is done, and about how long the rest takes. Nothing runs.

    Example: gpd scaling plan --step haplotype_caller --threads 1,2,4
    """
    from gpd.commands import throughput_display

    if as_json:
        memory = {"memory_mb": study.plan.mem_mb, "left_out": study.left_out}
        say(json.dumps(throughput_display.described(study.plan) | memory, indent=2))
    else:
        _show(study, terminal())


@app.command("run")
@_of_study
def run_command(
    study: "ScalingStudy",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan, which checks the input; run nothing.")
    ] = False,
) -> None:
    """Run each step with each number of threads, alone and on a fully loaded node; write tables, a report, profiles.

    Inputs are made once, by running the pipeline up to the step. Each run runs the step's own rule through the
    launcher. What was cut off, or failed, the same command runs again.

    Example: gpd scaling run --step map_and_sort --threads 1,2,4,8 --bindings compact,scatter-numa
    """
    if dry_run:
        _show(study, terminal())
    else:
        _print_left_out(study, terminal())
        raise typer.Exit(measure(study, terminal()))


def _show(study: "ScalingStudy", console: Console) -> None:
    from gpd.commands import throughput_display

    throughput_display.show_plan(study.plan, console)
    _print_left_out(study, console)


def _print_left_out(study: "ScalingStudy", console: Console) -> None:
    print_lines(console, [f"left out: {line}" for line in study.left_out])


def measure(study: "ScalingStudy", console: Console) -> int:
    """Run what is left of a study, write tables, report and profiles, and print the figures; 1 where a run failed."""
    failed = run_runs(study.plan, console, lambda: _write(study, console))
    _write(study, console)
    print_lines(console, [f"failed: {name}" for name in failed])
    return 1 if failed else 0


def _write(study: "ScalingStudy", console: Console) -> None:
    """Write tables, profiles and report of the runs that have ended, if any have, and print the figures."""
    from gpd.reports import page, report
    from gpd.scaling import profiles, scaling_page, scaling_results
    from gpd.tables import disturbances

    folder, options = study.plan.study.folder, study.options
    found = scaling_results.read(folder)
    if not found.records:
        return
    scaling_results.write(found, folder / TABLES)
    texts = {
        goal: profiles.profile(found.configurations, goal, options.bindings[0], options.scatter)
        for goal in profiles.GOALS
    }
    for goal, text in texts.items():
        if text:
            own_folder((folder / goal.path).parent)
            write_text(folder / goal.path, text)
    write_text(folder / report.HTML, page.render(scaling_page.find(found, texts)))
    print_grids(console, scaling_page.grids(found.configurations))
    print_lines(console, disturbances.lines(run for run in found.runs if not run.warm_up))
    places = [f"{goal.aim}: {folder / goal.path}" for goal, text in texts.items() if text]
    print_lines(console, [f"report: {folder / report.HTML}", f"tables: {folder / TABLES}", *places])
