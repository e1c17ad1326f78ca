"""Measure what scattering a sample's or a cohort's steps gains, and what it costs.

    python scripts/bench/scatter.py [--cohorts large] [--pairs 3] [--seed 1] [--smallest]

What stands before the measured steps is run once. Each pair goes on from there with `scatter: auto` and with `none`
(jointly: with as many intervals as by default, and with one), on all cores; the order alternates. Ratios are taken
within a pair; the median over pairs is held against its bound.
Exits with 1 when a figure is out of bounds. `--smallest` only shows that it works, and that calls are the same.

On 2 cores 3 pairs take some 25 minutes with the cohort `large`, and 10 with `small`.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benches import calls, cohorts, measurements
from benches.measurements import Measurement
from benches.runs import Runner, run_bench

from gpd.commands import gpd_demo
from gpd.lab.pool import Source
from gpd.text.formats import counted

COHORTS = {cohort.name: cohort for cohort in (cohorts.SMALL, cohorts.LARGE, cohorts.TINY)}
SETTINGS = {"auto": {"scatter": "auto", "joint_intervals": "auto"}, "none": {"scatter": "none", "joint_intervals": 1}}


@dataclass(frozen=True)
class ScatteredSteps:
    """Steps of some samples: what exists before the clock starts, the rule that scatters, and the bounds."""

    title: str
    samples: int
    calling: str
    before: str
    scattered: str
    least_gain: float
    most_cpu: float | None = None


AFTER_MAPPING = ScatteredSteps(
    "the steps after mapping",
    samples=1,
    calling="per_sample",
    before="results/map_and_sort/{sample}/{unit}.bam results/map_and_sort/{sample}/{unit}.bam.bai",
    scattered="haplotype_caller",
    least_gain=1.8,
    most_cpu=1.08,
)
JOINT = ScatteredSteps(
    "joint calling, all after the last HaplotypeCaller",
    samples=4,
    calling="joint",
    before="results/haplotype_caller/{sample}.g.vcf.gz results/haplotype_caller/{sample}.g.vcf.gz.tbi",
    scattered="genotype_interval",
    least_gain=1.7,
)


def measure(part: ScatteredSteps, source: Source, folder: Path, pairs: int) -> Iterator[Measurement]:
    samples = tuple(member.name for member in source.members[: part.samples])
    title = f"{counted(len(samples), 'sample')}, {part.title}"
    runner = Runner(source, samples, gpd_demo.CALLING | {"calling": part.calling})
    runner.begin(folder / "before", part.before.split())
    runs = []
    for pair in range(pairs):
        print(f"{title}: pair {pair + 1}", file=sys.stderr)
        order = list(SETTINGS) if pair % 2 else list(SETTINGS)[::-1]
        runs.append({name: runner.go_on(folder / "before", folder / name, **SETTINGS[name]) for name in order})
    gains = tuple(pair["none"].makespan_s / pair["auto"].makespan_s for pair in runs)
    costs = tuple(pair["auto"].cpu_s / pair["none"].cpu_s for pair in runs)
    yield Measurement(f"{title}: times shorter in shards", gains, least=part.least_gain)
    yield Measurement(f"{title}: CPU seconds in shards", costs, most=part.most_cpu)
    for name in SETTINGS:
        what = f"scatter: {name}: {part.scattered} in {runs[0][name].shards(part.scattered)}, wall time, s"
        yield Measurement(what, tuple(pair[name].makespan_s for pair in runs), decimals=1)
        yield Measurement(f"scatter: {name}: CPU seconds", tuple(pair[name].cpu_s for pair in runs), decimals=1)
    found = calls.CallDifference()
    for path in runner.calls:
        found.update(calls.compare(folder / "none" / path, folder / "auto" / path))
    what = f"calls in shards that differ from the {found['records']:,} in one"
    yield Measurement(what, (found.in_results,), most=0, decimals=0, of_results=True)


def main() -> int:
    parser = measurements.parser(__doc__)
    parser.add_argument("--cohorts", nargs="+", choices=list(COHORTS), default=["large"])
    parser.add_argument("--pairs", type=int, default=3)
    arguments = parser.parse_args()
    if arguments.smallest:
        vars(arguments).update(cohorts=["tiny"], pairs=1)
    parts = (JOINT,) if arguments.smallest else (AFTER_MAPPING, JOINT)  # the smallest starts the fewest JVMs

    def measure_all(cohort: str, folder: Path) -> Iterator[Measurement]:
        source = COHORTS[cohort].write(folder / "pool", arguments.seed)
        for part in parts:
            yield from measure(part, source, folder / part.calling, arguments.pairs)

    return run_bench(arguments, COHORTS, measure_all)


if __name__ == "__main__":
    sys.exit(main())
