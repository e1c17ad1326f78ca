"""How long Snakemake plans a cohort: dry runs of 100 samples of 4 lanes, their median and range in seconds.

`--smallest` only shows that it works: one sample, planned once.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from conftest import Cohort, tiny_cohort  # noqa: E402

SAMPLES, LANES, RUNS = 100, 4, 5


def plan_s(cohort: Cohort) -> float:
    start = time.perf_counter()
    ran = cohort.snakemake("--dry-run", "--quiet", "all")
    if ran.exit_code:
        sys.exit(ran.said)
    return time.perf_counter() - start


def main() -> None:
    samples, runs = (1, 1) if "--smallest" in sys.argv[1:] else (SAMPLES, RUNS)
    with tempfile.TemporaryDirectory() as folder:
        cohort = tiny_cohort(Path(folder), [f"S{number}" for number in range(samples)], LANES)
        times = [plan_s(cohort) for _ in range(runs)]
    print(
        f"plan {samples} samples x {LANES} lanes: median {statistics.median(times):.2f} s "
        f"(n = {runs}, {min(times):.2f} to {max(times):.2f} s)"
    )


if __name__ == "__main__":
    main()
