"""Measure whether calls depend on the number of pieces that steps are cut into.

    python scripts/bench/concordance.py [--cohorts small large germline_chr20 germline_chr22] [--seed 1] [--smallest]

Each cohort is mapped once and called jointly from there, in one piece and in more. Cut at contigs and in gaps, records,
filters and genotypes have to be the same: it exits with 1 where they are not. Cut anywhere, they may differ, and tables
say by how much. The regions of real samples have one contig and no gap, so that only cuts anywhere tell something
there; without ../shared/data they are left out. `--smallest` takes one tiny sample.

On 2 cores it takes some 70 minutes, by the JVMs that it starts: cuts in gaps 10 with `small` and 25 with `large`, cuts
anywhere 15 with `small` and 10 with each region.
"""

import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from benches import calls, cohorts, figures
from benches.calls import Difference
from benches.runs import Runner, set_up
from rich.console import Console
from rich.table import Table

from gpd.lab.pool import Source

SETTINGS = {"calling": "joint", "filter": "hard"}
BEFORE = ("results/mark_duplicates/{sample}.bam", "results/mark_duplicates/{sample}.bam.bai")
CUT = "haplotype_caller"
IN_GAPS = {"gaps": ("auto", 2, 4, 8)}
ANYWHERE = {"anywhere": (2, 4, 8, 16, 32, 64)}


@dataclass(frozen=True)
class Trial:
    """A cohort, and the numbers of pieces that it is called in by where cuts may be."""

    cohort: cohorts.Simulated | cohorts.Real
    cuts: Mapping[str, tuple[str | int, ...]]


TRIALS = {
    trial.cohort.name: trial
    for trial in (
        Trial(replace(cohorts.SMALL, samples=2), IN_GAPS | ANYWHERE),
        Trial(replace(cohorts.LARGE, samples=2), IN_GAPS),  # cuts anywhere tell the same of it as of `small`
        Trial(cohorts.CHR20, IN_GAPS | ANYWHERE),
        Trial(cohorts.CHR22, IN_GAPS | ANYWHERE),
        Trial(cohorts.TINY, {"gaps": (2,)}),
    )
}
SMALLEST = cohorts.TINY.name
HEADS = ("cuts", "scatter", "pieces", "records", "missing", "added", "FILTER", "genotypes", "QUAL and INFO")


@dataclass(frozen=True)
class Row:
    """What a number of pieces did to the calls."""

    cuts: str
    scatter: str
    pieces: int
    found: Difference

    def figure(self, cohort: cohorts.Simulated | cohorts.Real) -> figures.Figure:
        """How many of the records, filters and genotypes differ: none may, but where cuts may be anywhere."""
        what = f"{cohort.name}: cuts {self.cuts}, scatter {self.scatter}: discordant of {self.found.records} records"
        most = None if self.cuts == "anywhere" else 0
        return figures.Figure(what, (self.found.in_results,), most=most, decimals=0, of_results=True)

    @property
    def texts(self) -> tuple[str, ...]:
        found = self.found
        counts = (self.pieces, found.records, found.missing, found.added, found.filters, found.genotypes)
        return (self.cuts, self.scatter, *(f"{count:,}" for count in counts), str(found))


def table(found: Iterable[Row]) -> Table:
    made = Table(*HEADS, box=None)
    for row in found:
        made.add_row(*row.texts)
    return made


def rows(trial: Trial, source: Source, folder: Path) -> Iterator[Row]:
    """Call in one piece, then in more, and hold each against the first."""
    runner = Runner(source, tuple(member.name for member in source.members), SETTINGS)
    runner.begin(folder / "before", BEFORE)
    runner.go_on(folder / "before", folder / "whole", scatter="none", joint_intervals=1)
    (path,) = runner.calls
    for kind, numbers in trial.cuts.items():
        for number in numbers:
            print(f"cuts {kind}, scatter {number}", file=sys.stderr)
            cuts = {"scatter": number, "scatter_cuts": kind, "joint_intervals": number}
            run = runner.go_on(folder / "before", folder / "pieces", **cuts)
            found = calls.compare(folder / "whole" / path, folder / "pieces" / path)
            yield Row(kind, str(number), run.pieces(CUT), found)


def main() -> int:
    parser = figures.parser(__doc__)
    everything = [name for name in TRIALS if name != SMALLEST]
    parser.add_argument("--cohorts", nargs="+", choices=list(TRIALS), default=everything)
    arguments = parser.parse_args()
    if arguments.smallest:
        arguments.cohorts = [SMALLEST]
    set_up(arguments.smallest)
    figures.show_machine(arguments.smallest)
    holds = []
    for trial in (TRIALS[name] for name in arguments.cohorts):
        cohort = trial.cohort
        if isinstance(cohort, cohorts.Real) and not cohort.data.is_dir():
            print(f"\n{cohort}: not here: ../shared/data/{cohort.name}", flush=True)
            continue
        with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
            source = cohort.write(Path(scratch) / "pool", arguments.seed)
            found = list(rows(trial, source, Path(scratch)))
        print(f"\n{cohort}; what differs from one piece, and of records that both have, in what\n")
        Console(width=160).print(table(found))
        holds.append(figures.show((row.figure(cohort) for row in found), arguments.smallest))
    return figures.finish(arguments, all(holds))


if __name__ == "__main__":
    sys.exit(main())
