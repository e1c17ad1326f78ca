"""Measure genomes a day of full cores without ramp and tail, and how late results are where samples arrive at random.

    python scripts/bench/stream.py [--window 12m] [--rates 0.5 0.8 0.95] [--at-once N] [--seed 1] [--smallest]

A study of mode stream: N samples, as many as there are cores, are in flight for the window after a warm-up of a quarter
of it. Then samples arrive at shares of what that gave. Beside it a batch of N samples, in one workflow (shared), tells
what ramp and tail cost. Beside each time to result stands that of a simulated queue, for N and for 128 samples at once:
it knows the times that samples take in the full stream, and no others. Exits with 1 when a sample failed. `--smallest`
only shows that it works.

It takes some four windows and a quarter of each: an hour.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from heapq import heapreplace
from pathlib import Path

import numpy as np
import yaml
from benches import cohorts, measurements
from benches.measurements import Measurement
from benches.runs import run_bench

from gpd.commands import demo
from gpd.lab import runner
from gpd.lab.runner import StudyCallbacks
from gpd.machines import launcher
from gpd.records.run import RunRecord
from gpd.records.run_spec import SHARED, STREAM
from gpd.tables import collect
from gpd.tables.columns import StreamRow
from gpd.tables.streams import TAIL

MIDDLE = cohorts.Simulated("middle", samples=8, length=200_000, coverage=20)
COHORTS = {cohort.name: cohort for cohort in (MIDDLE, cohorts.TINY)}
BATCH_REPEATS = 2
LARGE = 128  # samples at once, of which none can be measured here
SIMULATED = 200_000  # samples, the first tenth to fill the queue


def make_plan(cohort: str, folder: Path, arguments: argparse.Namespace) -> runner.StudyPlan:
    """Lay out the study over the pool in the folder."""
    COHORTS[cohort].write(folder / "pool", arguments.seed)
    config = folder / "pool" / cohorts.CONFIG
    config.write_text(yaml.safe_dump(yaml.safe_load(config.read_text()) | demo.CALLING | {"tiny_data": True}))
    n = min(arguments.at_once, COHORTS[cohort].samples)
    settings = {
        "directory": str(folder),
        "pipelines": {"germline": {"directory": str(folder / "pool"), "config": cohorts.CONFIG}},
        "concurrent_samples": [n],
        "modes": [SHARED, STREAM],
        "repeats": 1 if arguments.smallest else BATCH_REPEATS,
        "warm_up": 0,
        "window": arguments.window,
        "window_warm_up": f"{float(arguments.window[:-1]) / 4:.3f}{arguments.window[-1]}",
        "arrivals": {"rate": arguments.rates},
        "seed": arguments.seed,
    }
    (folder / "throughput.yaml").write_text(yaml.safe_dump(settings))
    return runner.make_plan(folder / "throughput.yaml")


def measure(cohort: str, folder: Path, arguments: argparse.Namespace) -> Iterator[Measurement]:
    """Run the study, and yield what its batch and its streams came to."""
    plan = make_plan(cohort, folder, arguments)
    say = StudyCallbacks(
        begin=lambda _, title, __: print(f"{cohort}: {title}", file=sys.stderr),
        changed=lambda *_: None,
        end=lambda *_: None,
    )
    runner.run(plan, say)
    tables = collect.collect(plan.study.folder)
    batch = [run.genomes_per_day for run in tables.runs if run.mode == SHARED and run.genomes_per_day is not None]
    yield Measurement(f"{cohort}: batch of N in one workflow: genomes a day", tuple(batch), decimals=0)
    for row in sorted(tables.streams, key=lambda row: row.arrivals_per_day or 0.0):
        yield from figures(f"{cohort}: {'full' if row.share is None else f'{100 * row.share:g}% of full'}", row)
    (takes,) = (times_of(record) for record in tables.records if record.spec.stream and not record.spec.stream.per_day)
    for n in (tables.streams[0].n, LARGE):
        for share in arguments.rates:
            median, tail = simulated_results(takes, n, share, arguments.seed)
            where = f"{cohort}: {100 * share:g}% of full, {n} at once, simulated: time to result"
            yield Measurement(f"{where}, median, s", (median,), decimals=1)
            yield Measurement(f"{where}, 95th percentile, s", (tail,), decimals=1)


def times_of(record: RunRecord) -> list[float]:
    """How long each sample took that a stream began after its warm-up, s."""
    after_s = record.spec.stream.warm_up_s if record.spec.stream else 0.0
    passages = [one.passage for one in record.processes if one.passage]
    return [one.ended_s - one.started_s for one in passages if one.started_s >= after_s]


def simulated_results(takes: Sequence[float], n: int, share: float, seed: int) -> tuple[float, float]:
    """Median and 95th percentile of the time to result, s, where n samples at once are served in their order.

    They arrive at random, at this share of what n would give that never wait, and each takes one of the given times.
    """
    dice = np.random.default_rng(seed)
    arrivals = dice.exponential(np.mean(takes) / (n * share), SIMULATED).cumsum()
    free_at = [0.0] * n
    results = np.empty(SIMULATED)
    for number, (arrived, taken) in enumerate(zip(arrivals, dice.choice(takes, SIMULATED), strict=True)):
        ended = max(arrived, free_at[0]) + taken
        heapreplace(free_at, ended)
        results[number] = ended - arrived
    median, tail = np.quantile(results[SIMULATED // 10 :], (0.5, TAIL))
    return float(median), float(tail)


def figures(where: str, row: StreamRow) -> Iterator[Measurement]:
    """What a stream came to, as far as it is known."""
    found = [
        ("N at once", row.n, {"decimals": 0}),
        ("window, s", row.window_s, {"decimals": 0}),
        ("samples that ended", row.completed, {"decimals": 0}),
        ("samples that failed", row.failed, {"most": 0, "decimals": 0, "of_results": True}),
        ("genomes a day", row.genomes_per_day, {"decimals": 0}),
        ("genomes a day, 95% interval from", row.genomes_per_day_low, {"decimals": 0}),
        ("genomes a day, 95% interval to", row.genomes_per_day_high, {"decimals": 0}),
        ("share of time that all N are busy", row.busy_share, {}),
        ("waiting time, median, s", row.wait_median_s, {"decimals": 1}),
        ("waiting time, 95th percentile, s", row.wait_p95_s, {"decimals": 1}),
        ("time to result, median, s", row.result_median_s, {"decimals": 1}),
        ("time to result, 95th percentile, s", row.result_p95_s, {"decimals": 1}),
        ("samples that waited at the end", row.waiting_at_end, {"decimals": 0}),
        ("the queue was stable (1) or not (0)", row.stable, {"decimals": 0}),
    ]
    for what, value, traits in found:
        if value is not None:
            yield Measurement(f"{where}: {what}", (float(value),), **traits)


def main() -> int:
    parser = measurements.parser(__doc__)
    parser.add_argument("--window", default="12m", help="of each stream (%(default)s)")
    parser.add_argument("--rates", nargs="*", type=float, default=[0.5, 0.8, 0.95], help="shares of the full stream's")
    parser.add_argument("--at-once", type=int, default=launcher.limits().cpus, help="samples (%(default)s)")
    arguments = parser.parse_args()
    arguments.cohorts = ["middle"]
    if arguments.smallest:
        vars(arguments).update(cohorts=["tiny"], window="1.5m", rates=[], at_once=1)
    return run_bench(arguments, COHORTS, lambda name, folder: measure(name, folder, arguments))


if __name__ == "__main__":
    sys.exit(main())
