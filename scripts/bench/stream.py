"""Measure genomes a day of full cores without ramp and tail.

    python scripts/bench/stream.py [--window 12m] [--at-once N] [--seed 1] [--smallest]

A study of mode stream: N samples, as many as there are cores, are in flight for the window after a warm-up of a quarter
of it. Beside it a batch of N samples, in one workflow (shared), tells what ramp and tail cost. Exits with 1 when a
sample failed. `--smallest` only shows that it works.

It takes a window and a quarter of it beside the batches.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml
from benches import cohorts, measurements
from benches.measurements import Measurement
from benches.runs import run_bench

from gpd.commands import gpd_demo
from gpd.lab import runner, study_plan
from gpd.lab.runner import StudyCallbacks
from gpd.lab.study_state import StudyPlan
from gpd.machines import launcher
from gpd.records.run_spec import SHARED, STREAM
from gpd.tables import collect
from gpd.tables.columns import StreamRow

MIDDLE = cohorts.Simulated("middle", samples=8, length=200_000, coverage=20)
COHORTS = {cohort.name: cohort for cohort in (MIDDLE, cohorts.TINY)}
BATCH_REPEATS = 2


def make_plan(cohort: str, folder: Path, arguments: argparse.Namespace) -> StudyPlan:
    """Lay out the study over the pool in the folder."""
    COHORTS[cohort].write(folder / "pool", arguments.seed)
    config = folder / "pool" / cohorts.CONFIG
    config.write_text(yaml.safe_dump(yaml.safe_load(config.read_text()) | gpd_demo.CALLING))
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
        "seed": arguments.seed,
    }
    (folder / "throughput.yaml").write_text(yaml.safe_dump(settings))
    return study_plan.make_plan(folder / "throughput.yaml")


def measure(cohort: str, folder: Path, arguments: argparse.Namespace) -> Iterator[Measurement]:
    """Run the study, and yield what its batch and its stream came to."""
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
    for row in tables.streams:
        yield from figures(f"{cohort}: full", row)


def figures(where: str, row: StreamRow) -> Iterator[Measurement]:
    """What a stream came to, as far as it is known."""
    found = [
        ("N at once", row.n, {"decimals": 0}),
        ("window, s", row.window_s, {"decimals": 0}),
        ("samples that ended", row.completed, {"decimals": 0}),
        ("samples that failed", row.failed, {"most": 0, "decimals": 0, "of_results": True}),
        ("genomes a day", row.genomes_per_day.value, {"decimals": 0}),
        ("genomes a day, 95% interval from", row.genomes_per_day.low, {"decimals": 0}),
        ("genomes a day, 95% interval to", row.genomes_per_day.high, {"decimals": 0}),
        ("share of time that all N are busy", row.busy_share, {}),
        ("time to result, median, s", row.result_median_s, {"decimals": 1}),
        ("time to result, 95th percentile, s", row.result_p95_s, {"decimals": 1}),
    ]
    for what, value, traits in found:
        if value is not None:
            yield Measurement(f"{where}: {what}", (float(value),), **traits)


def main() -> int:
    parser = measurements.parser(__doc__)
    parser.add_argument("--window", default="12m", help="of the stream (%(default)s)")
    parser.add_argument("--at-once", type=int, default=launcher.limits().cpus, help="samples (%(default)s)")
    arguments = parser.parse_args()
    arguments.cohorts = ["middle"]
    if arguments.smallest:
        vars(arguments).update(cohorts=["tiny"], window="1.5m", at_once=1)
    return run_bench(arguments, COHORTS, lambda name, folder: measure(name, folder, arguments))


if __name__ == "__main__":
    sys.exit(main())
