"""Measure how well the model of a machine predicts runs that it has not seen: of more samples, and of larger ones.

    python scripts/bench/sizing.py [--repeats 2] [--seed 1] [--record FOLDER] [--smallest]

Two questions, each a study or more of the demo's simulated samples, run here: N = 1 and 2 at once predict N = 4 of
the same size; samples of 0.3 and 0.6 Mb predict those of 1.2 and 5 Mb, one alone and two at once. The error is that of
the makespan that the model predicts, held against the mean over repeats, above zero where it is too long. Exits with 1
when an error is out of bounds; `--smallest` only shows that it works. `--record` keeps what the model reads
(tests/golden/sizes are such records, of several runs).

On 2 cores it takes some 20 minutes with one repeat.
"""

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import mean

import yaml
from benches import cohorts, figures, recorded
from benches.figures import Figure
from benches.runs import set_up
from rich.console import Console

from gpd.commands import demo, throughput
from gpd.lab import runner
from gpd.sizing import study
from gpd.tables import collect

MB = 1_000_000
MOST_OF_N, MOST_OF_SIZE = 0.05, 0.10


def run(cohort: cohorts.Simulated, folder: Path, numbers: Sequence[int], repeats: int, seed: int) -> collect.Tables:
    """Run a study of a simulated cohort; its tables."""
    print(cohort, file=sys.stderr)
    cohort.write(folder / "pool", seed)
    config = yaml.safe_load((folder / "pool" / cohorts.CONFIG).read_text()) | demo.CALLING
    (folder / "pool" / cohorts.CONFIG).write_text(yaml.safe_dump(config))
    settings = {
        "directory": str(folder),
        "pipelines": {"germline": {"directory": str(folder / "pool"), "config": cohorts.CONFIG}},
        "concurrent_samples": list(numbers),
        "repeats": repeats,
        "warm_up": min(repeats - 1, 1),
        "seed": seed,
    }
    (folder / "throughput.yaml").write_text(yaml.safe_dump(settings))
    plan = runner.make_plan(folder / "throughput.yaml")
    with Path(os.devnull).open("w") as nowhere:
        throughput.measure(plan, Console(file=nowhere))
    return collect.collect(plan.study.folder)


def held_out(what: str, found: study.Evidence, fitted: Sequence[str], cells: Sequence[str], most: float) -> Figure:
    """The relative error of a model fitted to some cells, of the mean of others that are alike."""
    known = found.only(fitted)
    rows = [row for row in found.whole_runs if row["cell"] in cells]
    made = [study.predicted(known, row, found.gigabases(row)) for row in rows]
    measured_s = mean(one.measured_s for one in made)
    error = mean(one.predicted.makespan_s for one in made) / measured_s - 1
    return Figure(f"{what} of {measured_s:.0f} s: error of the makespan", (error,), least=-most, most=most)


@dataclass(frozen=True)
class Sizes:
    """What is simulated: of which kind, Mb a sample and N that are fitted to, and those that are predicted."""

    kind: cohorts.Simulated
    small: tuple[float, ...]
    large: tuple[float, ...]
    few: tuple[int, ...]
    many: int


FULL = Sizes(cohorts.SMALL, (0.3, 0.6), (1.2, 5.0), (1, 2), 4)
SMALLEST = Sizes(cohorts.TINY, (0.02,), (0.04,), (1,), 2)


NUMBERS = "numbers"  # studies of this name are of one size and many N; others of one size in one repeat each


def measured(folder: Path, sizes: Sizes, repeats: int, seed: int) -> Iterator[tuple[str, collect.Tables]]:
    """Run the studies. Each repeat is of all sizes, one after the other: hosts have slow hours."""
    cohort = replace(sizes.kind, samples=sizes.many, length=int(sizes.small[-1] * MB))
    (folder / NUMBERS).mkdir()
    yield NUMBERS, run(cohort, folder / NUMBERS, sorted({*sizes.few, sizes.many}), repeats, seed)
    for repeat, length in product(range(repeats), (*sizes.small, *sizes.large)):
        name, bases = f"{length:g} Mb, {repeat + 1}", int(length * MB)
        (folder / name).mkdir()
        cohort = replace(sizes.kind, name=name, samples=max(sizes.few), length=bases)
        yield name, run(cohort, folder / name, sizes.few, 1, seed + repeat)


def errors(found: Mapping[str, study.Evidence], sizes: Sizes) -> Iterator[Figure]:
    """How far off what is predicted is; `found` by the names of studies."""
    of_many_n = {name: evidence for name, evidence in found.items() if name.startswith(NUMBERS)}
    yield of_numbers(study.joined(NUMBERS, list(of_many_n.values())), sizes)
    yield from of_sizes([evidence for name, evidence in found.items() if name not in of_many_n], sizes)


def of_numbers(found: study.Evidence, sizes: Sizes) -> Figure:
    """Few samples at once predict many."""
    cells = {n: [row["cell"] for row in found.whole_runs if row["n"] == n] for n in {*sizes.few, sizes.many}}
    what = f"N = {' and '.join(map(str, sizes.few))} predict N = {sizes.many}, {sizes.small[-1]:g} Mb"
    return held_out(what, found, [cell for n in sizes.few for cell in cells[n]], cells[sizes.many], MOST_OF_N)


def of_sizes(parts: Sequence[study.Evidence], sizes: Sizes) -> Iterator[Figure]:
    """Small samples predict larger ones, as many at once."""
    found = study.joined("sizes", parts)
    for n, length in product(sizes.few, sizes.large):
        rows = [row for row in found.whole_runs if row["n"] == n]
        fitted, wanted = ([row["cell"] for row in rows if _length(row) in of] for of in (sizes.small, (length,)))
        what = f"{' and '.join(f'{size:g}' for size in sizes.small)} Mb predict {length:g} Mb, N = {n}"
        yield held_out(what, found, fitted, wanted, MOST_OF_SIZE)


def _length(row: study.Row) -> float:
    return round(float(row["genome_mb"]), 6)


def main() -> int:
    parser = figures.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=2, help="of each cell (%(default)s)")
    parser.add_argument("--record", type=Path, help="a folder for what the model reads of the studies")
    arguments = parser.parse_args()
    sizes, repeats = (SMALLEST, 1) if arguments.smallest else (FULL, arguments.repeats)
    set_up(arguments.smallest)
    figures.show_machine(arguments.smallest)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        tables = dict(measured(Path(folder), sizes, repeats, arguments.seed))
    if arguments.record:
        recorded.write(arguments.record, tables)
    found = {name: study.evidence(name, of_study) for name, of_study in tables.items()}
    return 0 if figures.show(errors(found, sizes), arguments.smallest) else 1


if __name__ == "__main__":
    sys.exit(main())
