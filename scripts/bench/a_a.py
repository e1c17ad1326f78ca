"""How often two measurements of the same are told apart: A/A comparisons, whose false positives are counted; seconds.

    python scripts/bench/a_a.py benchmark-run/quick-1/session-*.gpd.tar.gz

Labels are drawn at random over the repeats of a configuration, and the interval of the ratio is that of `gpd compare`:
of two halves of a study's repeats, and, where two studies are given, of repeats in pairs. Of 95% intervals one in
twenty misses 1 where repeats are independent; more say that something drifts. Made-up repeats show how many the
intervals themselves miss.
"""

import random
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benches import measurements, relabelled
from benches.measurements import Measurement

from gpd.packages.read import studies
from gpd.statistics.estimates import Estimate
from gpd.tables import collect

DRAWS = 1000
COUNTS, MADE_UP, SMALLEST = 5, 2000, 100  # how often false positives of so many made-up studies are counted
SPREADS, REPEATS = (0.01, 0.1), 10  # of made-up repeats: relative standard deviation, and how many
MOST = 7.0  # percent

Repeats = dict[str, dict[int, float]]  # samples a day by configuration and repeat


def repeats_of(study: Path) -> Repeats:
    """Of the runs that count."""
    found: Repeats = defaultdict(dict)
    for run in collect.of_one_machine(study).runs:
        if run.counted and run.genomes_per_day:
            found[f"{run.pipeline}, {run.mode}, {run.binding}, N = {run.n}"][run.repeat] = run.genomes_per_day
    return found


def of_studies(given: Sequence[Repeats], draw: random.Random) -> Iterator[Measurement]:
    """False positives of each study, and of each pair of the first with another."""
    for number, study in enumerate(given, 1):
        for name, repeats in study.items():
            found = relabelled.halves(list(repeats.values()), DRAWS, draw)
            yield from _measured(f"study {number}, {name}: halves told apart, %", found)
    for number, study in enumerate(given[1:], 2):
        for name in given[0].keys() & study.keys():
            one, other = given[0][name], study[name]
            pairs = [(one[repeat], other[repeat]) for repeat in sorted(one.keys() & other.keys())]
            found = relabelled.swapped(pairs, DRAWS, draw)
            yield from _measured(f"studies 1 and {number}, {name}: pairs told apart, %", found)


def made_up(count: int, draw: random.Random) -> Iterator[Measurement]:
    """The same of independent repeats."""
    for spread in SPREADS:
        every = [
            [[draw.lognormvariate(0, spread) for _ in range(REPEATS)] for _ in range(count)] for _ in range(COUNTS)
        ]
        what = f"made-up repeats, {REPEATS} with a spread of {100 * spread:.0f}%"
        found = ((one for each in some for one in relabelled.halves(each, 1, draw)) for some in every)
        yield from _measured(f"{what}: halves told apart, %", *found, most=MOST)
        found = ((one for each in some for one in relabelled.swapped(_pairs(each), 1, draw)) for some in every)
        yield from _measured(f"{what}: pairs told apart, %", *found, most=MOST)


def _pairs(repeats: Sequence[float]) -> list[tuple[float, float]]:
    return list(zip(repeats[::2], repeats[1::2], strict=True))


def _measured(what: str, *ratios: Iterable[Estimate], most: float | None = None) -> Iterator[Measurement]:
    shares = tuple(100 * share for each in ratios if (share := relabelled.false_positives(each)) is not None)
    if shares:
        yield Measurement(what, shares, most=most, decimals=1)


def main() -> int:
    parser = measurements.parser(__doc__)
    parser.add_argument("studies", nargs="*", type=Path, help="folders or packages, beside those that are made up")
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    found = list(made_up(SMALLEST if arguments.smallest else MADE_UP, draw))
    with studies() as folder:
        measured = list(of_studies([repeats_of(folder(path)) for path in arguments.studies], draw))
    if arguments.studies and not measured:
        sys.exit("no configuration has repeats enough: four in a study, or two in each of two")
    return measurements.finish(arguments, measurements.show([*found, *measured], arguments.smallest))


if __name__ == "__main__":
    sys.exit(main())
