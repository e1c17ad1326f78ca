"""`gpd demo`: simulate small cohorts, run them, hold results against the truth, and measure a small study."""

import json
import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
import yaml
from rich.console import Console

from gpd.commands import gpd_run, gpd_throughput
from gpd.commands.subcommands import Cores, Terminal, print_grids, terminal
from gpd.errors import GpdError
from gpd.files import write_text
from gpd.paths import ROOT
from gpd.processes import output_of
from gpd.text.grid import Grid, group

DEMO = ROOT / "resources" / "demo"
SIMULATORS = {
    "germline": DEMO / "germline" / "simulate_cohort.py",
    "tuxedo": DEMO / "tuxedo" / "simulate_experiment.py",
}
COMPARISONS = {
    "germline": DEMO / "germline" / "compare_calls.py",
    "tuxedo": DEMO / "tuxedo" / "compare_expression.py",
}
MARK = ".gpd-demo"

# the demo's study: small samples, each called alone, for which VQSR has too few variants
POOL = ("--samples", "4", "--length", "200000")
CALLING = {"calling": "per_sample", "filter": "hard"}
STUDY = {"concurrent_samples": [1, 2, 4], "repeats": 3, "warm_up": 0}


DemoPart = StrEnum("DemoPart", ["GERMLINE", "TUXEDO", "THROUGHPUT"])


def command(
    parts: Annotated[list[DemoPart] | None, typer.Argument(help="Default: each in turn.")] = None,
    directory: Annotated[Path, typer.Option(help="Made anew, a folder a part.", file_okay=False)] = Path("demo-run"),
    seed: Annotated[int, typer.Option(help="The same seed gives the same cohorts.")] = 1,
    cores: Cores = None,
) -> None:
    """Simulate small cohorts, run both pipelines on them, hold results against the truth, and measure a small study.

    Example: gpd demo germline --cores 4
    """
    codes = [
        run_study(directory / name, seed, cores, terminal())
        if name == "throughput"
        else run_pipeline(name, directory / name, seed, cores, Terminal())
        for name in parts or list(DemoPart)
    ]
    raise typer.Exit(max(codes))


def run_pipeline(pipeline: str, directory: Path, seed: int, cores: int | None, console: Console) -> int:
    """Run a pipeline's demo in `directory`, which is made anew; as run.run()."""
    clear(directory)
    console.print(f"Simulating a cohort for the {pipeline} pipeline, seed {seed}, in {directory}", highlight=False)
    simulate(pipeline, directory, seed)
    code = gpd_run.run(pipeline, directory, console, cores, configfiles=[directory / "config.yaml"])
    if code == 0:
        print_grids(console, [against_truth(pipeline, directory)])
    return code


def run_study(directory: Path, seed: int, cores: int | None, console: Console) -> int:
    """Simulate a pool in `directory`, which is made anew, and measure a small study of it; 1 where outputs disagree."""
    clear(directory)
    console.print(f"Simulating a pool of samples for a throughput study, seed {seed}, in {directory}", highlight=False)
    simulate("germline", directory, seed, *POOL)
    config = yaml.safe_load((directory / "config.yaml").read_text(encoding="utf-8"))
    _write_yaml(directory / "config.yaml", config | CALLING)
    pool = {"directory": str(directory), "config": "config.yaml"}
    settings = {"name": "study", "directory": str(directory), "pipelines": {"germline": pool}, "seed": seed} | STUDY
    _write_yaml(directory / "throughput.yaml", settings | {"cores": cores})
    from gpd.lab import study_plan

    return gpd_throughput.measure(study_plan.make_plan(directory / "throughput.yaml"), console)


def _write_yaml(path: Path, content: dict) -> None:
    write_text(path, yaml.safe_dump(content, sort_keys=False))


def clear(directory: Path) -> None:
    """Remove an earlier demo. Raises GpdError where the folder holds anything else."""
    if directory.exists() and any(directory.iterdir()):
        if not (directory / MARK).exists():
            raise GpdError(f"{directory} is no folder of the demo: name another with --directory")
        shutil.rmtree(directory)


def simulate(pipeline: str, directory: Path, seed: int, *options: str) -> None:
    """Write the cohort. Raises GpdError where the simulator says why it can't."""
    command = [sys.executable, str(SIMULATORS[pipeline]), "--output", str(directory), "--seed", str(seed), *options]
    output_of(command, timeout_s=None, name=SIMULATORS[pipeline].name)
    (directory / MARK).touch()


def against_truth(pipeline: str, directory: Path) -> Grid:
    """The results of a run against what was simulated. Raises GpdError where a tool fails."""
    command = [sys.executable, str(COMPARISONS[pipeline]), str(directory)]
    found = json.loads(output_of(command, timeout_s=None, name=COMPARISONS[pipeline].name))
    return Grid(found["caption"], tuple(found["heads"]), (group(found["rows"]),), words=found["words"])
