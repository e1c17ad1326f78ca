"""Measure how many genomes a day the workflow makes of full cores, against independent pipelines and a baseline script.

    python scripts/bench/throughput.py [--cohorts small large] [--pairs 3] [--seed 1] [--smallest]

Each pair takes the same samples to their calls in three ways: all in one workflow (shared), each in one of its own
with the published study's threads and JVMs as they come (independent), and by baseline.sh, which is what a clever user
would write without any workflow. Ratios are taken within a pair; the median over pairs is held against its bound.
Exits with 1 when a figure is out of bounds. `--smallest` only shows that it works, and that all calls are the same.

On 2 cores a pair takes some 11 minutes with the cohort `small` and 25 with `large`: 110 minutes for 3 of each.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path

import yaml
from benches import calls, cohorts, figures
from benches.figures import Figure
from benches.runs import set_up

from gpd.commands import demo
from gpd.lab import runner, single_run
from gpd.machines import launcher
from gpd.records.run import Settings
from gpd.records.run_spec import INDEPENDENT, SHARED
from gpd.tables import collect

BASELINE = Path(__file__).with_name("baseline.sh")
LONG_WALK = "HaplotypeCaller"
WALKERS = ("BaseRecalibrator", "ApplyBQSR", LONG_WALK, "GenotypeGVCFs", "VariantFiltration")
# the script leaves no statistics either, so that all three ways end with the calls
CALLS_ALONE = ("--omit-from", "samtools_stats")
LEAST_UTILISATION, MOST_AGAINST_SCRIPT = 0.95, 1.0


@dataclass(frozen=True)
class Contest:
    """A cohort, the walkers for which the script's author takes the first compiler alone, and what is to be reached."""

    cohort: cohorts.Simulated
    first_compiler: tuple[str, ...]
    least_gain: float
    most_cpu: float


CONTESTS = {
    "small": Contest(cohorts.SMALL, WALKERS, least_gain=1.9, most_cpu=0.54),
    "large": Contest(cohorts.LARGE, tuple(w for w in WALKERS if w != LONG_WALK), least_gain=1.45, most_cpu=0.72),
    "tiny": Contest(cohorts.TINY, WALKERS, least_gain=1.9, most_cpu=0.54),
}


@dataclass(frozen=True)
class ByHand:
    """A run of the script: wall and CPU seconds, and where each sample's calls are."""

    wall_s: float
    cpu_s: float
    folder: Path

    def calls(self, sample: str) -> Path:
        return self.folder / sample / "calls.vcf.gz"


def baseline(*words: object) -> tuple[float, float]:
    """Run the script; wall seconds, and CPU seconds of all that it started. Ends the bench where it failed."""
    began = time.monotonic()
    process = subprocess.Popen(["bash", BASELINE, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    complaint = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{BASELINE.name} {words[0]} failed:\n{complaint.decode(errors='replace')}")
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime


def make_plan(contest: Contest, folder: Path, pairs: int, seed: int) -> runner.Plan:
    """Lay out the study of both modes over the pool in the folder."""
    config = yaml.safe_load((folder / "pool" / cohorts.CONFIG).read_text()) | demo.CALLING
    config["tiny_data"] = LONG_WALK in contest.first_compiler
    (folder / "pool" / cohorts.CONFIG).write_text(yaml.safe_dump(config))
    settings = {
        "directory": str(folder),
        "pipelines": {"germline": {"directory": str(folder / "pool"), "config": cohorts.CONFIG}},
        "concurrent_samples": [contest.cohort.samples],
        "modes": [SHARED, INDEPENDENT],
        "repeats": pairs,
        "warm_up": 0,
        "seed": seed,
    }
    (folder / "throughput.yaml").write_text(yaml.safe_dump(settings))
    return runner.make_plan(folder / "throughput.yaml")


def prepare(contest: Contest, folder: Path, seed: int) -> None:
    """Simulate the pool; indexes and class-data archives of the script, which are in no timing."""
    contest.cohort.write(folder / "pool", seed)
    cohorts.TINY.write(folder / "tiny", seed)
    for cohort in ("pool", "tiny"):
        baseline("prepare", folder / cohort)
    baseline("classes", folder / "tiny", folder / "classes")


def set_up_runs(plan: runner.Plan, lock: int) -> single_run.Setup:
    """What all runs have in common; what they share is made."""
    setup = single_run.Setup(
        folder=plan.study.folder.resolve(),
        source=plan.sources["germline"],
        settings=Settings(),
        mem_mb=int(launcher.limits().memory_available_mib),
        keep_results=True,
        lock=lock,
        options=CALLS_ALONE,
    )
    single_run.prepare(setup, plan.cores, lambda *_: None)
    return setup


def measure(contest: Contest, folder: Path, pairs: int, seed: int) -> Iterator[Figure]:
    """Run a cohort's pairs, the script after each shared run, and yield what they came to."""
    prepare(contest, folder, seed)
    plan = make_plan(contest, folder, pairs, seed)
    scripts: dict[int, ByHand] = {}
    with (folder / "lock").open("w") as lock:
        setup = set_up_runs(plan, lock.fileno())
        for spec in plan.specs:
            print(f"{contest.cohort.name}: {spec.name}", file=sys.stderr)
            single_run.run(spec, setup, lambda *_: None)
            if spec.mode == SHARED:
                output, lean = folder / f"baseline-{spec.repeat}", " ".join(contest.first_compiler)
                took = baseline("call", folder / "pool", folder / "classes", output, plan.cores, lean)
                scripts[spec.repeat] = ByHand(*took, output)
            for alignment in folder.rglob("*.bam"):
                alignment.unlink()
    yield from ratios(contest, collect.collect(plan.study.folder), scripts)
    yield from agreements(plan, scripts)


def ratios(contest: Contest, tables: collect.Tables, scripts: dict[int, ByHand]) -> Iterator[Figure]:
    """What the three ways took, and how they compare within each pair."""
    runs = tables.frame("runs").set_index(["mode", "repeat"]).sort_index()
    ours, apart, hand = runs.loc[SHARED], runs.loc[INDEPENDENT], [scripts[r] for r in sorted(scripts)]
    n, cores = contest.cohort.samples, ours["cores"].iloc[0]

    def figure(what: str, values, **traits) -> Figure:
        return Figure(f"{contest.cohort.name}: {what}", tuple(map(float, values)), **traits)

    hand_s, hand_cpu_s = [each.wall_s for each in hand], [each.cpu_s for each in hand]
    gain = ours["genomes_per_day"] / apart["genomes_per_day"]
    yield figure("genomes a day, shared against independent", gain, least=contest.least_gain)
    cpu = ours["os_cpu_s"] / apart["os_cpu_s"]
    yield figure("CPU seconds a sample, shared against independent", cpu, most=contest.most_cpu)
    yield figure("CPU utilisation, shared", ours["cpu_utilisation"], least=LEAST_UTILISATION)
    system = ours["os_cpu_s"] / (cores * ours["wall_s"])
    yield figure("CPU utilisation, shared, of all its processes from start to end", system)
    for whose, column in (("the hypervisor gave to others", "steal_s"), ("other processes took", "foreign_cpu_s")):
        yield figure(f"share of the CPUs' time that {whose}, shared", ours[column] / (cores * ours["makespan_s"]))
    yield figure("makespan against the baseline script", ours["makespan_s"] / hand_s, most=MOST_AGAINST_SCRIPT)
    yield figure("wall time, with Snakemake's own, against the baseline script", ours["wall_s"] / hand_s)
    yield figure("CPU seconds against the baseline script", ours["os_cpu_s"] / hand_cpu_s)
    yield figure("genomes a day, the baseline script against independent", apart["makespan_s"] / hand_s)
    yield figure("CPU seconds a sample, the baseline script against independent", hand_cpu_s / apart["os_cpu_s"])
    for mode, of_mode in ((SHARED, ours), (INDEPENDENT, apart)):
        yield figure(f"{mode}: makespan, s", of_mode["makespan_s"], decimals=0)
        yield figure(f"{mode}: CPU seconds a sample", of_mode["os_cpu_s"] / n, decimals=0)
        yield figure(f"{mode}: samples that failed", of_mode["failed"], most=0, decimals=0, of_results=True)
    yield figure("baseline script: makespan, s", hand_s, decimals=0)
    yield figure("baseline script: CPU seconds a sample", [s / n for s in hand_cpu_s], decimals=0)
    yield figure("baseline script: CPU utilisation", [c / (cores * s) for s, c in zip(hand_s, hand_cpu_s, strict=True)])


def agreements(plan: runner.Plan, scripts: dict[int, ByHand]) -> Iterator[Figure]:
    """How many records differ in alleles, filter or genotypes, between the ways of one pair."""
    folders = {(spec.mode, spec.repeat): plan.study.folder / spec.name for spec in plan.specs}
    samples = [member.name for member in plan.sources["germline"].members]
    for name, path in (
        ("shared", lambda repeat, sample: folders[SHARED, repeat] / final(sample)),
        ("baseline", lambda repeat, sample: scripts[repeat].calls(sample)),
    ):
        found = []
        for repeat in scripts:
            alone = folders[INDEPENDENT, repeat] / "samples"
            pairs = [(alone / sample / final(sample), path(repeat, sample)) for sample in samples]
            found.append(reduce(add, [calls.compare(first, second) for first, second in pairs]))
        differing = tuple(each.in_results for each in found)
        what = f"calls {name} that differ from the {found[0].records:,} of independent (beside that: {found[0]})"
        yield Figure(what, differing, most=0, decimals=0, of_results=True)


def final(sample: str) -> Path:
    return Path("results") / "hard_filter" / f"{sample}.vcf.gz"


def main() -> int:
    parser = figures.parser(__doc__)
    parser.add_argument("--cohorts", nargs="+", choices=sorted(CONTESTS), default=["small", "large"])
    parser.add_argument("--pairs", type=int, default=3)
    arguments = parser.parse_args()
    if arguments.smallest:
        vars(arguments).update(cohorts=["tiny"], pairs=1)
    set_up(arguments.smallest)
    figures.show_machine(arguments.smallest)
    holds = []
    for name in arguments.cohorts:
        print(CONTESTS[name].cohort, flush=True)
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            found = measure(CONTESTS[name], Path(folder), arguments.pairs, arguments.seed)
            holds.append(figures.show(found, arguments.smallest))
    return figures.finish(arguments, all(holds))


if __name__ == "__main__":
    sys.exit(main())
