"""Measure what cutting a sample's or a cohort's steps into pieces gains, and what it costs.

    python scripts/bench/scatter.py [--cohorts large] [--pairs 3] [--seed 1] [--smallest]

What stands before the measured steps is run once. Each pair goes on from there with `scatter: auto` and with `none`
(jointly: with as many intervals as by default, and with one), on all cores; the order alternates. Ratios are taken
within a pair; the median over pairs is held against its bound.
Exits with 1 when a figure is out of bounds. `--smallest` only shows that it works, and that calls are the same.

On 2 cores 3 pairs take some 25 minutes with the cohort `large`, and 10 with `small`.
"""

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from benches import calls, cohorts, figures
from benches.figures import Figure
from benches.runs import Run, Runner, set_up

from gpd.commands import demo
from gpd.lab.pool import Source
from gpd.text.formats import counted


@dataclass(frozen=True)
class Question:
    """Some samples of a cohort, what of them is there when the clock starts, and what scattering is to reach."""

    what: str
    samples: int
    calling: str
    before: tuple[str, ...]
    cut: str  # a rule that is to be in pieces
    least_gain: float
    most_cpu: float | None = None

    @property
    def title(self) -> str:
        return f"{counted(self.samples, 'sample')}, {self.what}"


QUESTIONS = (
    Question(
        "the steps after mapping",
        samples=1,
        calling="per_sample",
        before=("results/map_and_sort/{sample}/{unit}.bam", "results/map_and_sort/{sample}/{unit}.bam.bai"),
        cut="haplotype_caller",
        least_gain=1.8,
        most_cpu=1.08,
    ),
    Question(
        "joint calling, all after the last HaplotypeCaller",
        samples=4,
        calling="joint",
        before=("results/haplotype_caller/{sample}.g.vcf.gz", "results/haplotype_caller/{sample}.g.vcf.gz.tbi"),
        cut="genotype_interval",
        least_gain=1.7,
    ),
)
SMALLEST = (replace(QUESTIONS[-1], samples=1),)  # it starts the fewest JVMs
WAYS: dict[str, dict[str, object]] = {
    "auto": {"scatter": "auto", "joint_intervals": "auto"},
    "none": {"scatter": "none", "joint_intervals": 1},
}


def measure(question: Question, source: Source, folder: Path, pairs: int) -> Iterator[Figure]:
    """Run a question's pairs, and yield what they came to."""
    samples = tuple(member.name for member in source.members[: question.samples])
    runner = Runner(source, samples, demo.CALLING | {"calling": question.calling})
    runner.begin(folder / "before", question.before)
    taken: list[dict[str, Run]] = []
    for pair in range(pairs):
        ways = list(WAYS) if pair % 2 else list(WAYS)[::-1]
        print(f"{question.title}: pair {pair + 1}", file=sys.stderr)
        taken.append({way: runner.go_on(folder / "before", folder / way, **WAYS[way]) for way in ways})
    gains = tuple(pair["none"].makespan_s / pair["auto"].makespan_s for pair in taken)
    costs = tuple(pair["auto"].cpu_s / pair["none"].cpu_s for pair in taken)
    yield Figure(f"{question.title}: times shorter in pieces", gains, least=question.least_gain)
    yield Figure(f"{question.title}: CPU seconds in pieces", costs, most=question.most_cpu)
    for way in WAYS:
        pieces = taken[0][way].pieces(question.cut)
        walls = tuple(pair[way].makespan_s for pair in taken)
        yield Figure(f"scatter: {way}: {question.cut} in {pieces}, wall time, s", walls, decimals=1)
        yield Figure(f"scatter: {way}: CPU seconds", tuple(pair[way].cpu_s for pair in taken), decimals=1)
    differing = [calls.compare(folder / "none" / path, folder / "auto" / path) for path in runner.calls]
    found = sum(each.in_results for each in differing)
    records = sum(each.records for each in differing)
    yield Figure(
        f"calls in pieces that differ from the {records:,} in one", (found,), most=0, decimals=0, of_results=True
    )


def main() -> int:
    parser = figures.parser(__doc__)
    parser.add_argument("--cohorts", nargs="+", choices=("small", "large", "tiny"), default=["large"])
    parser.add_argument("--pairs", type=int, default=3)
    arguments = parser.parse_args()
    if arguments.smallest:
        vars(arguments).update(cohorts=["tiny"], pairs=1)
    set_up(arguments.smallest)
    figures.show_machine(arguments.smallest)
    holds = []
    for name in arguments.cohorts:
        print(cohorts.COHORTS[name], flush=True)
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            source = cohorts.COHORTS[name].write(Path(folder) / "pool", arguments.seed)
            for number, question in enumerate(SMALLEST if arguments.smallest else QUESTIONS):
                place = Path(folder) / str(number)
                place.mkdir()
                found = measure(question, source, place, arguments.pairs)
                holds.append(figures.show(found, arguments.smallest))
    return figures.finish(arguments, all(holds))


if __name__ == "__main__":
    sys.exit(main())
