"""`gpd benchmark`: one command, one figure: a standard workload, simulated here and measured."""

import re
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
import yaml
from rich.console import Console

from gpd.commands import gpd_throughput
from gpd.commands.subcommands import Subcommands, print_lines, say, terminal
from gpd.errors import GpdError, Interrupted
from gpd.files import replace as replace_file
from gpd.files import write_text
from gpd.paths import ROOT
from gpd.text.formats import counted, listed

if TYPE_CHECKING:
    from gpd.benchmark.workload import StandardWorkload
    from gpd.lab.study_state import StudyPlan

PACKAGE = "session-{}.gpd.tar.gz"
INPUTS, LOCK = "inputs", ".lock"
TEMPLATE = """\
# What packages can't tell. docs/how-to/benchmark-a-machine.md has every key.
machine: ""       # what a reader calls it, such as: two EPYC 9654, 768 GiB, in our rack
submitter: ""     # your name
interest: ""      # what you have to do with the makers or sellers of the machine, or: none
division: closed  # open, with `differs:`, where anything is not as the workload has it
"""
GO_ON = "nothing is lost: the same command goes on"

app = typer.Typer(
    cls=Subcommands,
    no_args_is_help=True,
    help="Measure a standard workload: one figure, comparable with that of any machine.",
)
Directory = Annotated[
    Path, typer.Option(help="Where inputs and results go, a folder a workload.", file_okay=False, show_default=True)
]
Session = Annotated[int, typer.Option(min=1, help="Another number measures anew, with the same inputs.")]


@app.command()
def quick(directory: Directory = Path("benchmark-run"), session: Session = 1) -> None:
    """Measure the germline pipeline on samples of a simulated genome; nothing is downloaded or to be set.

    Ctrl-C is safe: the same command goes on. The exit code is 1 where samples that ran in several runs gave different
    results.

    Example: gpd benchmark quick
    """
    raise typer.Exit(run("quick", directory, session, terminal()))


@app.command("quick-rna")
def quick_rna(directory: Directory = Path("benchmark-run"), session: Session = 1) -> None:
    """The same of the Tuxedo pipeline, on samples of RNA of two conditions.

    Example: gpd benchmark quick-rna
    """
    raise typer.Exit(run("quick-rna", directory, session, terminal()))


@app.command()
def full(directory: Directory = Path("benchmark-run"), session: Session = 1) -> None:
    """The same of a genome of human size at 30x: hours, and disks for it.

    Example: gpd benchmark full --directory /scratch/benchmark
    """
    raise typer.Exit(run("full", directory, session, terminal()))


@app.command("tiny-rna", hidden=True)
def tiny_rna(directory: Directory = Path("benchmark-run"), session: Session = 1) -> None:
    """What `tiny` is, of the Tuxedo pipeline.

    Example: gpd benchmark tiny-rna
    """
    raise typer.Exit(run("tiny-rna", directory, session, terminal()))


@app.command(hidden=True)
def tiny(directory: Directory = Path("benchmark-run"), session: Session = 1) -> None:
    """The same of a workload that tells nothing of a machine, to try out the command.

    Example: gpd benchmark tiny
    """
    raise typer.Exit(run("tiny", directory, session, terminal()))


def run(kind: str, directory: Path, session: int, console: Console) -> int:
    """Make a workload's inputs, measure what is left of a session, and print its figure; 1 where outputs disagree."""
    from gpd.benchmark import calibrating, circumstances, workload
    from gpd.lab.study_state import StudyState
    from gpd.machines import launcher, this_host

    given = workload.read(workload.CURRENT[kind])
    cores = launcher.usable_cores(smt=False)
    folder = directory.absolute() / given.name
    folder.mkdir(parents=True, exist_ok=True)
    numbers = listed([str(n) for n in given.concurrent(cores)])
    print_lines(console, [f"{given.name}: N = {numbers} on {counted(cores, 'core')}, {given.settings.takes}"])
    print_lines(console, drafts(given))
    print_lines(console, disturbing(circumstances.of_machine(this_host.look({"work": folder}))))
    given = make_inputs(given, cores, folder, console)
    plan = make_plan(given, cores, folder, session)
    study = plan.study.folder
    if StudyState(plan).left:
        calibrating.note(study)
    code = gpd_throughput.measure(plan, console, lambda: calibrating.note(study))
    conclude(given, study, folder / PACKAGE.format(session), console)
    return code


def drafts(given: "StandardWorkload") -> list[str]:
    """What is to be known of a workload whose inputs are not fixed."""
    line = f"{given.name} is a draft: the repository has no digests of its inputs; the registry takes no result of it"
    return [line] if given.is_draft else []


def disturbing(lines: Iterable[str]) -> list[str]:
    return [f"this disturbs a measurement: {line}" for line in lines]


def make_inputs(given: "StandardWorkload", cores: int, folder: Path, console: Console) -> "StandardWorkload":
    """Simulate the inputs that are missing, hold all of them against their digests, and return the workload with these.

    Those of a draft are of what was first made here.
    """
    from gpd.benchmark import workload_inputs
    from gpd.commands import run_display
    from gpd.execution import interruption, run_lock

    samples, place = given.samples(cores), folder / INPUTS
    place.mkdir(exist_ok=True)
    workload_inputs.find_room(given, len(samples), place)
    try:
        with interruption.catching(), run_lock.hold(folder / LOCK, folder, "gpd benchmark"):
            print_lines(console, [f"{given.name}: simulating {counted(len(samples), 'sample')}"])
            with run_display.progress(console) as display:
                workload_inputs.make(given, samples, place, cores, lambda _, state: display.changed(state))
            print_lines(console, [f"{given.name}: holding the inputs against their digests"])
            fixed = workload_inputs.drafted(given, samples, place) if given.is_draft else given
            workload_inputs.verify(fixed, samples, place)
            return fixed
    except Interrupted as interrupted:
        raise Interrupted(interrupted.signum, ["the inputs"], GO_ON) from interrupted


def make_plan(given: "StandardWorkload", cores: int, folder: Path, session: int) -> "StudyPlan":
    """The study that a session is, with the digests of the inputs that were verified."""
    from gpd.benchmark import workload_inputs
    from gpd.lab import study_plan

    own = folder / f"session-{session}"
    own.mkdir(exist_ok=True)
    settings = given.study(cores, str(own), str(folder / INPUTS))
    write_text(own / "throughput.yaml", yaml.safe_dump(settings, sort_keys=False))
    plan = study_plan.make_plan(own / "throughput.yaml")
    return replace(plan, sources={name: workload_inputs.known_source(one, given) for name, one in plan.sources.items()})


def conclude(given: "StandardWorkload", study: Path, file: Path, console: Console) -> None:
    """Package a session, say what disturbed it, and last its figure in a line."""
    from gpd.benchmark import circumstances, result, workload
    from gpd.packages import pack
    from gpd.records.calibration import read_calibrations
    from gpd.tables import collect

    tables = collect.of_one_machine(study)
    content = pack.make(study).to_bytes()
    replace_file(file, lambda unfinished: unfinished.write_bytes(content))
    hosts = [record.host for record in tables.records if record.host]
    of_machine = dict.fromkeys(line for host in hosts for line in circumstances.lasting(host))
    of_session = circumstances.of_session(read_calibrations(study))
    print_lines(console, disturbing([*of_machine, *of_session]))
    print_lines(console, drafts(workload.read(given.name)))
    print_lines(console, [f"package: {file}"])
    found = result.of_tables(tables)
    say(found.line(given.name) if found else f"{given.name}: no sample succeeded")


# ---- the registry ------------------------------------------------------------------------------------------


@app.command()
def submit(
    name: Annotated[str, typer.Argument(help="The entry's name: small letters, digits and '-'.")],
    directory: Directory = Path("benchmark-run"),
    workload: Annotated[str, typer.Option(help="Which workload's sessions.")] = "quick",
) -> None:
    """Check your sessions as the registry will, and write the entry for a pull request.

    The first call writes entry.yaml, which you fill in: what packages can't tell. The exit code is 1 where a check
    fails.

    Example: gpd benchmark submit epyc-9654
    """
    from gpd.benchmark import registry
    from gpd.benchmark.workload import CURRENT

    if not re.fullmatch(registry.NAME, name):
        raise GpdError(f"{name}: a name of small letters, digits and '-' is needed, such as epyc-9654")
    folder = directory / CURRENT.get(workload, workload)
    if not any(folder.glob(f"*{registry.SUFFIX}")):
        raise GpdError(f"{folder}: no session has ended here: gpd benchmark {workload}")
    if not (folder / registry.ENTRY).exists():
        write_text(folder / registry.ENTRY, TEMPLATE)
        raise GpdError(f"{folder / registry.ENTRY}: written: fill it in, and start this command again")
    target = registry.FOLDER / name
    refuse_taken(target, folder)
    table, rows = new_workflows(folder)
    before = table.read_text(encoding="utf-8") if table.exists() else ""
    if rows:
        write_text(table, before + "".join("\t".join(row) + "\n" for row in rows))
    code = judge(folder, terminal())
    if code and rows:
        write_text(table, before)
    elif code == 0:
        target.mkdir(parents=True, exist_ok=True)
        for path in (folder / registry.ENTRY, *sorted(folder.glob(f"*{registry.SUFFIX}"))):
            shutil.copyfile(path, target / path.name)
        places = " ".join(str(path.relative_to(ROOT)) for path in [target, *([table] if rows else [])])
        say(f"{target}: written; to submit it:\n  git checkout -b registry-{name}\n  git add {places}")
        say(f"  git commit -m 'Registry: {name}'\n  git push, and open a pull request")
    raise typer.Exit(code)


def refuse_taken(target: Path, folder: Path) -> None:
    """An entry is of one workload: raise GpdError where this name is that of another's."""
    from gpd.benchmark import registry, submission

    named = (submission.Session.read(path).workload.name for path in target.glob(f"*{registry.SUFFIX}"))
    if others := sorted(set(named) - {folder.name}):
        raise GpdError(f"{target}: an entry of {listed(others)}: take another name, as {target.name}-{folder.name}")


def new_workflows(folder: Path) -> tuple[Path, list[tuple[str, str, str]]]:
    """A workload's table of workflows, and rows of this clone's, where sessions are the first of it.

    Its reviewer says whether figures of it are comparable with those before.
    """
    from gpd.benchmark import registry, submission, workload
    from gpd.lab.provenance import workflow_digest

    sessions = [submission.Session.read(path) for path in sorted(folder.glob(f"*{registry.SUFFIX}"))]
    table = workload.FOLDER / folder.name / workload.WORKFLOWS
    return table, submission.unknown_workflows(sessions, workflow_digest()) if table.exists() else []


@app.command()
def check(
    folders: Annotated[list[Path], typer.Argument(help="Folders with entry.yaml and packages.", file_okay=False)],
) -> None:
    """Hold entries of the registry against its checks, as the project does with each pull request.

    The exit code is 1 where a check fails.

    Example: gpd benchmark check resources/registry/*
    """
    raise typer.Exit(max(judge(folder, terminal()) for folder in folders))


def judge(folder: Path, console: Console) -> int:
    """Print an entry's checks, and what stands on its result; 1 where one fails."""
    from gpd.benchmark import registry, submission
    from gpd.commands import gpd_package
    from gpd.packages.check_verdicts import FAILS

    entry = registry.read_entry(folder / registry.ENTRY)
    sessions = [submission.Session.read(path) for path in sorted(folder.glob(f"*{registry.SUFFIX}"))]
    verdicts = submission.judge(entry, sessions)
    gpd_package.show(verdicts, console)
    if any(verdict.state == FAILS for verdict in verdicts):
        return 1
    print_lines(console, [f"stands on the result: {line}" for line in submission.noise(sessions)])
    return 0
