"""How long the next run of a study is sought: a search with `repeats: auto`, of which 50 to 200 runs have ended.

The runs are made up, records and all; no tool runs. Before each run the lab reads the study once and says which run
comes next and how long the rest takes. That is linear in the runs that have ended: a run costs no more among 200 than
among 50. `--smallest` only shows that it works: 6 and 12 runs.
"""

import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from benches import measurements  # noqa: E402
from benches.measurements import Measurement  # noqa: E402
from made_up import Lab  # noqa: E402

from gpd.lab import runner  # noqa: E402
from gpd.lab.study_state import StudyPlan, StudyState  # noqa: E402

SIZES, TURNS = (50, 100, 200), 5
MOST = 1.25  # what a run costs among the most, times what it costs among the fewest
KEPT = {"concurrent_samples": "saturation", "repeats": "auto", "precision": 0.001}  # never precise enough


def measure(sizes: tuple[int, ...], turns: int, seed: int) -> Iterator[Measurement]:
    """CPU milliseconds a run of one decision, by how many runs have ended."""
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        lab = Lab(Path(folder), patch, **KEPT, most_repeats=max(sizes))
        lab.makespan_s = lambda spec: 100.0 * draw.uniform(1, 2)
        plan = lab.plan()
        while len(lab.ran) < max(sizes):
            spec = runner.next_run(StudyState(plan), "germline")
            lab.run_one(spec, _In(plan.study.folder), None)
        a_run_ms = {}
        for size in sorted(sizes, reverse=True):
            for name in lab.ran[size:]:
                shutil.rmtree(plan.study.folder / name, ignore_errors=True)
            a_run_ms[size] = tuple(1000 * _decision_s(plan) / size for _ in range(turns))
    for size in sizes:
        yield Measurement(f"of {size} runs that have ended: CPU ms a run", a_run_ms[size], decimals=2)
    pairs = zip(a_run_ms[max(sizes)], a_run_ms[min(sizes)], strict=True)
    title = f"a run among {max(sizes)}, times a run among {min(sizes)}"
    yield Measurement(title, tuple(many / few for many, few in pairs), most=MOST, decimals=2)


class _In:
    """Where a run is written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder


def _decision_s(plan: StudyPlan) -> float:
    """CPU seconds until the next run and the time that is left are known."""
    began = time.process_time()
    state = StudyState(plan)
    assert runner.next_run(state, "germline") is not None
    assert state.left_s
    return time.process_time() - began


def main() -> int:
    arguments = measurements.parser(__doc__).parse_args()
    sizes, turns = ((6, 12), 1) if arguments.smallest else (SIZES, TURNS)
    holds = measurements.show(measure(sizes, turns, arguments.seed), arguments.smallest)
    return measurements.finish(arguments, holds)


if __name__ == "__main__":
    sys.exit(main())
