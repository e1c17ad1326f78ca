"""Measure whether calls depend on the number of pieces that steps are cut into.

    python scripts/bench/concordance.py [--cohorts small large germline_chr20 germline_chr22] [--seed 1] [--smallest]

Each cohort is mapped once and called jointly from there, in one piece and in more. Cut at contigs and in gaps, records,
filters and genotypes have to be the same: it exits with 1 where they are not. Cut anywhere, they may differ, and tables
say by how much. The regions of real samples have one contig and no gap, so that only cuts anywhere tell something
there; without ../shared/data they are left out. `--smallest` only shows that it works.

On 2 cores it takes some 75 minutes: cuts in gaps 10 with `small` and 25 with `large`, cuts anywhere 15 with `small` and
12 with each region.
"""

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benches import calls, cohorts, figures
from benches.calls import Difference
from benches.runs import Runner, set_up
from tabulate import tabulate

from gpd.lab.pool import Source

SETTINGS = {"calling": "joint", "filter": "hard"}
SAMPLES = 2  # of a simulated cohort, for joint calling
BEFORE = ("results/mark_duplicates/{sample}.bam", "results/mark_duplicates/{sample}.bam.bai")
CUT = "haplotype_caller"
IN_GAPS = {"gaps": ("auto", 2, 4, 8)}
ANYWHERE = {"anywhere": (2, 4, 8, 16, 32, 64)}
# cuts anywhere tell the same of `large` as of `small`
CUTS = {
    "small": IN_GAPS | ANYWHERE,
    "large": IN_GAPS,
    "germline_chr20": IN_GAPS | ANYWHERE,
    "germline_chr22": IN_GAPS | ANYWHERE,
    "tiny": {"anywhere": (2,)},
}
HEADS = ("cuts", "scatter", "pieces", "records", "missing", "added", "FILTER", "genotypes", "QUAL and INFO")


@dataclass(frozen=True)
class Row:
    """What a number of pieces did to the calls."""

    cuts: str
    scatter: str
    pieces: int
    found: Difference

    @property
    def holds(self) -> bool:
        return self.cuts == "anywhere" or not self.found.in_results

    @property
    def texts(self) -> tuple[str, ...]:
        found = self.found
        counts = (self.pieces, found.records, found.missing, found.added, found.filters, found.genotypes)
        return (self.cuts, self.scatter, *(f"{count:,}" for count in counts), str(found))


def rows(source: Source, cuts: dict[str, tuple[str | int, ...]], folder: Path) -> Iterator[Row]:
    """Call in one piece, then in more, and hold each against the first."""
    samples = tuple(member.name for member in source.members[:SAMPLES])
    runner = Runner(source, samples, SETTINGS)
    runner.begin(folder / "before", BEFORE)
    runner.go_on(folder / "before", folder / "whole", scatter="none")
    (path,) = runner.calls
    for kind, numbers in cuts.items():
        for number in numbers:
            print(f"cuts {kind}, scatter {number}", file=sys.stderr)
            run = runner.go_on(folder / "before", folder / "pieces", scatter=number, scatter_cuts=kind)
            found = calls.compare(folder / "whole" / path, folder / "pieces" / path)
            yield Row(kind, str(number), run.pieces(CUT), found)


def main() -> int:
    parser = figures.parser(__doc__)
    parser.add_argument("--cohorts", nargs="+", choices=sorted(CUTS), default=[name for name in CUTS if name != "tiny"])
    arguments = parser.parse_args()
    if arguments.smallest:
        arguments.cohorts = ["tiny"]
    set_up(arguments.smallest)
    figures.show_machine()
    holds = []
    for cohort in (cohorts.COHORTS[name] for name in arguments.cohorts):
        if isinstance(cohort, cohorts.Real) and not cohort.data.is_dir():
            print(f"\n{cohort}: not here: ../shared/data/{cohort.name}", flush=True)
            continue
        with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
            source = cohort.write(Path(scratch) / "pool", arguments.seed)
            found = list(rows(source, CUTS[cohort.name], Path(scratch)))
        print(f"\n{cohort}; what differs from one piece, and of records that both have, in what\n")
        print(tabulate([row.texts for row in found], headers=HEADS, disable_numparse=True), flush=True)
        holds += [row.holds for row in found]
    if not all(holds):
        print("cuts at contigs and in gaps changed calls  OUT OF BOUNDS")
    return 0 if all(holds) else 1


if __name__ == "__main__":
    sys.exit(main())
