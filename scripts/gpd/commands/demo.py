"""`gpd demo`: simulate small cohorts, run them, hold results against the truth, and measure a small study."""

import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
import yaml
from rich.console import Console

from gpd.commands import run, run_display, throughput
from gpd.commands.subcommands import Cores, Terminal, terminal
from gpd.errors import GpdError
from gpd.files import write_text
from gpd.paths import ROOT
from gpd.processes import output_of
from gpd.truth.calls import Comparison, compare_calls
from gpd.truth.expression import ExpressionComparison, compare_expression

SIMULATORS = {
    "germline": ROOT / "resources" / "demo" / "germline" / "simulate_cohort.py",
    "tuxedo": ROOT / "resources" / "demo" / "tuxedo" / "simulate_experiment.py",
}
MARK = ".gpd-demo"

# the demo's study: small samples, each called alone, for which VQSR has too few variants
POOL = ("--samples", "4", "--length", "200000")
CALLING = {"calling": "per_sample", "filter": "hard"}
STUDY = {"concurrent_samples": [1, 2, 4], "repeats": 3, "warm_up": 0}


Part = StrEnum("Part", ["GERMLINE", "TUXEDO", "THROUGHPUT"])


def command(
    parts: Annotated[list[Part] | None, typer.Argument(help="Default: each in turn.")] = None,
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
        for name in parts or list(Part)
    ]
    raise typer.Exit(max(codes))


def run_pipeline(pipeline: str, directory: Path, seed: int, cores: int | None, console: Console) -> int:
    """Run a pipeline's demo in `directory`, which is made anew; as run.run()."""
    clear(directory)
    console.print(f"Simulating a cohort for the {pipeline} pipeline, seed {seed}, in {directory}", highlight=False)
    simulate(pipeline, directory, seed)
    code = run.run(pipeline, directory, console, cores, configfiles=[directory / "config.yaml"])
    if code == 0:
        console.print(COMPARE[pipeline](directory))
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

    return throughput.measure(study_plan.make_plan(directory / "throughput.yaml"), console)


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


def compare_germline(directory: Path) -> list[Comparison]:
    """Each sample's filtered calls against its truth."""
    calls = directory / "results" / "apply_variant_recalibration" / "cohort.vcf.gz"
    truths = sorted(path for path in (directory / "truth").glob("*.vcf.gz") if path.name != "population.vcf.gz")
    names = [(truth, truth.name.removesuffix(".vcf.gz")) for truth in truths]
    return [compare_calls(calls, truth, directory / "genome.fa", name) for truth, name in names]


def compare_tuxedo(directory: Path) -> ExpressionComparison:
    """The significant genes against those that were changed."""
    results = directory / "results" / "differential_expression" / "gene_exp.diff"
    return compare_expression(results, directory / "truth" / "genes.tsv")


COMPARE = {
    "germline": lambda folder: run_display.truth_table(compare_germline(folder)),
    "tuxedo": lambda folder: run_display.expression_table(compare_tuxedo(folder)),
}
