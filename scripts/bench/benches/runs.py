"""Runs of the workflow outside of a study: up to some files, and on from there with other settings."""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benches.cohorts import TINY, Experiment, Real, Simulated
from benches.jvms import ALONE
from benches.measurements import Measurement, finish, parser, show, show_machine
from gpd.commands.gpd_run import choose_profile
from gpd.execution import workflow
from gpd.lab.pool import Source
from gpd.lab.snakemake_process import LEDGER
from gpd.machines import launcher
from gpd.records.ledger import GATHER, Attempt, read_ledger
from gpd.tables.rows import span_s

CALLS = "results/hard_filter/{callset}.vcf.gz"
CALLS_OF = {  # the final ones by `filter`
    "hard": CALLS,
    "none": "results/genotype_gvcfs/{callset}.vcf.gz",
    "vets": "results/score_variant_annotations/{callset}.vcf.gz",
    "vqsr": "results/apply_variant_recalibration/{callset}.vcf.gz",
}


@dataclass(frozen=True)
class BenchRun:
    """A run that ended well: its jobs, CPU seconds as the system counts them, and wall time."""

    attempts: tuple[Attempt, ...]
    cpu_s: float
    wall_s: float

    @property
    def makespan_s(self) -> float:
        """From the first job's start to the last one's end."""
        if (span := span_s(self.attempts)) is None:
            sys.exit("a run has no makespan: the clocks of its jobs are not one")
        return span

    def shards(self, rule: str) -> int:
        """How many shards a job of the rule had, at most; jobs by interval are shards of one."""
        shards: dict[object, set[str | None]] = {}
        for attempt in self.attempts:
            if attempt.rule == rule:
                names = sorted(attempt.wildcards.keys() - {"interval"})
                job = tuple(attempt.wildcards[name] for name in names)
                shards.setdefault(job, set()).add(attempt.shard or attempt.wildcards.get("interval"))
        return max(max(1, len(of_job - {None, GATHER})) for of_job in shards.values())


@dataclass(frozen=True)
class Runner:
    """Runs samples of a pool on all cores with the profile that `gpd run` takes, each run in a folder of its own."""

    source: Source
    samples: tuple[str, ...]
    settings: dict[str, object]

    @property
    def calls(self) -> list[str]:
        """The final call sets."""
        callsets = ["cohort"] if self.settings["calling"] == "joint" else self.samples
        return [CALLS_OF[self.settings["filter"]].format(callset=callset) for callset in callsets]

    def begin(self, folder: Path, patterns: Iterable[str]) -> BenchRun:
        """Run from the reads to these files of each sample or unit, and keep them."""
        units = [(row["sample_name"], row["unit_name"]) for row in self.source.units]
        files = [p.format(sample=s, unit=u) for p in patterns for s, u in units if s in self.samples]
        return self._run(folder, list(dict.fromkeys(files)), {})

    def go_on(self, before: Path, folder: Path, targets: Sequence[str] = (), **settings: object) -> BenchRun:
        """Run from a copy of an earlier run's folder to these files, else to the calls."""
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(before, folder, symlinks=True)
        return self._run(folder, targets or self.calls, settings)

    def _run(self, folder: Path, targets: Sequence[str], settings: dict[str, object]) -> BenchRun:
        self.source.lay_out(self.samples, folder, **self.settings | settings)
        earlier = len(read_ledger(folder / LEDGER))
        limits = launcher.limits()
        profile, options = choose_profile(len(self.samples), limits.cpus)
        memory = int(limits.memory_available_mib)
        command = workflow.command(folder, limits.cpus, memory, profile, [], ["--", *targets], options)
        began = time.perf_counter()
        finished = workflow.run(command, folder / workflow.LOG, lambda state: None)
        wall_s = time.perf_counter() - began
        if finished.exit_code:
            sys.exit("\n".join([*finished.output[-30:], f"{folder}: the workflow failed: its last lines are above"]))
        return BenchRun(tuple(read_ledger(folder / LEDGER)[earlier:]), finished.cpu.below_s, wall_s)


def recorded(attempt: Attempt, figure: str) -> float:
    """A figure of a job by its name in the record; one whose record has none ends the bench."""
    value: float | None = getattr(attempt, figure)
    if value is None:
        sys.exit(f"{attempt.job} ({attempt.rule}): its record has no {figure}")
    return value


def cpu_s(attempt: Attempt) -> float:
    return recorded(attempt, "cpu_s")


def arguments_of(description: str, of_cohorts: Mapping[str, Simulated | Real]) -> argparse.Namespace:
    """The arguments of a bench that takes all cohorts but `tiny`, and that one alone with --smallest."""
    made = parser(description)
    everything = [name for name in of_cohorts if name != TINY.name]
    made.add_argument("--cohorts", nargs="+", choices=list(of_cohorts), default=everything)
    arguments = made.parse_args()
    if arguments.smallest:
        arguments.cohorts = [TINY.name]
    return arguments


def run_bench(
    arguments: argparse.Namespace,
    of_cohorts: Mapping[str, Simulated | Real | Experiment],
    measure: Callable[[str, Path], Iterator[Measurement]],
    outputs: Mapping[str, Sequence[str]] | None = None,
    pipeline: str = "germline",
) -> int:
    """Measure each cohort of the arguments in a folder of its own; return the bench's exit code.

    `outputs`, filled meanwhile, are as finish() takes them. The tools of .venv go before those of the system, as in
    `make`. With --smallest JVMs start quickly.
    """
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    if arguments.smallest:
        os.environ["_JAVA_OPTIONS"] = ALONE["C1"]
    show_machine()
    holds = True
    for name in arguments.cohorts:
        cohort = of_cohorts[name]
        if isinstance(cohort, Real) and not cohort.data.is_dir():
            print(f"{cohort}: not here: ../shared/data/{name}", flush=True)
            continue
        print(cohort, flush=True)
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            holds &= show(measure(name, Path(folder)), arguments.smallest)
    return finish(arguments, holds, pipeline, outputs)
