"""Measure how GATK's walks warm up, and how mapping slows down with the genome: constants of gpd.sizing.

    python scripts/bench/warm_up.py [--lengths 0.3 0.6 1.2 5 20] [--seed 1] [--smallest] > tests/golden/warm_up.tsv

Simulated samples of one length after the other, one for each core, so that no step is cut into pieces. Prints the CPU
seconds of each job as TSV, and on standard error the constants that fit them: of `gpd.sizing.warm_up` for each walk, of
`gpd.sizing.genome` for the mapping.

On 2 cores 20 Mb alone take half an hour, the others 10 minutes together.
"""

import csv
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import sizing
from benches import cohorts, figures
from benches.runs import set_up

from gpd.sizing import genome, study, warm_up

LENGTHS, SMALLEST = (0.3, 0.6, 1.2, 5.0, 20.0), (0.02, 0.04, 0.08)
COLUMNS = ("rule", "genome_mb", "gigabases", "cpu_s")


def rows(found: study.Evidence) -> Iterator[Mapping[str, object]]:
    """The jobs of walks and of mapping."""
    for job in found.jobs:
        if job.rule in (*warm_up.WARM_UPS, *genome.MAPPED) and not job.piece:
            amounts = (job.rule, job.genome_mb, round(job.gigabases, 6), job.cpu_s)
            yield dict(zip(COLUMNS, amounts, strict=True))


def fitted(measured: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """The constants, a line each."""
    of_rule: dict[str, list[tuple[float, float, float]]] = {}
    for row in measured:
        amounts = (float(str(row[name])) for name in COLUMNS[1:])
        of_rule.setdefault(str(row["rule"]), []).append(tuple(amounts))  # type: ignore[arg-type]
    for rule, jobs in of_rule.items():
        genome_mb, gigabases, cpu_s = zip(*jobs, strict=True)
        if rule in genome.MAPPED:
            cached_mb, a_doubling = genome.fit(genome_mb, gigabases, cpu_s)
            yield f"{rule}: {a_doubling:.3f} for each doubling of the genome from {cached_mb:.2f} Mb on"
        else:
            yield f"{rule}: {warm_up.fit(gigabases, cpu_s)}"


def measure(folder: Path, lengths: Iterable[float], seed: int) -> Iterator[Mapping[str, object]]:
    cores = len(os.sched_getaffinity(0))
    for length in lengths:
        cohort = replace(cohorts.SMALL, name=f"{length:g} Mb", samples=cores, length=int(length * sizing.MB))
        (folder / cohort.name).mkdir()
        yield from rows(sizing.run(cohort, folder / cohort.name, [cores], repeats=1, seed=seed))


def main() -> int:
    parser = figures.parser(__doc__)
    parser.add_argument("--lengths", type=float, nargs="+", default=LENGTHS, help="of the genome, Mb")
    arguments = parser.parse_args()
    set_up(arguments.smallest)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        measured = list(measure(Path(folder), SMALLEST if arguments.smallest else arguments.lengths, arguments.seed))
    table = csv.DictWriter(sys.stdout, COLUMNS, delimiter="\t", lineterminator="\n")
    table.writeheader()
    table.writerows(measured)
    print("\n".join(fitted(measured)), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
