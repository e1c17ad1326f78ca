"""How long Snakemake plans cohorts, and how much memory that takes: dry runs of 100 to 10,000 samples.

Times are of the whole process, its start among it, and its CPU seconds, which other work on the machine changes less;
memory is its peak. Beside each: how many times what plain Snakemake takes (plain.smk).
It takes some 20 minutes. `--smallest` only shows that it works: one sample.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLAIN = Path(__file__).parent / "plain.smk"
sys.path.insert(0, str(ROOT / "tests"))

from benches import measurements  # noqa: E402
from benches.measurements import Measurement, timed  # noqa: E402
from conftest import SNAKEFILE, tiny_cohort  # noqa: E402

SIZES = ((100, 4, 3), (1_000, 4, 3), (1_000, 1, 3), (5_000, 1, 2), (10_000, 1, 2))  # samples, lanes, runs


def measure(count: int, lanes: int, runs: int) -> Iterator[Measurement]:
    """The workflow's plan, and how many times what plain Snakemake takes for the same rules and files, in turns."""
    with tempfile.TemporaryDirectory() as folder:
        tiny_cohort(Path(folder), [f"S{number}" for number in range(count)], lanes).write()
        words = [sys.executable, "-m", "snakemake", "--directory", folder, "--cores", "2", "--dry-run", "--quiet"]
        pairs = [[timed([*words, "--snakefile", str(file)]) for file in (SNAKEFILE, PLAIN)] for _ in range(runs)]
    what = f"plan {count} samples x {lanes} lanes"
    units = (("wall time", "s", 1), ("CPU seconds", "", 1), ("peak memory", "MiB", 0))
    for column, (name, unit, decimals) in enumerate(units):
        values = [(ours[column], plain[column]) for ours, plain in pairs]
        title = f"{what}: {name}"
        yield Measurement(f"{title}, {unit}".removesuffix(", "), tuple(ours for ours, _ in values), decimals=decimals)
        ratios = tuple(ours / plain for ours, plain in values)
        yield Measurement(f"{title}, times plain Snakemake's", ratios, most=1.6, decimals=2)


def main() -> int:
    arguments = measurements.parser(__doc__).parse_args()
    sizes = ((1, 1, 1),) if arguments.smallest else SIZES
    holds = [measurements.show(measure(*size)) for size in sizes]
    return measurements.finish(arguments, all(holds))


if __name__ == "__main__":
    sys.exit(main())
