"""Simulate small cohorts, run them, hold what comes out against the simulated truth, and measure a small study."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml
from rich.console import Console
from rich.table import Table

from gpd import cohort, display, workflow
from gpd.errors import GpdError
from gpd.expression import ExpressionComparison, compare_expression
from gpd.lab import throughput, throughput_verbs
from gpd.truth import Comparison, compare_calls

RESOURCES = workflow.ROOT / "resources" / "demo"
MARK = ".gpd-demo"

# the demo's study: small samples, each called alone, for which VQSR has too few variants
POOL = ("--samples", "4", "--length", "200000")
CALLING = {"calling": "per_sample", "filter": "hard"}
STUDY = {"concurrent_samples": [1, 2], "repeats": 2, "warm_up": 0}


class DemoError(GpdError):
    """The demo cannot start; the message is one line."""


@dataclass(frozen=True)
class Demo:
    """One pipeline's demo: what simulates its cohort, and what compares its results with the truth."""

    simulator: Path
    compare: Callable[[Path], Table]


def run(pipeline: str, directory: Path, seed: int, cores: int | None, console: Console) -> int:
    """Run a pipeline's demo in `directory`, which is made anew; as cohort.run()."""
    demo = DEMOS[pipeline]
    clear(directory)
    console.print(f"Simulating a cohort for the {pipeline} pipeline, seed {seed}, in {directory}", highlight=False)
    simulate(demo.simulator, directory, seed)
    code = cohort.run(pipeline, directory, console, cores, configfiles=[directory / "config.yaml"])
    if code == 0:
        console.print(demo.compare(directory))
    return code


def run_study(directory: Path, seed: int, cores: int | None, console: Console) -> int:
    """Simulate a pool in `directory`, which is made anew, and measure a small study of it; 1 where outputs disagree."""
    clear(directory)
    console.print(f"Simulating a pool of samples for a throughput study, seed {seed}, in {directory}", highlight=False)
    simulate(DEMOS["germline"].simulator, directory, seed, *POOL)
    config = yaml.safe_load((directory / "config.yaml").read_text(encoding="utf-8"))
    _write_yaml(directory / "config.yaml", config | CALLING)
    pool = {"directory": str(directory), "config": "config.yaml"}
    settings = {"name": "study", "directory": str(directory), "pipelines": {"germline": pool}, "seed": seed} | STUDY
    _write_yaml(directory / "throughput.yaml", settings | {"cores": cores})
    return throughput_verbs.run(throughput.make_plan(directory / "throughput.yaml"), console)


def _write_yaml(path: Path, content: dict) -> None:
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def clear(directory: Path) -> None:
    """Remove an earlier demo. Raises DemoError where the folder holds anything else."""
    if directory.exists() and any(directory.iterdir()):
        if not (directory / MARK).exists():
            raise DemoError(f"{directory} is no folder of the demo: name another with --directory")
        shutil.rmtree(directory)


def simulate(simulator: Path, directory: Path, seed: int, *options: str) -> None:
    """Write the cohort. Raises DemoError where the simulator says why it can't."""
    command = [sys.executable, simulator, "--output", directory, "--seed", str(seed), *options]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise DemoError(f"{simulator.name}: {done.stderr.strip()}")
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


DEMOS = {
    "germline": Demo(
        RESOURCES / "germline" / "simulate_cohort.py", lambda folder: display.truth_table(compare_germline(folder))
    ),
    "tuxedo": Demo(
        RESOURCES / "tuxedo" / "simulate_experiment.py",
        lambda folder: display.expression_table(compare_tuxedo(folder)),
    ),
}
