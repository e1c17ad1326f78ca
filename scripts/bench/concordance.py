"""Measure whether calls depend on the number of shards that steps scatter into.

    python scripts/bench/concordance.py [--cohorts small large germline_chr20 germline_chr22] [--seed 1] [--smallest]

Each cohort is mapped once and called jointly from there, in one shard and in more. Scattered at contigs and in gaps,
records, filters and genotypes have to be the same: it exits with 1 where they are not. Scattered anywhere, they may
differ; each line says how many do, and beside them how many values of QUAL and INFO. The regions of real samples have
one contig and no gap, so that only splits anywhere tell something there; without ../shared/data they are left out.
`--smallest` takes one tiny sample.

On 2 cores it takes some 70 minutes, by the JVMs that it starts: splits in gaps 10 with `small` and 25 with `large`,
splits anywhere 15 with `small` and 10 with each region.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benches import calls, cohorts
from benches.measurements import Measurement
from benches.runs import Runner, arguments_of, run_bench

SETTINGS = {"calling": "joint", "filter": "hard"}
BEFORE = ("results/mark_duplicates/{sample}.bam", "results/mark_duplicates/{sample}.bam.bai")
SCATTERED = "haplotype_caller"
SMALL, LARGE = (replace(cohort, samples=2) for cohort in (cohorts.SMALL, cohorts.LARGE))
COHORTS = {cohort.name: cohort for cohort in (SMALL, LARGE, cohorts.CHR20, cohorts.CHR22, cohorts.TINY)}
IN_GAPS: dict[str, tuple[str | int, ...]] = {"gaps": ("auto", 2, 4, 8)}
ANYWHERE: dict[str, tuple[str | int, ...]] = {"anywhere": (2, 4, 8, 16, 32, 64)}
# how many shards where; splits anywhere tell the same of `large` as of `small`
SCATTERS: dict[str, dict[str, tuple[str | int, ...]]] = {"large": IN_GAPS, "tiny": {"gaps": (2,)}}


def measure(cohort: str, folder: Path, seed: int) -> Iterator[Measurement]:
    """Call in one shard, then in more, and compare each with the first."""
    source = COHORTS[cohort].write(folder / "pool", seed)
    runner = Runner(source, tuple(member.name for member in source.members), SETTINGS)
    runner.begin(folder / "before", BEFORE)
    runner.go_on(folder / "before", folder / "whole", scatter="none", joint_intervals=1)
    (path,) = runner.calls
    for kind, numbers in SCATTERS.get(cohort, IN_GAPS | ANYWHERE).items():
        for number in numbers:
            options = {"scatter": number, "scatter_cuts": kind, "joint_intervals": number}
            run = runner.go_on(folder / "before", folder / "shards", **options)
            found = calls.compare(folder / "whole" / path, folder / "shards" / path)
            what = f"{cohort}: borders {kind}, scatter {number}, shards {run.shards(SCATTERED)}: discordant of"
            most = None if kind == "anywhere" else 0
            what += f" {found['records']:,} records (beside them {found})"
            yield Measurement(what, (found.in_results,), most=most, decimals=0, of_results=True)


def main() -> int:
    arguments = arguments_of(__doc__, COHORTS)
    return run_bench(arguments, COHORTS, lambda cohort, folder: measure(cohort, folder, arguments.seed))


if __name__ == "__main__":
    sys.exit(main())
