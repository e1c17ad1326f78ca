"""Measure whether calls depend on the number of shards that steps scatter into.

    python scripts/bench/concordance.py [--cohorts small large germline_chr20 germline_chr22] [--seed 1] [--smallest]

Each cohort is mapped once and called jointly from there, in one shard and in more. Scattered at contigs and in gaps,
records, filters and genotypes have to be the same: it exits with 1 where they are not. Each line says how many differ,
and beside them how many values of QUAL and INFO. The regions of real samples have one contig and no gap, so that they
tell of joint calls by interval alone; without ../shared/data they are left out. `--smallest` takes one tiny sample.

On 2 cores `small` takes some 10 minutes, by the JVMs that it starts, and `large` 25.
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
SCATTERS: tuple[str | int, ...] = ("auto", 2, 4, 8)


def measure(cohort: str, folder: Path, seed: int) -> Iterator[Measurement]:
    """Call in one shard, then in more, and compare each with the first."""
    source = COHORTS[cohort].write(folder / "pool", seed)
    runner = Runner(source, tuple(member.name for member in source.members), SETTINGS)
    runner.begin(folder / "before", BEFORE)
    runner.go_on(folder / "before", folder / "whole", scatter="none", joint_intervals=1)
    (path,) = runner.calls
    for number in (2,) if cohort == "tiny" else SCATTERS:
        run = runner.go_on(folder / "before", folder / "shards", scatter=number, joint_intervals=number)
        found = calls.compare(folder / "whole" / path, folder / "shards" / path)
        what = f"{cohort}: scatter {number}, shards {run.shards(SCATTERED)}: discordant of"
        what += f" {found['records']:,} records (beside them {found})"
        yield Measurement(what, (found.in_results,), most=0, decimals=0, of_results=True)


def main() -> int:
    arguments = arguments_of(__doc__, COHORTS)
    return run_bench(arguments, COHORTS, lambda cohort, folder: measure(cohort, folder, arguments.seed))


if __name__ == "__main__":
    sys.exit(main())
