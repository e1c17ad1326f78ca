"""Measure how many genomes a day the workflow makes of full cores, against independent pipelines and a baseline script.

    python scripts/bench/throughput.py [--cohorts small large] [--pairs 3] [--seed 1] [--smallest]

Each pair takes the same samples to their calls in three ways: all in one workflow (shared), each in one of its own
with the published study's threads and JVMs as they come (independent), and by baseline.sh, which is what a clever user
would write without any workflow. Ratios are taken within a pair; the median over pairs is held against its bound.
Exits with 1 when a figure is out of bounds. `--smallest` only shows that it works, and that all calls are the same.

On 2 cores a pair takes some 11 minutes with the cohort `small` and 25 with `large`: 110 minutes for 3 of each.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from benches import calls, cohorts, measurements
from benches.measurements import Measurement, timed
from benches.runs import CALLS, run_bench

from gpd.commands import demo
from gpd.lab import runner, single_run
from gpd.lab.snakemake_process import Setup
from gpd.machines import launcher
from gpd.records.run import Settings
from gpd.records.run_spec import INDEPENDENT, SHARED
from gpd.tables import collect

BASELINE = ("bash", str(Path(__file__).with_name("baseline.sh")))
# the script leaves no statistics either, so that all three ways end with the calls
CALLS_ALONE = ("--omit-from", "samtools_stats")
LEAST_UTILISATION, MOST_AGAINST_SCRIPT = 0.95, 1.0
COHORTS = {cohort.name: cohort for cohort in (cohorts.SMALL, cohorts.LARGE, cohorts.TINY)}


@dataclass(frozen=True)
class Bounds:
    """Of shared against independent; and whether HaplotypeCaller does better without the second compiler, too."""

    tiny_data: bool
    least_gain: float
    most_cpu: float


BOUNDS = {
    "small": Bounds(tiny_data=True, least_gain=1.9, most_cpu=0.54),
    "large": Bounds(tiny_data=False, least_gain=1.45, most_cpu=0.72),
    "tiny": Bounds(tiny_data=True, least_gain=1.9, most_cpu=0.54),
}


@dataclass(frozen=True)
class Baseline:
    """A run of the script: wall and CPU seconds, and the folder of its samples."""

    wall_s: float
    cpu_s: float
    folder: Path


def make_plan(cohort: str, folder: Path, pairs: int, seed: int) -> runner.StudyPlan:
    """Lay out the study of both modes over the pool in the folder."""
    config = yaml.safe_load((folder / "pool" / cohorts.CONFIG).read_text()) | demo.CALLING
    config["tiny_data"] = BOUNDS[cohort].tiny_data
    (folder / "pool" / cohorts.CONFIG).write_text(yaml.safe_dump(config))
    settings = {
        "directory": str(folder),
        "pipelines": {"germline": {"directory": str(folder / "pool"), "config": cohorts.CONFIG}},
        "concurrent_samples": [COHORTS[cohort].samples],
        "modes": [SHARED, INDEPENDENT],
        "repeats": pairs,
        "warm_up": 0,
        "seed": seed,
    }
    (folder / "throughput.yaml").write_text(yaml.safe_dump(settings))
    return runner.make_plan(folder / "throughput.yaml")


def measure(cohort: str, folder: Path, pairs: int, seed: int) -> Iterator[Measurement]:
    """Run a cohort's pairs, the script after each shared run, and yield what they came to."""
    COHORTS[cohort].write(folder / "pool", seed)
    timed([*BASELINE, "prepare", str(folder / "pool")])
    plan = make_plan(cohort, folder, pairs, seed)
    scripts: dict[int, Baseline] = {}
    with (folder / "lock").open("w") as lock:
        setup = Setup(
            folder=plan.study.folder.resolve(),
            source=plan.sources["germline"],
            settings=Settings(),
            mem_mb=int(launcher.limits().memory_available_mib),
            keep_results=True,
            lock=lock.fileno(),
            options=CALLS_ALONE,
        )
        single_run.prepare(setup, plan.cores, lambda *_: None)
        for spec in plan.specs:
            print(f"{cohort}: {spec.name}", file=sys.stderr)
            single_run.run(spec, setup, lambda *_: None)
            if spec.mode == SHARED:
                output = folder / f"baseline-{spec.repeat}"
                words = map(str, ("call", folder / "pool", output, plan.cores, BOUNDS[cohort].tiny_data))
                wall_s, cpu_s, _ = timed([*BASELINE, *words])
                scripts[spec.repeat] = Baseline(wall_s, cpu_s, output)
            for alignment in folder.rglob("*.bam"):
                alignment.unlink()
    yield from ratios(cohort, collect.collect(plan.study.folder), scripts)
    yield from differences(plan, scripts)


def ratios(cohort: str, tables: collect.Tables, scripts: Mapping[int, Baseline]) -> Iterator[Measurement]:
    """What the three ways took, and how they compare within each pair."""
    runs = tables.frame("runs").set_index(["mode", "repeat"]).sort_index()
    ours, apart, bounds = runs.loc[SHARED], runs.loc[INDEPENDENT], BOUNDS[cohort]
    n, cores = COHORTS[cohort].samples, ours["cores"].iloc[0]
    script_s, script_cpu_s = zip(*((scripts[r].wall_s, scripts[r].cpu_s) for r in sorted(scripts)), strict=True)
    gain = ours["genomes_per_day"] / apart["genomes_per_day"]
    cpu = ours["os_cpu_s"] / apart["os_cpu_s"]
    rows = [
        ("genomes a day, shared against independent", gain, {"least": bounds.least_gain}),
        ("CPU seconds a sample, shared against independent", cpu, {"most": bounds.most_cpu}),
        ("CPU utilisation, shared", ours["cpu_utilisation"], {"least": LEAST_UTILISATION}),
        ("share of CPU time of other processes, shared", ours["other_cpu_s"] / (cores * ours["makespan_s"]), {}),
        ("makespan against the baseline script", ours["makespan_s"] / script_s, {"most": MOST_AGAINST_SCRIPT}),
        ("CPU seconds against the baseline script", ours["os_cpu_s"] / script_cpu_s, {}),
        ("genomes a day, the baseline script against independent", apart["makespan_s"] / script_s, {}),
        ("baseline script: makespan, s", script_s, {"decimals": 0}),
        ("baseline script: CPU seconds a sample", [s / n for s in script_cpu_s], {"decimals": 0}),
    ]
    for mode, of_mode in ((SHARED, ours), (INDEPENDENT, apart)):
        rows += [
            (f"{mode}: makespan, s", of_mode["makespan_s"], {"decimals": 0}),
            (f"{mode}: CPU seconds a sample", of_mode["os_cpu_s"] / n, {"decimals": 0}),
            (f"{mode}: samples that failed", of_mode["failed"], {"most": 0, "decimals": 0, "of_results": True}),
        ]
    for what, values, traits in rows:
        yield Measurement(f"{cohort}: {what}", tuple(map(float, values)), **traits)


def differences(plan: runner.StudyPlan, scripts: Mapping[int, Baseline]) -> Iterator[Measurement]:
    """How many records differ in alleles, filter or genotypes, between the ways of one pair."""
    folders = {(spec.mode, spec.repeat): plan.study.folder / spec.name for spec in plan.specs}
    found: dict[str, list[calls.Difference]] = {"shared": [], "baseline": []}
    for repeat, script in scripts.items():
        for differing in found.values():
            differing.append(calls.Difference())
        for sample in (member.name for member in plan.sources["germline"].members):
            path = CALLS.format(callset=sample)
            alone = folders[INDEPENDENT, repeat] / "samples" / sample / path
            found["shared"][-1].update(calls.compare(alone, folders[SHARED, repeat] / path))
            found["baseline"][-1].update(calls.compare(alone, script.folder / sample / "calls.vcf.gz"))
    for way, pairs in found.items():
        differing = tuple(each.in_results for each in pairs)
        what = f"calls {way} that differ from the {pairs[0]['records']:,} of independent (beside that: {pairs[0]})"
        yield Measurement(what, differing, most=0, decimals=0, of_results=True)


def main() -> int:
    parser = measurements.parser(__doc__)
    parser.add_argument("--cohorts", nargs="+", choices=sorted(COHORTS), default=["small", "large"])
    parser.add_argument("--pairs", type=int, default=3)
    arguments = parser.parse_args()
    if arguments.smallest:
        vars(arguments).update(cohorts=["tiny"], pairs=1)
    return run_bench(arguments, COHORTS, lambda name, folder: measure(name, folder, arguments.pairs, arguments.seed))


if __name__ == "__main__":
    sys.exit(main())
