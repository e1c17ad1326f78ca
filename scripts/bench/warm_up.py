"""Measure how GATK's walks warm up, and how mapping slows down with the genome: constants of gpd.sizing.

    python scripts/bench/warm_up.py [--lengths 0.3 0.6 1.2 5 20] [--repeats 2] [--beside FILE] [--smallest] > FILE

Simulated samples of one length after the other, one for each core, so that no step is cut into pieces; as many
rounds as there are repeats. Prints the CPU seconds of each job as TSV, after those of other machines from earlier ones
(`--beside`), and on standard error the constants that fit all of them: of `gpd.sizing.warm_up` for each walk, of
`gpd.sizing.genome` for the mapping. tests/golden/warm_up.tsv is what gpd has them from.

On 2 cores a round of 20 Mb alone takes half an hour, one of the others 10 minutes together.
"""

import csv
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path

import sizing
from benches import cohorts, figures
from benches.runs import set_up

from gpd.machines import host
from gpd.sizing import genome, study, warm_up

LENGTHS, SMALLEST = (0.3, 0.6, 1.2, 5.0, 20.0), (0.02, 0.04, 0.08)
COLUMNS = ("machine", "rule", "genome_mb", "gigabases", "cpu_s")


def rows(found: study.Evidence, machine: str) -> Iterator[Mapping[str, object]]:
    """The jobs of walks and of mapping."""
    for job in found.jobs:
        if job.rule in (*warm_up.WARM_UPS, *genome.MAPPED) and not job.piece:
            amounts = (machine, job.rule, job.genome_mb, round(job.gigabases, 6), job.cpu_s)
            yield dict(zip(COLUMNS, amounts, strict=True))


def fitted(measured: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """The constants, a line each."""
    of_rule: dict[str, list[Mapping[str, object]]] = {}
    for row in measured:
        of_rule.setdefault(str(row["rule"]), []).append(row)
    for rule, jobs in of_rule.items():
        machines = [str(row["machine"]) for row in jobs]
        genome_mb, gigabases, cpu_s = ([float(str(row[name])) for row in jobs] for name in COLUMNS[2:])
        if rule in genome.MAPPED:
            cached_mb, a_doubling = genome.fit(machines, genome_mb, gigabases, cpu_s)
            yield f"{rule}: {a_doubling:.3f} for each doubling of the genome from {cached_mb:.2f} Mb on"
        else:
            yield f"{rule}: {warm_up.fit(machines, gigabases, cpu_s)}"


def measure(folder: Path, lengths: Iterable[float], seeds: Iterable[int]) -> Iterator[Mapping[str, object]]:
    cores, machine = len(os.sched_getaffinity(0)), host.look({}).cpu_model or "not known"
    for seed, length in product(seeds, lengths):
        cohort = replace(cohorts.SMALL, name=f"{length:g} Mb, {seed}", samples=cores, length=int(length * sizing.MB))
        (folder / cohort.name).mkdir()
        tables = sizing.run(cohort, folder / cohort.name, [cores], repeats=1, seed=seed)
        yield from rows(study.evidence(cohort.name, tables), machine)


def main() -> int:
    parser = figures.parser(__doc__)
    parser.add_argument("--lengths", type=float, nargs="+", default=LENGTHS, help="of the genome, Mb")
    parser.add_argument("--repeats", type=int, default=1, help="rounds, each of another seed (%(default)s)")
    parser.add_argument("--beside", type=Path, help="what this printed on other machines")
    arguments = parser.parse_args()
    set_up(arguments.smallest)
    measured: list[Mapping[str, object]] = []
    if arguments.beside:
        with arguments.beside.open() as file:
            measured += csv.DictReader(file, delimiter="\t")
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        seeds = range(arguments.seed, arguments.seed + arguments.repeats)
        lengths = SMALLEST if arguments.smallest else arguments.lengths
        measured += measure(Path(folder), lengths, seeds)
    table = csv.DictWriter(sys.stdout, COLUMNS, delimiter="\t", lineterminator="\n")
    table.writeheader()
    table.writerows(measured)
    print("\n".join(fitted(measured)), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
