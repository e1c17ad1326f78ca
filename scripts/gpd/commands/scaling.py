"""`gpd scaling`: plan how one step scales over threads, bindings and occupancy, and run what is left of that."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from gpd.commands.subcommands import Subcommands, say, terminal
from gpd.commands.throughput import run_runs
from gpd.files import own_folder, write_text

if TYPE_CHECKING:
    from gpd.scaling import page
    from gpd.scaling.results import Results
    from gpd.scaling.run import Scaling

TABLES = "tables"
FIGURES = ("step_s", "steps_per_hour", "cpu_s")

app = typer.Typer(
    cls=Subcommands, no_args_is_help=True, help="Measure how each step scales: its best number of threads and place."
)


Step = Annotated[list[str] | None, typer.Option(metavar="STEP", help="A step, or all (repeatable). Default: all.")]
Threads = Annotated[str, typer.Option(metavar="N,...", help="Thread counts. Default: 1, 2, 4, ... and all cores.")]
Bindings = Annotated[
    str,
    typer.Option(metavar="NAME,...", help="As compact or scatter-numa-local. Default: the configuration's own policy."),
]
Alone = Annotated[bool, typer.Option("--alone", help="Only one copy on the node. Default: this and --full.")]
Full = Annotated[bool, typer.Option("--full", help="Only with the node full of copies.")]
Repeats = Annotated[int, typer.Option(min=1, help="How often each run is measured.")]
Config = Annotated[Path, typer.Option("--config", help="The pipeline's configuration, as seen from --directory.")]
Directory = Annotated[
    Path, typer.Option(help="Folder that paths in the configuration start from.", exists=True, file_okay=False)
]
Sample = Annotated[str, typer.Option(help="The sample. Default: the configuration's first.")]
Folder = Annotated[Path, typer.Option(help="Where it is run, and where its tables and report are.", file_okay=False)]
Seed = Annotated[int, typer.Option(help="Seed of the order of runs.")]
Scatter = Annotated[str, typer.Option(help="In how many shards GATK's steps are cut: none, auto or a number.")]

CONFIG, FOLDER = Path("config/config.yaml"), Path("runs/scaling")
REPEATS, SEED = 3, 1


@app.command("plan")
def plan_command(
    step: Step = None,
    threads: Threads = "",
    bindings: Bindings = "",
    alone: Alone = False,
    full: Full = False,
    repeats: Repeats = REPEATS,
    config: Config = CONFIG,
    directory: Directory = Path(),
    sample: Sample = "",
    folder: Folder = FOLDER,
    seed: Seed = SEED,
    scatter: Scatter = "none",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show which runs there would be, what of them is done, and about how long the rest takes. Nothing runs.

    Example: gpd scaling plan --step haplotype_caller --threads 1,2,4
    """
    from gpd.commands import throughput_display

    study = _study(step, threads, bindings, alone, full, repeats, config, directory, sample, folder, seed, scatter)
    if as_json:
        memory = {"memory_mb": study.plan.mem_mb, "left_out": study.left_out}
        say(json.dumps(throughput_display.described(study.plan) | memory, indent=2))
    else:
        _show(study, terminal())


@app.command("run")
def run_command(
    step: Step = None,
    threads: Threads = "",
    bindings: Bindings = "",
    alone: Alone = False,
    full: Full = False,
    repeats: Repeats = REPEATS,
    config: Config = CONFIG,
    directory: Directory = Path(),
    sample: Sample = "",
    folder: Folder = FOLDER,
    seed: Seed = SEED,
    scatter: Scatter = "none",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan, which checks the input; run nothing.")
    ] = False,
) -> None:
    """Run each step with each number of threads, alone and on a fully loaded node; write tables, a report, profiles.

    Inputs are made once, by running the pipeline up to the step. Each run runs the step's own rule through the
    launcher. What was cut off, or failed, the same command runs again.

    Example: gpd scaling run --step map_and_sort --threads 1,2,4,8 --bindings compact,scatter-numa
    """
    study = _study(step, threads, bindings, alone, full, repeats, config, directory, sample, folder, seed, scatter)
    if dry_run:
        _show(study, terminal())
    else:
        _tell_left_out(study, terminal())
        raise typer.Exit(measure(study, terminal()))


def _show(study: "Scaling", console: Console) -> None:
    from gpd.commands import throughput_display

    throughput_display.show_plan(study.plan, console)
    _tell_left_out(study, console)


def _tell_left_out(study: "Scaling", console: Console) -> None:
    for line in study.left_out:
        console.print(f"left out: {line}", highlight=False, markup=False, soft_wrap=True)


def _study(
    steps: list[str] | None,
    threads: str,
    bindings: str,
    alone: bool,
    full: bool,
    repeats: int,
    config: Path,
    directory: Path,
    sample: str,
    folder: Path,
    seed: int,
    scatter: str,
) -> "Scaling":
    """The study that is asked for. Raises GpdError."""
    from gpd.execution.configuration import ConfigurationError
    from gpd.lab.pool import read_source
    from gpd.lab.study import StudyError
    from gpd.records.run_spec import ALONE, FULL, OCCUPANCIES
    from gpd.records.study import Pool
    from gpd.scaling import run
    from gpd.scaling.plan import EVERY_STEP, Asked, bindings_of, numbers_of, pieces_of

    try:
        source = read_source(directory, config)
    except ConfigurationError as error:
        raise StudyError(str(error)) from error
    asked = Asked(
        steps=tuple(steps or [EVERY_STEP]),
        threads=numbers_of(threads),
        bindings=bindings_of(bindings) or (source.config["binding"]["policy"],),
        occupancies=OCCUPANCIES if alone == full else (ALONE,) if alone else (FULL,),
        repeats=repeats,
        seed=seed,
        scatter=pieces_of(scatter),
    )
    return run.make_plan(source, Pool(str(directory), str(config)), sample, asked, folder)


def measure(study: "Scaling", console: Console) -> int:
    """Run what is left of a study, write tables, report and profiles, and print the figures; 1 where a run failed."""
    failed = run_runs(study.plan, console, lambda: _write(study, console))
    _write(study, console)
    for name in failed:
        console.print(f"failed: {name}", highlight=False, markup=False, soft_wrap=True)
    return 1 if failed else 0


def _write(study: "Scaling", console: Console) -> None:
    """Write the tables, profiles and report of what has ended, if anything has, and print the figures."""
    from gpd.scaling import page, results

    folder = study.plan.study.folder
    found = results.read(folder)
    if not found.records:
        return
    results.write(found, folder / TABLES)
    profiles = _write_profiles(found, study)
    report = page.write(page.find(found, profiles), folder)
    console.print(points_table(found))
    places = [f"{profile.aim}: {folder / profile.place}" for profile in profiles if profile.text]
    lines = [f"report: {report}", f"tables: {folder / TABLES}", *places]
    console.print("\n".join(lines), highlight=False, markup=False, soft_wrap=True)


def _write_profiles(found: "Results", study: "Scaling") -> "list[page.Profile]":
    """Write the profile of each goal that a step was measured for, and say what is in it."""
    from gpd.scaling import page, profiles

    written: list[page.Profile] = []
    for goal in profiles.GOALS:
        text = profiles.profile(profiles.rows(found), goal, study.asked.bindings[0], study.asked.scatter)
        place = study.plan.study.folder / goal.profile / profiles.PROFILE
        if text:
            own_folder(place.parent)
            write_text(place, text)
        written.append(page.Profile(goal.aim, text, f"{goal.profile}/{profiles.PROFILE}"))
    return written


def points_table(found: "Results") -> Table:
    """What each configuration came to: means over its repeats, and their standard errors."""
    from gpd.reports.grids import row_dicts
    from gpd.text.formats import number, with_error

    table = Table(title="Mean ± standard error over repeats", title_justify="left")
    for head in ("step", "binding", "occupancy"):
        table.add_column(head)
    for head in ("threads", "copies", "runs", "step, s", "steps/hour", "CPU s", "efficiency", "peak, MiB"):
        table.add_column(head, justify="right")
    for point in row_dicts(found.configurations):
        errors = [with_error(point[f"{name}_mean"], point[f"{name}_se"]) for name in FIGURES]
        table.add_row(
            *(str(point[name]) for name in ("step", "binding", "occupancy", "threads", "copies", "repeats")),
            *(" ".join(filter(None, each)) for each in errors),
            "" if point["efficiency"] is None else f"{number(100 * point['efficiency'])}%",
            number(point["peak_rss_mib"]),
        )
    return table
