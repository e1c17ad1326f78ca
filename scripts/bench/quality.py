"""Measure what part of the germline pipeline's CPU time the quality of samples takes.

    python scripts/bench/quality.py [--repeats 3] [--smallest]

A simulated sample of 5 Mb at 30x, and one of a fifth of that, each from its reads to verdicts and the MultiQC page.
What the larger one takes more grows with the data. At a genome's size it is all that counts: starts of Java and Python
are lost in it. So the share of that is the share of a genome, extrapolated. Common sites are at least 10 kb apart.

On 2 cores 3 repeats take some 40 minutes. `--smallest` takes 100 kb.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benches import cohorts, measurements
from benches.cohorts import Simulated
from benches.measurements import Measurement
from benches.runs import Runner, cpu_s, run_bench

from gpd.pipelines import GERMLINE

COHORTS = {
    "mb5": Simulated("mb5", samples=1, length=5_000_000, coverage=30),
    "tiny": replace(cohorts.TINY, length=100_000),
}
SMALLER = 5  # times, the other sample
SETTINGS = {"calling": "per_sample", "filter": "hard", "scatter": "none"}
TARGETS = ("results/multiqc/multiqc.html", "results/qc/samples.tsv")
QC = "qc"  # the step of all rules of quality
STEPS = "the steps"
MOST = 0.03


def runner(cohort: Simulated, folder: Path, seed: int) -> Runner:
    """What runs the cohort, with common sites: some of the known ones."""
    source = cohort.write(folder, seed)
    sites = folder / "common.vcf.gz"
    cohorts.write_common_sites(source, sites)
    return Runner(source, ("DEMO01",), SETTINGS | {"common_sites": str(sites)})


def cpu_seconds(runner: Runner, folder: Path) -> Counter[str]:
    """CPU seconds of a run: of each rule of quality, and of the pipeline's steps together."""
    found = Counter[str]()
    for attempt in runner.begin(folder, TARGETS).attempts:
        if attempt.step in (QC, *GERMLINE.steps):
            found[attempt.rule if attempt.step == QC else STEPS] += cpu_s(attempt)
    return found


def measure(cohort: Simulated, folder: Path, seed: int, repeats: int) -> Iterator[Measurement]:
    """The share at both sizes and of what grows, and what each rule takes a gigabase."""
    sizes = [replace(cohort, length=cohort.length // SMALLER), cohort]
    runners = [runner(size, folder / f"pool-{size.length}", seed) for size in sizes]
    turns = [
        [cpu_seconds(each, folder / f"run-{turn}-{size.length}") for size, each in zip(sizes, runners, strict=True)]
        for turn in range(repeats)
    ]
    for size, runs in zip(sizes, zip(*turns, strict=True), strict=True):
        yield Measurement(f"{size.length / 1e6:g} Mb: share of quality in CPU time", tuple(map(share, runs)))
    grown = [Counter({rule: large[rule] - small[rule] for rule in large}) for small, large in turns]
    gigabases = (sizes[1].length - sizes[0].length) * cohort.coverage / 1e9
    for rule in sorted(grown[0], key=lambda rule: -grown[0][rule]):
        values = tuple(each[rule] / gigabases for each in grown)
        yield Measurement(f"{rule}: CPU seconds a gigabase", values, decimals=1)
    yield Measurement("a genome, extrapolated: share of quality in CPU time", tuple(map(share, grown)), most=MOST)


def share(cpu_s: Counter[str]) -> float:
    return 1 - cpu_s[STEPS] / cpu_s.total()


def main() -> int:
    """Print the figures; return 1 where quality takes more than its share."""
    parser = measurements.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    arguments.cohorts = ["mb5"]
    if arguments.smallest:
        arguments.cohorts, arguments.repeats = ["tiny"], 1
    seed, repeats = arguments.seed, arguments.repeats
    return run_bench(arguments, COHORTS, lambda name, folder: measure(COHORTS[name], folder, seed, repeats))


if __name__ == "__main__":
    sys.exit(main())
