"""How long Snakemake plans cohorts, and how much memory that takes: dry runs of 100 to 10,000 samples, half an hour.

Times are of the whole process, its start among it, and its CPU seconds, which other work on the machine changes less;
memory is its peak. `--smallest` only shows that it works: one sample.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from benches import measurements  # noqa: E402
from benches.measurements import Measurement, timed  # noqa: E402
from conftest import SNAKEFILE, tiny_cohort  # noqa: E402

SIZES = ((100, 4, 3), (1_000, 4, 3), (1_000, 1, 3), (5_000, 1, 1), (10_000, 1, 1))  # samples, lanes, runs


def measure(count: int, lanes: int, runs: int) -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory() as folder:
        tiny_cohort(Path(folder), [f"S{number}" for number in range(count)], lanes).write()
        words = [sys.executable, "-m", "snakemake", "--snakefile", SNAKEFILE, "--directory", folder]
        words += ["--cores", "2", "--dry-run", "--quiet"]
        wall_s, cpu_s, peak_mib = zip(*(timed(words) for _ in range(runs)), strict=True)
    what = f"plan {count} samples x {lanes} lanes"
    yield Measurement(f"{what}: wall time, s", wall_s, decimals=1)
    yield Measurement(f"{what}: CPU seconds", cpu_s, decimals=1)
    yield Measurement(f"{what}: peak memory, MiB", peak_mib, decimals=0)


def main() -> int:
    arguments = measurements.parser(__doc__).parse_args()
    sizes = ((1, 1, 1),) if arguments.smallest else SIZES
    holds = [measurements.show(measure(*size)) for size in sizes]
    return measurements.finish(arguments, all(holds))


if __name__ == "__main__":
    sys.exit(main())
