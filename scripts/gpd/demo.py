"""Simulate a small cohort, run it, and hold its calls against the simulated truth."""

import shutil
import subprocess
import sys
from pathlib import Path

from rich.console import Console

from gpd import cohort, display, workflow
from gpd.truth import compare_calls

SIMULATOR = workflow.ROOT / "resources" / "demo" / "germline" / "simulate_cohort.py"
MARK = ".gpd-demo"


class DemoError(RuntimeError):
    """The demo cannot start; the message is one line."""


def germline(directory: Path, samples: int, seed: int, cores: int | None, console: Console) -> int:
    """Run the germline demo in `directory`, which is made anew; Snakemake's exit code."""
    clear(directory)
    console.print(f"Simulating {samples} samples with seed {seed} in {directory}", highlight=False)
    simulate(directory, samples, seed)
    code = cohort.run("germline", directory, console, cores, configfiles=[directory / "config.yaml"])
    if code == 0:
        console.print(display.truth_table([compare(directory, truth) for truth in truths(directory)]))
    return code


def clear(directory: Path) -> None:
    """Remove an earlier demo. Raises DemoError where the folder holds anything else."""
    if directory.exists() and any(directory.iterdir()):
        if not (directory / MARK).exists():
            raise DemoError(f"{directory} is no folder of the demo: name another with --directory")
        shutil.rmtree(directory)


def simulate(directory: Path, samples: int, seed: int) -> None:
    """Write the cohort. Raises DemoError where the simulator says why it can't."""
    command = [
        sys.executable,
        SIMULATOR,
        "--output",
        directory,
        "--samples",
        str(samples),
        "--seed",
        str(seed),
    ]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise DemoError(f"simulate_cohort.py: {done.stderr.strip()}")
    (directory / MARK).touch()


def truths(directory: Path) -> list[Path]:
    """The truth of every sample of the demo."""
    return sorted(path for path in (directory / "truth").glob("*.vcf.gz") if path.name != "population.vcf.gz")


def compare(directory: Path, truth: Path):
    calls = directory / "results" / "apply_variant_recalibration" / "cohort.vcf.gz"
    return compare_calls(calls, truth, directory / "genome.fa", truth.name.removesuffix(".vcf.gz"))
